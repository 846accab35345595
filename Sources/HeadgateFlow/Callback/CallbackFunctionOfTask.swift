import HeadgateThreads

/// An async function as a callback function: each call runs it in a task of its own, which the cancel hook cancels.
///
///     legacy.load(with: callbackFunction { try await client.page(url) })
///
/// - Parameters:
///   - priority: The task's priority; nil for that of the caller.
///   - operation: What the task does, under its own isolation.
/// - Returns: The callback function. It never blocks, and may be called any number of times.
public func callbackFunction<Success: Sendable, Failure: Error>(
  priority: TaskPriority? = nil,
  _ operation: @escaping @isolated(any) @Sendable () async throws(Failure) -> Success
) -> CallbackFunction<Success, Failure> {
  { completion in
    let task = Task(priority: priority) {
      do throws(Failure) {
        completion.succeed(try await operation())
      } catch {
        completion.fail(error)
      }
    }
    completion.onCancel { task.cancel() }
  }
}

/// Runs an async function in a task, and blocks the calling thread until it has ended.
///
///     let page = try waitForTask(until: .after(.seconds(10))) { try await client.page(url) }
///
/// For threads that may wait: one of your own, a dispatch queue's. The task inherits the caller's task-local values, and
/// is cancelled when the wait ends before it; if it ignores that, it goes on and is counted in ``Losers/abandonedCount``.
///
/// - Parameters:
///   - deadline: When to give up.
///   - priority: The task's priority; nil for the caller's.
///   - discard: Gets a success that comes when nobody waits any more.
///   - operation: What the task does. One that is isolated to the main actor is refused on the main thread, one that is
///     isolated to an actor of a loop on that loop's thread. What it hops to later can't be seen: the deadline ends that.
/// - Returns: What the function returned.
/// - Throws: ``FlowError``: `failed` with what it threw, `timedOut`, `cancelled` (the thread was), `wouldDeadlock`,
///   `onCooperativeThread`.
@available(*, noasync, message: "blocks the thread; call the function")
public func waitForTask<Success: Sendable, Failure: Error>(
  until deadline: Deadline = .distantFuture, priority: TaskPriority? = nil,
  discard: (@Sendable (Success) -> Void)? = nil,
  _ operation: @escaping @isolated(any) @Sendable () async throws(Failure) -> Success
) throws(FlowError<Failure>) -> Success {
  let start = Deadline.now
  if let actor = operation.isolation, ThreadDuties.current.include(actor) {
    // Told first: it is also what would hang on a thread of ours.
    throw FlowError(.wouldDeadlock, operation: "waitForTask")
  }
  return try CallWait.block(until: deadline, discard: discard, callbackFunction(priority: priority, operation))
    .value("waitForTask", since: start)
}
