import HeadgateThreads

/// Runs functions at the same time; the first to end decides, be it by a success or by a failure, and the rest is
/// cancelled.
///
/// They start in their order. An empty array throws `noInput`.
///
/// One function is as good as many, and a hundred thousand need the stack of one. Cancelled at whatever step, it starts
/// nothing more, and what runs is cancelled. What ignores that is waited for or not, as `losers` says; what it succeeds with
/// goes to `discard`. An error thrown in a cancel hook goes to the log and stops nothing.
///
/// - Parameters:
///   - failure: What the functions throw, a type of its own. Functions that throw any error go to the form without it.
///   - atMost: How many run at a time; 1 or more. With 1 only the first function ever runs.
///   - losers: What becomes of those that still run at the first end, or when the task is cancelled.
///   - discard: Gets each success that is not the result.
///   - functions: What to run.
/// - Returns: What the first to end returned.
/// - Throws: ``FlowError``: `failed` with what the first to end threw, `cancelled` (the task was), `noInput`,
///   `invalidArgument`.
nonisolated(nonsending)
  public func race<Success: Sendable, Failure: Error>(
    throwing failure: Failure.Type, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil,
    _ functions: [@Sendable () async throws(Failure) -> Success]
  ) async throws(FlowError<Failure>) -> Success
{
  try await racePlan(functions.count, atMost, losers, discard).run(functions)
}

/// Calls callback functions, and blocks the calling thread until the first has answered.
///
/// As the async form; the wait holds the calling thread and no other.
///
/// - Parameters:
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that still run at the first end.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - discard: Gets each success that is not the result.
///   - functions: What to call. They may answer inside the call, on any thread, or never.
/// - Returns: What the first to answer succeeded with.
/// - Throws: ``FlowError``: as the async form, and `unanswered` (the first to end let go of its completion), `timedOut`,
///   `wouldDeadlock`, `onCooperativeThread`.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func race<Success: Sendable, Failure: Error>(
  atMost: Int = .max, losers: Losers = .join, until deadline: Deadline,
  discard: (@Sendable (Success) -> Void)? = nil, _ functions: [CallbackFunction<Success, Failure>]
) throws(FlowError<Failure>) -> Success {
  try racePlan(functions.count, atMost, losers, discard).block(until: deadline) { functions[$0]($1) }
}

/// The same as a callback function: it blocks nobody, can be started with
/// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator.
public func race<Success: Sendable, Failure: Error>(
  atMost: Int = .max, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
  _ functions: [CallbackFunction<Success, Failure>]
) -> CallbackFunction<Success, FlowError<Failure>> {
  racePlan(functions.count, atMost, losers, discard).asCallback { functions[$0]($1) }
}

func racePlan<Success: Sendable, Failure: Error>(
  _ count: Int, _ atMost: Int, _ losers: Losers, _ discard: (@Sendable (Success) -> Void)?
) -> ContestPlan<Success, Failure, Success> {
  ContestPlan("race", .race, .winner, count: count, atMost: atMost, losers: losers, discard: discard)
}
