import HeadgateThreads

/// Signals changes that tests watch, such as a queue's line, a record, or a clock's timers.
final class Changes: Sendable {
  private struct State {
    var version = 0
    var waiting: [@Sendable () -> Void] = []
  }

  static let shared: Changes = {
    let changes = Changes()
    LineObserver.install { changes.note() }
    return changes
  }()

  private let state = Locked(State())

  /// The number of changes so far.
  var version: Int { state.withLock { $0.version } }

  func note() {
    let waiting = state.withLock { state in
      state.version += 1
      defer { state.waiting = [] }
      return state.waiting
    }
    for call in waiting { call() }
  }

  /// Calls `body` once there is a change beyond the given number, or at once if there has been one.
  func whenMore(than version: Int, _ body: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if state.version == version { state.waiting.append(body) }
      return state.version != version
    }
    if isLate { body() }
  }
}

/// Waits until the condition holds. Returns false after a minute. Checks once, and again after each change.
func until(_ condition: () -> Bool) -> Bool {
  let limit = Deadline.after(generous)
  while true {
    let seen = Changes.shared.version
    if condition() { return true }
    let changed = Parker()
    Changes.shared.whenMore(than: seen) { changed.unpark() }
    guard changed.park(until: limit) else { return false }
  }
}

/// The same for a task.
func untilAsync(_ condition: () -> Bool) async -> Bool {
  let limit = Deadline.after(generous)
  let alarm = TimerThread.shared.schedule(at: limit) { Changes.shared.note() }
  defer { alarm.cancel() }
  while limit > .now {
    let seen = Changes.shared.version
    if condition() { return true }
    await withContinuation { continuation in
      Changes.shared.whenMore(than: seen) { continuation.resume() }
    }
  }
  return false
}
