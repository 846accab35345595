import HeadgateThreads

/// A clock that stands still until a test moves it, and that tells the test when its subject has armed a timer.
///
///     let clock = ManualClock()
///     let gate = EndPointGate(timers: clock)
///     ...
///     await clock.timers(1)               // the subject waits for its deadline now
///     clock.advance(by: .seconds(2))      // and it has passed, on this thread, before this returns
public final class ManualClock: TimerService {
  private struct State: ~Copyable {
    var now = Deadline(nanoseconds: 1_000_000_000_000)
    var timers = TimerQueue()
    var waiters: [(count: Int, waiter: @Sendable () -> Void)] = []
  }

  private let state = Locked(State())

  /// A clock at a moment well after the clock's start, so that tests may look back.
  public init() {}

  /// The moment at which the clock stands.
  public var now: Deadline { state.withLock { $0.now } }

  /// Timers that are armed and not due yet.
  public var pendingCount: Int { state.withLock { $0.timers.count } }

  /// Calls `action` inside the `advance(by:)` that reaches the deadline.
  public func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let (key, waiters) = state.withLock { state in
      let key = state.timers.insert(at: deadline, action)
      let ready = state.waiters.filter { $0.count <= state.timers.count }
      state.waiters.removeAll { $0.count <= state.timers.count }
      return (key, ready)
    }
    for waiter in waiters { waiter.waiter() }
    // A real clock would call soon; this one calls when it is moved, be it by nothing.
    return ScheduledTimer(service: self, key: key)
  }

  /// Takes a timer back: true if it will not be called.
  public func cancel(_ timer: ScheduledTimer) -> Bool {
    let action = state.withLock { $0.timers.remove(timer.key) }
    return action != nil
  }

  /// Moves on and makes the calls that became due, each at its own moment, in order, on this thread.
  public func advance(by duration: Duration) {
    let end = state.withLock { $0.now + duration }
    while true {
      let action = state.withLock { state -> TimerQueue.Action? in
        guard let next = state.timers.nextDeadline, next <= end else { return nil }
        state.now = max(state.now, next)
        return state.timers.popDue(at: state.now)
      }
      guard let action else { break }
      action()
    }
    state.withLock { $0.now = max($0.now, end) }
  }

  /// Suspends until at least so many timers are armed.
  public func timers(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.timers.count >= count { return true }
        state.waiters.append((count, { continuation.resume() }))
        return false
      }
      if isReady { continuation.resume() }
    }
  }
}
