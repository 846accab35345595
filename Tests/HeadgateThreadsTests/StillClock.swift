import HeadgateThreads

/// A clock that stands still until a test moves it.
final class StillClock: TimerService {
  private struct State: ~Copyable {
    var now = Deadline(nanoseconds: 1_000_000)
    var timers = TimerQueue()
  }

  private let state = Locked(State())

  var now: Deadline { state.withLock { $0.now } }

  var pendingCount: Int { state.withLock { $0.timers.count } }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    ScheduledTimer(service: self, key: state.withLock { $0.timers.insert(at: deadline, action) })
  }

  func cancel(_ timer: ScheduledTimer) -> Bool { state.withLock { $0.timers.remove(timer.key) } != nil }

  /// Lets time pass without calls, as in a call that takes long.
  func pass(_ duration: Duration) { state.withLock { $0.now = $0.now + duration } }

  /// Advances, and makes the calls that become due, in order, on this thread. The time that they take counts.
  func advance(by duration: Duration) {
    let end = now + duration
    while true {
      let action = state.withLock { state -> TimerQueue.Action? in
        guard let next = state.timers.nextDeadline, next <= end else {
          // Under the same acquisition as the check, so that a timer set after it is set at the new time.
          state.now = max(state.now, end)
          return nil
        }
        state.now = max(state.now, next)
        return state.timers.popDue(at: state.now)
      }
      guard let action else { return }
      action()
    }
  }

  /// Nanoseconds since the clock's start, for short lists of moments.
  var reading: Int { Int(now.nanoseconds - 1_000_000) }
}
