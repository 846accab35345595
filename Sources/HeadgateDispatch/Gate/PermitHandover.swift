import DequeModule
import HeadgateThreads

/// Passes reserved sockets to requests for bare permits, in a loop rather than recursively: a completion that releases
/// its permit at once causes the socket of the next request to be reserved.
final class PermitHandover: Sendable {
  private struct State {
    var line: Deque<@Sendable () -> Void> = []
    var isPerforming = false
  }

  private let state = Locked(State())

  /// Calls `action` with no lock held: on this thread, or on the thread that is already performing others.
  func perform(_ action: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      state.line.append(action)
      defer { state.isPerforming = true }
      return !state.isPerforming
    }
    guard isFirst else { return }
    while let next = next() { next() }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      let next = state.line.popFirst()
      state.isPerforming = next != nil
      return next
    }
  }
}
