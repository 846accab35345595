// The bridge for callers that neither block nor await: it can start every async function of this library.

import HeadgateThreads

/// Runs an async function in a task and returns at once. `receive` is called once with the result, at the given place.
///
///     let upload = startTask(on: .mainActor) {
///       try await step("upload") { try await send(file) }
///     } receive: { result in
///       MainActor.assumeIsolated { view.show(result) }
///     }
///     upload.cancel()
///
/// - Parameters:
///   - target: Where `receive` is called. If the target accepts no more calls, `receive` is called with
///     ``FlowError/Code/undeliverable`` on the thread that detects this. In that case, do not access state that belongs
///     to the target.
///   - priority: The task's priority; nil for the caller's.
///   - discard: Receives a success that could not be delivered.
///   - operation: The function to run.
///   - receive: Receives the result.
/// - Returns: The task. Cancelling it cancels the function, whose result is still delivered. Releasing it has no
///   effect.
@discardableResult
public func startTask<Success: Sendable>(
  on target: Delivery = .inline, priority: TaskPriority? = nil, discard: (@Sendable (Success) -> Void)? = nil,
  _ operation: @escaping @isolated(any) @Sendable () async throws -> Success,
  receive: @escaping @Sendable (Result<Success, any Error>) -> Void
) -> Task<Void, Never> {
  Task(priority: priority) {
    let result: Result<Success, any Error>
    do { result = .success(try await operation()) } catch { result = .failure(error) }
    let parcel = Parcel {
      receive(result)
    } comeBack: { error in
      if case .success(let value) = result { discard?(value) }
      receive(.failure(FlowError(.undeliverable, operation: "startTask", underlyingError: error)))
    }
    target.submit(parcel)
  }
}
