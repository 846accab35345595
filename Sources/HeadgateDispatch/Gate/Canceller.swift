import HeadgateThreads

/// Connects a task's cancellation to an action that becomes known a moment later. The cancellation handler may run
/// before that, at the same time, or twice.
final class Canceller: Sendable {
  private struct State {
    var isCancelled = false
    var action: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  /// Sets the action to run on cancellation. Runs it at once if the cancellation came first.
  func set(_ action: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.action = action }
      return state.isCancelled
    }
    if isCancelled { action() }
  }

  func cancel() {
    let action = state.withLock { state in
      state.isCancelled = true
      return state.action.take()
    }
    action?()
  }
}
