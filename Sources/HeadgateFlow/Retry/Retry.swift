import HeadgateThreads

/// Calls a function again as long as it fails, with a growing, random wait between the attempts.
///
///     let page = try await retry(attempts: 5, backoff: .constant(.seconds(1))) { try await client.page(url) }
///
/// One attempt runs at a time; stack use does not depend on the number of attempts. No thread is blocked during a wait.
/// If the task is cancelled, no further attempt starts; a running one that ignores the cancellation is waited for.
///
/// - Parameters:
///   - attempts: The maximum number of attempts, including the first; 1 or more, `Int.max` for no limit.
///   - backoff: The wait between attempts.
///   - budget: The budget that each retry is taken from, shared by all calls to a service; nil for no limit. A call
///     makes one deposit.
///   - deadline: When to stop. A running attempt is cancelled and waited for, and a wait that would reach the deadline
///     is not started.
///   - timers: The clock of the waits and the deadline.
///   - discard: Receives a success that arrives after the deadline.
///   - predicate: Whether a failure is worth another attempt.
///   - delay: The wait that a failure asks for (such as a Retry-After header), in place of the back-off; nil for the
///     back-off.
///   - operation: The function to call. If its error type is spelled out, `predicate` and `delay` receive that type.
/// - Returns: The value of the first attempt that succeeded.
/// - Throws: ``FlowError``, with the failures of the last 16 attempts: `failed` (not worth another attempt),
///   `attemptsExhausted`, `budgetExhausted`, `timedOut`, `invalidArgument`. `CancellationError` if the task was
///   cancelled: at once during a wait, otherwise after the attempt has ended.
nonisolated(nonsending)
  public func retry<Success: Sendable, Failure: Error>(
    attempts: Int = 3, backoff: Backoff = Backoff(), budget: RetryBudget? = nil,
    until deadline: Deadline = .distantFuture, on timers: any TimerService = TimerThread.deadlines,
    discard: (@Sendable (Success) -> Void)? = nil, while predicate: @Sendable (Failure) -> Bool = { _ in true },
    delay: @Sendable (Failure) -> Duration? = { _ in nil },
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async throws -> Success
{
  var plan = RetryPlan(attempts: attempts, backoff: backoff, budget: budget, deadline: deadline)
  let start = timers.now
  var random = SystemRandom()
  guard plan.attempts > 0 else { throw plan.error(.invalidArgument, since: start, now: start) }
  plan.budget?.deposit()
  while true {
    try Task.checkCancellation()
    let failure: Failure
    switch await TimedEnd.of(operation, until: plan.deadline, on: timers, discard) {
    case .success(let value): return value
    case .failure(let error): failure = error
    case .timedOut: throw plan.error(.timedOut, since: start, now: timers.now)
    case .cancelled: throw CancellationError()
    }
    let verdict = plan.fail(
      failure, isRetryable: predicate(failure), asked: delay(failure), now: timers.now, using: &random)
    switch verdict {
    case .end(let code): throw plan.error(code, since: start, now: timers.now)
    case .again(.zero): break
    case .again(let delay): _ = await Waiter.ofTask().wait(until: timers.now + delay, on: timers)
    }
  }
}
