import HeadgateThreads

/// Calls a callback function, and blocks the calling thread until it has answered: what people made of a semaphore.
///
///     let page = try waitForCallback(until: .after(.seconds(10))) { completion in
///       session.load(url) { data, error in completion(data, error) }
///     }
///
/// The wait holds the calling thread and no other. However the function answers there is one outcome: see
/// ``Completion``. An answer that is there when the deadline passes counts.
///
/// - Parameters:
///   - deadline: When to give up. The function is told through its cancel hooks, and this returns at once.
///   - target: Where the function is going to answer, if that is known: the wait is refused where that is the calling
///     thread itself.
///   - discard: Gets a success that comes when nobody waits any more, if it has to be closed or destroyed.
///   - function: What is called, here and now.
/// - Returns: What the function succeeded with.
/// - Throws: ``FlowError``: `failed` with the function's failure, `unanswered`, `timedOut`, `cancelled` (the thread
///   was), `undeliverable`; `onCooperativeThread` where a task of Swift's runs on a thread that is not ours, and
///   `wouldDeadlock` where the calling thread is what would have to deliver the answer; then nothing was called in the
///   first case, and the function was cancelled in the second if it has said so itself.
@available(*, noasync, message: "blocks the thread; use awaitCallback")
public func waitForCallback<Success: Sendable, Failure: Error>(
  until deadline: Deadline = .distantFuture, calledOn target: Delivery = .inline,
  discard: (@Sendable (Success) -> Void)? = nil, _ function: CallbackFunction<Success, Failure>
) throws(FlowError<Failure>) -> Success {
  let start = Deadline.now
  return try CallWait.block(until: deadline, calledOn: target, discard: discard, function)
    .value("waitForCallback", since: start)
}

/// Calls a callback function, and suspends the task until it has answered. No thread is held.
///
/// Cancelling the task runs the function's cancel hooks and ends the wait at once, whether the function heeds it or not;
/// what it still does is counted in ``Losers/abandonedCount``. In a task that is cancelled already nothing is called.
///
/// - Parameters:
///   - deadline: When to give up; the function is told through its cancel hooks.
///   - discard: Gets a success that comes when nobody waits any more.
///   - function: What is called, here and now. It must not block.
/// - Returns: What the function succeeded with.
/// - Throws: ``FlowError``: `failed` with the function's failure, `unanswered`, `timedOut`, `cancelled`, `undeliverable`.
nonisolated(nonsending)
  public func awaitCallback<Success: Sendable, Failure: Error>(
    until deadline: Deadline = .distantFuture, discard: (@Sendable (Success) -> Void)? = nil,
    _ function: CallbackFunction<Success, Failure>
  ) async throws(FlowError<Failure>) -> Success
{
  try await awaitCallback(until: deadline, on: TimerThread.shared, discard: discard, function)
}

nonisolated(nonsending)
  func awaitCallback<Success: Sendable, Failure: Error>(
    until deadline: Deadline, on timers: any TimerService, discard: (@Sendable (Success) -> Void)? = nil,
    _ function: CallbackFunction<Success, Failure>
  ) async throws(FlowError<Failure>) -> Success
{
  let start = timers.now
  let outcome = await CallWait.suspend(until: deadline, on: timers, discard: discard, function)
  return try outcome.value("awaitCallback", since: start)
}
