import CHeadgate

/// The standard library's `withCheckedContinuation`, after which the thread sanitizer knows what was done before the resume.
///
/// Swift's runtime shows the sanitizer who resumed a task where a job begins to run. Where the task is resumed before it has
/// given up its thread it goes on at once, and the runtime shows nothing: what the other thread has handed over would be
/// reported as a race, once in some ten thousand times. Costs one call of an empty function.
nonisolated(nonsending)
  package func withContinuation<Value>(
    _ body: (CheckedContinuation<Value, Never>) -> Void
  ) async -> sending Value
{
  defer { headgate_task_resumed() }
  return await withCheckedContinuation(body)
}

/// `withCheckedThrowingContinuation`, as above.
nonisolated(nonsending)
  package func withThrowingContinuation<Value>(
    _ body: (CheckedContinuation<Value, any Error>) -> Void
  ) async throws -> sending Value
{
  defer { headgate_task_resumed() }
  return try await withCheckedThrowingContinuation(body)
}
