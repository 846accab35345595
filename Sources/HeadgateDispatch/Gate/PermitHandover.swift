import DequeModule
import HeadgateThreads

/// Hands sockets that were reserved to the requests for bare permits, in a loop and never by recursion: a completion that
/// releases its permit at once has the next one's socket reserved.
final class PermitHandover: Sendable {
  private struct State {
    var line: Deque<@Sendable () -> Void> = []
    var isPerforming = false
  }

  private let state = Locked(State())

  /// Calls `action` with no lock held: here, or on the thread that is performing others.
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
