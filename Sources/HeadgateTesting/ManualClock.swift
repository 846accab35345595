import HeadgateThreads

/// A clock that stands still until a test advances it. A test can also wait until a timer is set.
///
///     let clock = ManualClock()
///     let gate = EndPointGate(timers: clock)
///     ...
///     try await clock.timers(1)           // the subject waits for its deadline now
///     clock.advance(by: .seconds(2))      // and it has passed, on this thread, before this returns
public final class ManualClock: TimerService {
  private struct State: ~Copyable {
    var now = Deadline(nanoseconds: 1_000_000_000_000)
    var timers = TimerQueue()
    var waiters: [(isReady: @Sendable (Int) -> Bool, waiter: Waiter)] = []

    /// Removes the waiters whose condition holds now. They are woken without the lock.
    mutating func takeReady() -> [Waiter] {
      guard !waiters.isEmpty else { return [] }
      let count = timers.count
      let ready = waiters.filter { $0.isReady(count) }.map(\.waiter)
      waiters.removeAll { $0.isReady(count) }
      return ready
    }
  }

  private let state = Locked(State())

  /// Creates a clock. Its first time is unspecified, but not zero, so that tests can use earlier times: keep ``now``.
  public init() {}

  /// The current time of the clock.
  public var now: Deadline { state.withLock { $0.now } }

  /// The number of timers that have not fired yet.
  public var pendingCount: Int { state.withLock { $0.timers.count } }

  /// Calls `action` inside the `advance(by:)` that reaches the deadline.
  public func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let (key, waiters) = state.withLock { state in
      let key = state.timers.insert(at: deadline, action)
      return (key, state.takeReady())
    }
    for waiter in waiters { waiter.end(.woken) }
    // A deadline in the past fires at the next `advance(by:)`, even with a duration of zero.
    return ScheduledTimer(service: self, key: key)
  }

  /// Cancels a timer. Returns true if it will not fire.
  public func cancel(_ timer: ScheduledTimer) -> Bool {
    let (action, waiters) = state.withLock { state in (state.timers.remove(timer.key), state.takeReady()) }
    for waiter in waiters { waiter.end(.woken) }
    return action != nil
  }

  /// Advances the clock and calls the timers that become due, in order, each at its own time, on this thread.
  public func advance(by duration: Duration) {
    let end = state.withLock { $0.now + duration }
    while true {
      let (action, waiters) = state.withLock { state -> (TimerQueue.Action?, [Waiter]) in
        guard let next = state.timers.nextDeadline, next <= end else {
          // Under the same acquisition as the check: a caller that sets a timer after it sees the new time.
          state.now = max(state.now, end)
          return (nil, [])
        }
        state.now = max(state.now, next)
        return (state.timers.popDue(at: state.now), state.takeReady())
      }
      for waiter in waiters { waiter.end(.woken) }
      guard let action else { return }
      action()
    }
  }

  /// Suspends until at least `count` timers are set.
  ///
  /// - Throws: `WaitError` with the code `cancelled` if the task is cancelled: it says how many timers are set.
  public func timers(_ count: Int) async throws(WaitError) {
    try await wait(for: "at least \(count)") { $0 >= count }
  }

  /// Suspends until at most `count` timers are set. Use it for timers that another thread cancels.
  ///
  /// - Throws: `WaitError` with the code `cancelled` if the task is cancelled: it says how many timers are set.
  public func timers(atMost count: Int) async throws(WaitError) {
    try await wait(for: "at most \(count)") { $0 <= count }
  }

  private func wait(for what: String, _ isReady: @escaping @Sendable (Int) -> Bool) async throws(WaitError) {
    let waiter = Waiter.ofTask()
    let goesOn = state.withLock { state in
      if isReady(state.timers.count) { return true }
      state.waiters.append((isReady, waiter))
      return false
    }
    if goesOn { return }
    // A waiter that gives up stays in the list, without effect, until its condition holds.
    try await waiter.waitInTest { "wait for \(what) timers (\(pendingCount) are set)" }
  }
}
