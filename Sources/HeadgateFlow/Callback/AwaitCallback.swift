import HeadgateThreads

/// Calls a callback function and suspends the task until it answers: turns a callback function into an async one.
///
///     func page(_ url: URL) async throws -> Data {
///       try await awaitCallback { completion in session.load(url) { data, error in completion(data, error) } }
///     }
///
/// No thread is blocked. There is exactly one outcome, however the function answers: see ``Completion``. Cancelling the
/// task runs the function's cancellation handlers and ends the wait at once, whether the function reacts or not; while
/// the function continues, it counts in ``Losers/abandonedCount``. In a task that is already cancelled, the function is
/// not called.
///
/// - Parameters:
///   - deadline: When to stop waiting. The function's cancellation handlers are then called.
///   - losers: ``Losers/join`` waits for the answer even after a cancellation or the deadline, however long that takes.
///     The default is ``Losers/abandon``, because a function without a cancellation handler may never answer.
///   - timers: The clock of the deadline.
///   - discard: Receives a success that arrives after the wait has ended.
///   - function: The function, which is called at once on the calling thread. It must not block.
/// - Returns: The value that the function succeeded with.
/// - Throws: The function's error. ``FlowError``: `completionReleased`, `timedOut`. `CancellationError` if the task was
///   cancelled. `WaitError`: `wouldDeadlock` (see ``Completion/answers(on:)``).
nonisolated(nonsending)
  public func awaitCallback<Success: Sendable>(
    until deadline: Deadline = .distantFuture, losers: Losers = .abandon,
    on timers: any TimerService = TimerThread.deadlines, discard: (@Sendable (Success) -> Void)? = nil,
    _ function: CallbackFunction<Success>
  ) async throws -> Success
{
  try await awaitCallback("awaitCallback", until: deadline, losers: losers, on: timers, discard: discard, function)
}

nonisolated(nonsending)
  func awaitCallback<Success: Sendable>(
    _ operation: String, until deadline: Deadline, losers: Losers = .abandon,
    on timers: any TimerService, discard: (@Sendable (Success) -> Void)?, _ function: CallbackFunction<Success>
  ) async throws -> Success
{
  try Task.checkCancellation()
  let start = timers.now
  let call = CallbackCall<Success>(discard: discard)
  function(Completion(call))
  let waiter = Waiter.ofTask()
  let outcome = call.listen(waiter) ? await waiter.wait(until: deadline, on: timers) : .woken
  var isTooLate = false
  if outcome != .woken, losers == .join {
    let last = Waiter.ofTask()
    if call.listen(last) {
      isTooLate = true
      call.cancel()
      _ = await last.waitForEnd()
    }
  }
  if let answer = call.leave() {
    guard isTooLate else { return try answer.get() }
    // A failure caused by the cancellation is not an answer. A success is, except after the deadline.
    if outcome == .cancelled, case .success(let value) = answer { return value }
    call.drop(answer)
  }
  // The hooks run after the wait has ended, so an answer from one of them comes too late, on any thread.
  call.cancel()
  if outcome == .cancelled { throw CancellationError() }
  throw FlowError(.timedOut, operation: operation, waited: timers.now - start)
}

/// Turns an async function into a callback function: each call runs it in a separate task, which the cancellation
/// handler cancels.
func callbackFunction<Success: Sendable>(
  priority: TaskPriority? = nil, _ operation: @escaping @isolated(any) @Sendable () async throws -> Success
) -> CallbackFunction<Success> {
  { completion in
    let task = Task(priority: priority) {
      do { completion.succeed(try await operation()) } catch { completion.fail(error) }
    }
    completion.onCancel { task.cancel() }
  }
}
