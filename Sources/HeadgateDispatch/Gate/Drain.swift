import HeadgateThreads

/// A latch for the end of a gate: set once, after which everyone who waited, and everyone who comes, goes on.
final class Drain: Sendable {
  private struct State {
    var isDone = false
    var actions: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  func finish() {
    let actions = state.withLock { state in
      state.isDone = true
      defer { state.actions = [] }
      return state.actions
    }
    for action in actions { action() }
  }

  func whenDone(_ action: @escaping @Sendable () -> Void) {
    let isDone = state.withLock { state in
      if !state.isDone { state.actions.append(action) }
      return state.isDone
    }
    if isDone { action() }
  }

  func wait() async {
    await withContinuation { continuation in
      whenDone { continuation.resume() }
    }
  }
}
