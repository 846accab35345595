import CHeadgate

/// One thread that makes calls at their time, for any number of timers: what `LSTimerThread` did, without a queue and
/// a dispatch source for each.
///
/// Calls are made in the order of their deadlines, never early, one after another. Scheduling and cancelling cost
/// O(log n); the thread is woken only when a new timer comes before all others. It starts with the first timer and
/// then lives as long as the process for ``shared``, or until ``stop()``.
public final class TimerThread: TimerService {
  private struct State {
    var timers = TimerQueue()
    // What the thread sleeps until; `.distantPast` while it is awake, so that nobody wakes it for nothing.
    var sleepsUntil: Deadline = .distantPast
    var running = false
    var stopped = false
  }

  private let name: String
  private let state = Locked(State())
  private let parker = Parker()

  /// The timer thread of the process.
  public static let shared = TimerThread(name: "headgate-timer")

  /// A timer thread with a name of its own (the system may cut it). No thread is started yet.
  public init(name: String) {
    self.name = name
  }

  /// The monotonic clock's reading.
  public var now: Deadline { .now }

  /// How many calls are pending.
  public var pendingCount: Int { state.withLock { $0.timers.count } }

  /// Calls `action` once when `deadline` has passed. After ``stop()`` the action is dropped without a call.
  ///
  /// If the system has no thread to give, the timer waits until a later `schedule` gets one.
  public func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let (key, mustWake, mustStart) = state.withLock { state in
      guard !state.stopped else { return (TimerQueue.Key(handle: -1, generation: 0), false, false) }
      let key = state.timers.insert(at: deadline, action)
      let mustStart = !state.running
      state.running = true
      let mustWake = deadline < state.sleepsUntil
      // Only the first to come before the thread's deadline wakes it.
      if mustWake { state.sleepsUntil = .distantPast }
      return (key, mustWake, mustStart)
    }
    if mustStart { startThread() }
    if mustWake { parker.unpark() }
    return ScheduledTimer(service: self, key: key)
  }

  /// Takes a pending call back. O(log n).
  public func cancel(_ timer: ScheduledTimer) -> Bool {
    guard timer.key.handle >= 0 else { return false }
    // The action leaves the lock before it is let go: its captures may run any deinitializer.
    let action = state.withLock { $0.timers.remove(timer.key) }
    return action != nil
  }

  /// Ends the thread. Pending calls are dropped, later ones too.
  public func stop() {
    let dropped = state.withLock { state in
      state.stopped = true
      let timers = state.timers
      state.timers = TimerQueue()
      return timers
    }
    parker.unpark()
    _ = consume dropped
  }

  private func startThread() {
    do {
      _ = try WorkerThread(name: name, serves: true) { [self] in run() }
    } catch {
      state.withLock { $0.running = false }
    }
  }

  private func run() {
    headgate_precise_timers()
    while true {
      let now = Deadline.now
      let (action, deadline, stopped) = state.withLock { state -> (TimerQueue.Action?, Deadline, Bool) in
        if let action = state.timers.popDue(at: now) { return (action, now, state.stopped) }
        let next = state.timers.nextDeadline ?? .distantFuture
        state.sleepsUntil = next
        return (nil, next, state.stopped)
      }
      if stopped { return }
      if let action {
        action()
      } else {
        _ = parker.park(until: deadline)
        state.withLock { $0.sleepsUntil = .distantPast }
      }
    }
  }
}
