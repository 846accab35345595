import HeadgateThreads

/// Runs functions at the same time until so many have succeeded; the rest is cancelled. It fails as soon as too few are
/// left that can still succeed.
///
///     let votes = try await quorum(throwing: VoteError.self, 2, of: [first, second, third])
///
/// They start in their order.
///
/// One function is as good as many, and a hundred thousand need the stack of one. Cancelled at whatever step, it starts
/// nothing more, and what runs is cancelled. What ignores that is waited for or not, as `losers` says; what it succeeds with
/// goes to `discard`. An error thrown in a cancel hook goes to the log and stops nothing.
///
/// - Parameters:
///   - failure: What the functions throw, a type of its own. Functions that throw any error go to the form without it.
///   - needed: How many successes are needed: from 0, which gives an empty array and runs nothing, to the number of
///     functions.
///   - functions: What to run.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that still run when it is decided, or when the task is cancelled.
///   - discard: Gets each success that is not in the result.
/// - Returns: The first `needed` successes in time, in the order of the functions.
/// - Throws: ``FlowError``: `quorumMissed` with the failures so far, `cancelled` (the task was), `invalidArgument`, also
///   when more are needed than there are.
nonisolated(nonsending)
  public func quorum<Success: Sendable, Failure: Error>(
    throwing failure: Failure.Type, _ needed: Int, of functions: [@Sendable () async throws(Failure) -> Success],
    atMost: Int = .max,
    losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil
  ) async throws(FlowError<Failure>) -> [Success]
{
  try await quorumPlan(needed, functions.count, atMost, losers, discard).run(functions)
}

/// Calls callback functions, and blocks the calling thread until so many have succeeded, or can't any more.
///
/// As the async form; the wait holds the calling thread and no other.
///
/// - Parameters:
///   - needed: How many successes are needed: 0 to the number of functions.
///   - functions: What to call. They may answer inside the call, on any thread, or never.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that still run when it is decided.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - discard: Gets each success that is not in the result.
/// - Returns: The first `needed` successes in time, in the order of the functions.
/// - Throws: ``FlowError``: as the async form, and `timedOut`, `wouldDeadlock`, `onCooperativeThread`. A function that
///   lets go of its completion counts as failed.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func quorum<Success: Sendable, Failure: Error>(
  _ needed: Int, of functions: [CallbackFunction<Success, Failure>], atMost: Int = .max, losers: Losers = .join,
  until deadline: Deadline, discard: (@Sendable (Success) -> Void)? = nil
) throws(FlowError<Failure>) -> [Success] {
  try quorumPlan(needed, functions.count, atMost, losers, discard).block(until: deadline) { functions[$0]($1) }
}

/// The same as a callback function: it blocks nobody, can be started with
/// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator.
public func quorum<Success: Sendable, Failure: Error>(
  _ needed: Int, of functions: [CallbackFunction<Success, Failure>], atMost: Int = .max, losers: Losers = .join,
  discard: (@Sendable (Success) -> Void)? = nil
) -> CallbackFunction<[Success], FlowError<Failure>> {
  quorumPlan(needed, functions.count, atMost, losers, discard).asCallback { functions[$0]($1) }
}

func quorumPlan<Success: Sendable, Failure: Error>(
  _ needed: Int, _ count: Int, _ atMost: Int, _ losers: Losers, _ discard: (@Sendable (Success) -> Void)?
) -> ContestPlan<Success, Failure, [Success]> {
  ContestPlan("quorum", .quorum(needed), .values, count: count, atMost: atMost, losers: losers, discard: discard)
}
