import HeadgateThreads

/// A fact about an end-point that programs tell each other through their coordinator: it accepts nothing for a while.
/// Whoever hears of it can only wait longer because of it.
package struct SharedPause: Hashable, Sendable {
  package enum Cause: Hashable, Sendable {
    /// The server refused, with this status if there is one.
    case refused(status: Int?)
    /// It could not be reached.
    case unreachable
  }

  package let endPoint: EndPoint
  /// How much of it is left: more than zero, at most a day, or an hour for an end-point that can't be reached.
  package let left: Duration
  package let cause: Cause

  /// - Parameter left: How much of it is left. Shortened to the maximum.
  /// - Returns: Nil if nothing is left.
  package init?(at endPoint: EndPoint, left: Duration, _ cause: Cause) {
    guard left > .zero else { return nil }
    let longest = cause == .unreachable ? Remembered.longestOutage : Remembered.longestPause
    (self.endPoint, self.cause) = (endPoint, cause)
    self.left = min(left, .milliseconds(longest))
  }

  /// A program was refused, and hopes for the best after a second if the server names no wait.
  package static func refused(by endPoint: EndPoint, retryAfter wait: Duration?, status: Int?) -> SharedPause? {
    SharedPause(at: endPoint, left: wait ?? PausePolicy().initialPause, .refused(status: status))
  }
}

/// A coordinator that passes pauses on from program to program.
///
/// While an end-point is paused, no permit is granted there. After the pause one is granted first: the probe. When it
/// is returned, the others follow step by step; see ``PausePolicy``.
package protocol PauseSharing: GateCoordinator {
  /// Tells the others. Returns at once. If the coordinator can't be reached, it is told when it is back.
  func share(_ pause: SharedPause)

  /// Calls `hear` for each pause that another program has told of, from any thread, until `hear` returns false.
  func whenPaused(_ hear: @escaping @Sendable (SharedPause) -> Bool)
}

/// Those who want to hear of pauses.
package final class PauseListeners: Sendable {
  private struct State {
    var listeners: [UInt64: @Sendable (SharedPause) -> Bool] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Locked(State())

  package init() {}

  package func add(_ hear: @escaping @Sendable (SharedPause) -> Bool) {
    state.withLock { state in
      state.lastNumber += 1
      state.listeners[state.lastNumber] = hear
    }
  }

  /// Tells all of them. Call it with no lock held.
  package func tell(_ pause: SharedPause) {
    for (number, hear) in state.withLock({ $0.listeners }) where !hear(pause) {
      // The closure is released after the lock.
      _ = state.withLock { $0.listeners.removeValue(forKey: number) }
    }
  }
}
