import HeadgateThreads

/// Runs functions at the same time; the first success is the result, and the rest is cancelled.
///
///     let page = try await firstToSucceed(throwing: LoadError.self, [mirror.load, origin.load])
///
/// They start in their order. An empty array throws `noInput`. O(1) for each start and end, and no thread.
///
/// One function is as good as many, and a hundred thousand need the stack of one. Cancelled at whatever step, it starts
/// nothing more, and what runs is cancelled. What ignores that is waited for or not, as `losers` says; what it succeeds with
/// goes to `discard`. An error thrown in a cancel hook goes to the log and stops nothing.
///
/// - Parameters:
///   - failure: What the functions throw, a type of its own. Functions that throw any error go to the form without it.
///   - atMost: How many run at a time; 1 or more. With 1 the next one is tried when one has failed.
///   - losers: What becomes of those that still run at the first success, or when the task is cancelled. They are cancelled;
///     ``Losers/join`` waits for their ends (whatever they ignore), ``Losers/abandon`` returns at once.
///   - discard: Gets each success that is not the result, if it has to be closed or destroyed.
///   - functions: What to run.
/// - Returns: The first success; one that comes while the task is being cancelled, too.
/// - Throws: ``FlowError``: `allFailed` with all failures in the order of the functions, `cancelled` (the task was),
///   `noInput`, `invalidArgument`.
nonisolated(nonsending)
  public func firstToSucceed<Success: Sendable, Failure: Error>(
    throwing failure: Failure.Type, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil,
    _ functions: [@Sendable () async throws(Failure) -> Success]
  ) async throws(FlowError<Failure>) -> Success
{
  try await firstPlan(functions.count, atMost, losers, discard).run(functions)
}

/// Calls callback functions, and blocks the calling thread until the first has succeeded.
///
/// As the async form; the wait holds the calling thread and no other. ``Losers/join`` waits for the losers' answers, but
/// not beyond the deadline.
///
/// - Parameters:
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that still run when it is decided.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - discard: Gets each success that is not the result.
///   - functions: What to call. They may answer inside the call, on any thread, or never.
/// - Returns: The first success.
/// - Throws: ``FlowError``: as the async form, and `timedOut` (with the failures so far), `wouldDeadlock`,
///   `onCooperativeThread`. A function that lets go of its completion counts as failed.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func firstToSucceed<Success: Sendable, Failure: Error>(
  atMost: Int = .max, losers: Losers = .join, until deadline: Deadline,
  discard: (@Sendable (Success) -> Void)? = nil, _ functions: [CallbackFunction<Success, Failure>]
) throws(FlowError<Failure>) -> Success {
  try firstPlan(functions.count, atMost, losers, discard).block(until: deadline) { functions[$0]($1) }
}

/// The same as a callback function: it blocks nobody, can be started with
/// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator.
public func firstToSucceed<Success: Sendable, Failure: Error>(
  atMost: Int = .max, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
  _ functions: [CallbackFunction<Success, Failure>]
) -> CallbackFunction<Success, FlowError<Failure>> {
  firstPlan(functions.count, atMost, losers, discard).asCallback { functions[$0]($1) }
}

func firstPlan<Success: Sendable, Failure: Error>(
  _ count: Int, _ atMost: Int, _ losers: Losers, _ discard: (@Sendable (Success) -> Void)?
) -> ContestPlan<Success, Failure, Success> {
  ContestPlan(
    "firstToSucceed", .firstToSucceed, .winner, count: count, atMost: atMost, losers: losers, discard: discard)
}
