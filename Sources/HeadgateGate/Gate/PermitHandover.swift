import DequeModule
import HeadgateThreads

/// Passes reserved sockets to requests for bare permits, in a loop rather than recursively: a completion that releases
/// its permit at once causes the socket of the next request to be reserved.
final class PermitHandover: Sendable {
  // What is left to call. Nil while no thread calls anything.
  private let line = Locked<Deque<@Sendable () -> Void>?>(nil)

  /// Calls `action` with no lock held: on this thread, or on the thread that is already performing others.
  func perform(_ action: @escaping @Sendable () -> Void) {
    let isFirst = line.withLock { line in
      defer { line?.append(action) }
      guard line == nil else { return false }
      line = []
      return true
    }
    guard isFirst else { return }
    while let next = next() { next() }
  }

  private func next() -> (@Sendable () -> Void)? {
    line.withLock { line in
      let next = line?.popFirst()
      if next == nil { line = nil }
      return next
    }
  }
}
