import HeadgateThreads

/// Calls a function again while it fails, with a growing, random wait between the attempts.
///
///     let page = try await retry(attempts: 5, while: { $0.isPassing }) { try await client.page(url) }
///
/// One attempt at a time; a hundred thousand need the stack of one. No thread is held while it waits. Cancelled at whatever
/// step, it makes no further attempt; one that runs and ignores it is waited for. An error thrown in a cancel hook of the
/// form for callbacks goes to the log and stops nothing.
///
/// - Parameters:
///   - attempts: How many there are at most, the first included; 1 or more, `Int.max` for no limit.
///   - backoff: How long to wait between them.
///   - budget: What each retry is taken from, shared by all calls to a service; nil for no limit. A call makes one
///     deposit.
///   - deadline: When to end: an attempt that runs is cancelled and waited for, and a wait that would reach the deadline
///     is not begun.
///   - discard: Gets a success that comes too late: after the deadline, or when nobody waits any more.
///   - predicate: Whether a failure is worth another attempt.
///   - delay: How long a failure says to wait (a Retry-After header), in place of the back-off; nil for the back-off.
///   - operation: What to call.
/// - Returns: What the first attempt that succeeded returned.
/// - Throws: ``FlowError``, with the failures of all attempts (of the last 16): `failed` (not worth another attempt),
///   `attemptsExhausted`, `budgetExhausted`, `timedOut`, `cancelled` (the task was; at once during a wait, else when the
///   attempt has ended), `invalidArgument`.
nonisolated(nonsending)
  public func retry<Success: Sendable, Failure: Error>(
    attempts: Int = 3, backoff: Backoff = Backoff(), budget: RetryBudget? = nil,
    until deadline: Deadline = .distantFuture, discard: (@Sendable (Success) -> Void)? = nil,
    while predicate: @Sendable (Failure) -> Bool = { _ in true },
    delay: @Sendable (Failure) -> Duration? = { _ in nil },
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async throws(FlowError<Failure>) -> Success
{
  let plan = RetryPlan<Failure>(attempts: attempts, backoff: backoff, budget: budget, deadline: deadline)
  return try await makeAttempts(
    of: plan, on: TimerThread.shared, discard: discard, while: predicate, delay: delay, operation)
}

nonisolated(nonsending)
  func makeAttempts<Success: Sendable, Failure: Error>(
    of plan: RetryPlan<Failure>, on timers: any TimerService, discard: (@Sendable (Success) -> Void)? = nil,
    while predicate: @Sendable (Failure) -> Bool, delay: @Sendable (Failure) -> Duration?,
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async throws(FlowError<Failure>) -> Success
{
  var plan = plan
  let start = timers.now
  var random = SystemRandom()
  guard plan.attempts > 0 else { throw plan.error(.invalidArgument, since: start, now: start) }
  plan.budget?.deposit()
  while true {
    if Task.isCancelled { throw plan.error(.cancelled, since: start, now: timers.now) }
    let failure: Failure
    switch await attempt(until: plan.deadline, on: timers, discard, operation) {
    case .ended(.success(let value)): return value
    case .ended(.failure(let error)): failure = error
    case .ended(.missing(let code, _)), .left(let code): throw plan.error(code, since: start, now: timers.now)
    }
    let verdict = plan.fail(
      failure, isRetryable: predicate(failure), asked: delay(failure), now: timers.now, using: &random)
    switch verdict {
    // What fails because all is cancelled is no decision.
    case _ where Task.isCancelled: throw plan.error(.cancelled, since: start, now: timers.now)
    case .end(let code): throw plan.error(code, since: start, now: timers.now)
    case .again(.zero): break
    case .again(let delay): _ = await Waiter.ofTask().wait(until: timers.now + delay, on: timers)
    }
  }
}

/// One attempt, as a child task if it may have to be cut short.
nonisolated(nonsending)
  private func attempt<Success: Sendable, Failure: Error>(
    until deadline: Deadline, on timers: any TimerService, _ discard: (@Sendable (Success) -> Void)?,
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async -> CallWait<Success, Failure>.Outcome
{
  guard deadline == .distantFuture else {
    return await cutShort(at: deadline, on: timers, discard: discard, operation)
  }
  do throws(Failure) {
    return .ended(.success(try await operation()))
  } catch {
    return .ended(.failure(error))
  }
}

/// Calls a callback function again while it fails, and blocks the calling thread meanwhile.
///
/// As the async form. The wait holds the calling thread and no other.
///
/// - Parameters:
///   - attempts: How many there are at most, the first included; 1 or more.
///   - backoff: How long to wait between them.
///   - budget: What each retry is taken from; nil for no limit.
///   - deadline: When to end: an attempt that runs is cancelled and abandoned.
///   - discard: Gets a success that comes too late: after the deadline, or when nobody waits any more.
///   - predicate: Whether a failure is worth another attempt.
///   - delay: How long a failure says to wait, in place of the back-off.
///   - function: What to call. One that lets go of its completion is not called again.
/// - Returns: What the first attempt that succeeded brought.
/// - Throws: ``FlowError``: as the async form, and `unanswered`, `wouldDeadlock`, `onCooperativeThread`.
@available(*, noasync, message: "blocks the thread; use the form for async functions")
public func retry<Success: Sendable, Failure: Error>(
  attempts: Int = 3, backoff: Backoff = Backoff(), budget: RetryBudget? = nil, until deadline: Deadline,
  discard: (@Sendable (Success) -> Void)? = nil, while predicate: @escaping @Sendable (Failure) -> Bool = { _ in true },
  delay: @escaping @Sendable (Failure) -> Duration? = { _ in nil },
  _ function: @escaping CallbackFunction<Success, Failure>
) throws(FlowError<Failure>) -> Success {
  let start = Deadline.now
  let plan = RetryPlan<Failure>(attempts: attempts, backoff: backoff, budget: budget, deadline: deadline)
  return try CallWait.block(
    until: deadline, settles: true,
    asCallback(plan, on: TimerThread.shared, discard: discard, while: predicate, delay: delay, function)
  )
  .settled("retry", since: start)
}

/// The same as a callback function: it blocks nobody, can be started with
/// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator.
///
/// Without a deadline: `withDeadline` gives it one.
public func retry<Success: Sendable, Failure: Error>(
  attempts: Int = 3, backoff: Backoff = Backoff(), budget: RetryBudget? = nil,
  discard: (@Sendable (Success) -> Void)? = nil, while predicate: @escaping @Sendable (Failure) -> Bool = { _ in true },
  delay: @escaping @Sendable (Failure) -> Duration? = { _ in nil },
  _ function: @escaping CallbackFunction<Success, Failure>
) -> CallbackFunction<Success, FlowError<Failure>> {
  let plan = RetryPlan<Failure>(attempts: attempts, backoff: backoff, budget: budget, deadline: .distantFuture)
  return asCallback(plan, on: TimerThread.shared, discard: discard, while: predicate, delay: delay, function)
}

func asCallback<Success: Sendable, Failure: Error>(
  _ plan: RetryPlan<Failure>, on timers: any TimerService, discard: (@Sendable (Success) -> Void)? = nil,
  while predicate: @escaping @Sendable (Failure) -> Bool,
  delay: @escaping @Sendable (Failure) -> Duration?, _ function: @escaping CallbackFunction<Success, Failure>
) -> CallbackFunction<Success, FlowError<Failure>> {
  { completion in
    let questions = RetryCall<Success, Failure>.Questions(isRetryable: predicate, delay: delay)
    let call = RetryCall(plan, timers, completion, questions, discard, function)
    completion.call.attach(.init(cancelled: { code in call.cancel(code) }, discard: discard))
    guard plan.attempts > 0 else { return call.conclude { plan in .failure(call.error(.invalidArgument, plan)) } }
    plan.budget?.deposit()
    call.next()
  }
}
