import HeadgateThreads

/// Joins a task's cancellation to an action that is known a moment later: the handler may run before there is anything
/// to cancel, at the same time, or twice.
final class Canceller: Sendable {
  private struct State {
    var isCancelled = false
    var action: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  /// What a cancel is to do. Done at once if the cancel was faster.
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
