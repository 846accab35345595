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
    var waiters: [(isReady: @Sendable (Int) -> Bool, waiter: @Sendable () -> Void)] = []

    /// Those who waited for as many timers as there are now, to be told without the lock.
    mutating func takeReady() -> [@Sendable () -> Void] {
      guard !waiters.isEmpty else { return [] }
      let count = timers.count
      let ready = waiters.filter { $0.isReady(count) }.map(\.waiter)
      waiters.removeAll { $0.isReady(count) }
      return ready
    }
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
      return (key, state.takeReady())
    }
    for waiter in waiters { waiter() }
    // A real clock would call soon; this one calls when it is moved, be it by nothing.
    return ScheduledTimer(service: self, key: key)
  }

  /// Takes a timer back: true if it will not be called.
  public func cancel(_ timer: ScheduledTimer) -> Bool {
    let (action, waiters) = state.withLock { state in (state.timers.remove(timer.key), state.takeReady()) }
    for waiter in waiters { waiter() }
    return action != nil
  }

  /// Moves on and makes the calls that became due, each at its own moment, in order, on this thread.
  public func advance(by duration: Duration) {
    let end = state.withLock { $0.now + duration }
    while true {
      let (action, waiters) = state.withLock { state -> (TimerQueue.Action?, [@Sendable () -> Void]) in
        guard let next = state.timers.nextDeadline, next <= end else { return (nil, []) }
        state.now = max(state.now, next)
        return (state.timers.popDue(at: state.now), state.takeReady())
      }
      for waiter in waiters { waiter() }
      guard let action else { break }
      action()
    }
    state.withLock { $0.now = max($0.now, end) }
  }

  /// Suspends until at least so many timers are armed.
  public func timers(_ count: Int) async { await wait { $0 >= count } }

  /// Suspends until at most so many timers are armed: what the subject takes back on another thread may still be there
  /// for a moment.
  public func timers(atMost count: Int) async { await wait { $0 <= count } }

  private func wait(until isReady: @escaping @Sendable (Int) -> Bool) async {
    await withContinuation { continuation in
      let goesOn = state.withLock { state in
        if isReady(state.timers.count) { return true }
        state.waiters.append((isReady, { continuation.resume() }))
        return false
      }
      if goesOn { continuation.resume() }
    }
  }
}
