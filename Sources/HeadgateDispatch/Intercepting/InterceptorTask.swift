import HeadgateThreads

/// The task that runs the interceptors for one request.
///
/// It is created where the request is submitted, so that interceptors inherit task-local values and priority from the
/// submitting task. Between pieces of work it is suspended. A task created later, on the transport's thread, could
/// not inherit those values.
final class InterceptorTask: Sendable {
  typealias Work = @Sendable () async -> Void

  /// Whether the current task is in a call of an interceptor, or was created in one.
  @TaskLocal static var isCurrent = false

  private enum State {
    /// Running work, or about to ask for more.
    case busy
    /// Suspended until there is work.
    case waiting(CheckedContinuation<Work?, Never>)
    /// The next work.
    case due(Work)
    /// Finished.
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

  /// Calls an interceptor.
  static func work<Result: Sendable>(_ body: @Sendable () async throws -> Result) async rethrows -> Result {
    try await $isCurrent.withValue(true) { try await body() }
  }

  /// Runs `work` after the current work.
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

  /// Cancels the current work.
  func cancel() { task.cancel() }

  /// Ends the task after its current work.
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
