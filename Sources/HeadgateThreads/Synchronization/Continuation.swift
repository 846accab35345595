import CHeadgate

/// The standard library's `withCheckedContinuation`, plus a happens-before edge that the thread sanitizer can see.
///
/// Swift's runtime reports that edge to the sanitizer where a resumed job begins to run. A task that is resumed before
/// it has given up its thread continues at once, and the runtime reports nothing. The sanitizer then reports a false
/// race on the values handed over, about once in ten thousand runs. The cost is one call of an empty function.
nonisolated(nonsending)
  package func withContinuation<Value>(
    _ body: (CheckedContinuation<Value, Never>) -> Void
  ) async -> sending Value
{
  defer { headgate_task_resumed() }
  return await withCheckedContinuation(body)
}

/// The standard library's `withTaskCancellationHandler`, without leaving the caller's actor.
///
/// In Swift 6.3 the operation closure runs on the caller's actor only if it captures that actor, as it does here.
/// Otherwise it hops to the global executor and back, which means that each wait is scheduled twice.
nonisolated(nonsending)
  package func withCancellationHandler<Value>(
    _ body: nonisolated(nonsending) () async -> Value, onCancel: @Sendable () -> Void
  ) async -> Value
{
  func run(on actor: isolated (any Actor)?) async -> Value {
    await withTaskCancellationHandler {
      _ = actor
      return await body()
    } onCancel: {
      onCancel()
    }
  }
  return await run(on: #isolation)
}
