import HeadgateThreads

/// A clock that stands still until a script's thread makes the first due call.
final class ScriptTimers: TimerService {
  private struct Armed {
    let key: TimerQueue.Key
    let moment: Deadline
    let action: @Sendable () -> Void
  }

  private struct State {
    var now = Deadline(nanoseconds: 1_000_000_000)
    var armed: [Armed] = []
    var last: UInt32 = 0
  }

  private let state = Unseen(State())

  var now: Deadline { state.use { $0.now } }

  /// Calls with a due time.
  var count: Int { state.use { $0.armed.count } }

  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let key = state.use { state in
      state.last += 1
      let key = TimerQueue.Key(slot: 0, generation: state.last)
      state.armed.append(Armed(key: key, moment: deadline, action: action))
      return key
    }
    return ScheduledTimer(service: self, key: key)
  }

  func cancel(_ timer: ScheduledTimer) -> Bool {
    let taken = state.use { state in
      state.armed.firstIndex { $0.key == timer.key }.map { state.armed.remove(at: $0) }
    }
    return taken != nil
  }

  /// Makes the first due call, at its time. False: there is none.
  @discardableResult
  func fire() -> Bool {
    let due = state.use { state -> Armed? in
      guard let first = state.armed.indices.min(by: { state.armed[$0].moment < state.armed[$1].moment }) else {
        return nil
      }
      state.now = max(state.now, state.armed[first].moment)
      return state.armed.remove(at: first)
    }
    due?.action()
    return due != nil
  }
}
