import HeadgateThreads

/// The task in which interceptors work on one request.
///
/// It is made where the request is submitted, so that all of their work has the task-local values and the priority of the
/// task that submitted it. Between one piece of work and the next it is suspended: a task made later, on the transport's
/// thread, could not get at those values.
final class InterceptorTask: Sendable {
  typealias Work = @Sendable () async -> Void

  private enum State {
    /// It works, or is about to ask for work.
    case busy
    /// It waits for work.
    case waiting(CheckedContinuation<Work?, Never>)
    /// The work that comes next.
    case due(Work)
    /// There is no more work.
    case over
  }

  private let state: LockedBox<State>
  private let task: Task<Void, Never>

  init() {
    let state = LockedBox(State.busy)
    self.state = state
    task = Task {
      while let work = await Self.next(state) { await work() }
    }
  }

  /// Has some work done, after that which is under way.
  func perform(_ work: @escaping Work) {
    let waiting = state.withLock { state -> CheckedContinuation<Work?, Never>? in
      switch state {
      case .waiting(let continuation):
        state = .busy
        return continuation
      case .busy, .due: state = .due(work)
      case .over: break
      }
      return nil
    }
    waiting?.resume(returning: work)
  }

  /// Cancels the work that is under way.
  func cancel() { task.cancel() }

  /// Ends the task once its work is done.
  func finish() {
    let waiting = state.withLock { state -> CheckedContinuation<Work?, Never>? in
      defer { state = .over }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    waiting?.resume(returning: nil)
  }

  private static func next(_ state: LockedBox<State>) async -> Work? {
    await withContinuation { continuation in
      let (isDue, work) = state.withLock { state -> (Bool, Work?) in
        switch state {
        case .busy, .waiting:
          state = .waiting(continuation)
          return (false, nil)
        case .due(let work):
          state = .busy
          return (true, work)
        case .over: return (true, nil)
        }
      }
      if isDue { continuation.resume(returning: work) }
    }
  }
}
