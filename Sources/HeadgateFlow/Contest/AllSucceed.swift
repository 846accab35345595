import HeadgateThreads

/// Runs functions at the same time, and returns all their results in the order of the functions; the first failure
/// cancels the rest.
///
///     let pages = try await allSucceed(throwing: LoadError.self, loads)
///
/// They start in their order. An empty array gives an empty array. O(1) for each start and end, and O(n) memory.
///
/// One function is as good as many, and a hundred thousand need the stack of one. Cancelled at whatever step, it starts
/// nothing more, and what runs is cancelled. What ignores that is waited for or not, as `losers` says; what it succeeds with
/// goes to `discard`. An error thrown in a cancel hook goes to the log and stops nothing.
///
/// - Parameters:
///   - failure: What the functions throw, a type of its own. Functions that throw any error go to the form without it.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that still run at the first failure, or when the task is cancelled.
///   - discard: Gets each success if there is no result, also one that was there before the failure.
///   - functions: What to run.
/// - Returns: The results, each at the place of its function.
/// - Throws: ``FlowError``: `failed` with the first failure in time (see ``FlowError/inputs`` for whose it is),
///   `cancelled` (the task was), `invalidArgument`.
nonisolated(nonsending)
  public func allSucceed<Success: Sendable, Failure: Error>(
    throwing failure: Failure.Type, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil,
    _ functions: [@Sendable () async throws(Failure) -> Success]
  ) async throws(FlowError<Failure>) -> [Success]
{
  try await allPlan(functions.count, atMost, losers, discard).run(functions)
}

/// Calls callback functions, and blocks the calling thread until all have succeeded or one has failed.
///
/// As the async form; the wait holds the calling thread and no other. ``Losers/join`` waits for the answers of those that
/// were cancelled, but not beyond the deadline.
///
/// - Parameters:
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that still run when one has failed.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - discard: Gets each success if there is no result.
///   - functions: What to call. They may answer inside the call, on any thread, or never.
/// - Returns: The results, each at the place of its function.
/// - Throws: ``FlowError``: as the async form, and `unanswered`, `timedOut`, `wouldDeadlock`, `onCooperativeThread`.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func allSucceed<Success: Sendable, Failure: Error>(
  atMost: Int = .max, losers: Losers = .join, until deadline: Deadline,
  discard: (@Sendable (Success) -> Void)? = nil, _ functions: [CallbackFunction<Success, Failure>]
) throws(FlowError<Failure>) -> [Success] {
  try allPlan(functions.count, atMost, losers, discard).block(until: deadline) { functions[$0]($1) }
}

/// The same as a callback function: it blocks nobody, can be started with
/// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator.
public func allSucceed<Success: Sendable, Failure: Error>(
  atMost: Int = .max, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
  _ functions: [CallbackFunction<Success, Failure>]
) -> CallbackFunction<[Success], FlowError<Failure>> {
  allPlan(functions.count, atMost, losers, discard).asCallback { functions[$0]($1) }
}

func allPlan<Success: Sendable, Failure: Error>(
  _ count: Int, _ atMost: Int, _ losers: Losers, _ discard: (@Sendable (Success) -> Void)?,
  name: String = "allSucceed"
) -> ContestPlan<Success, Failure, [Success]> {
  ContestPlan(name, .allSucceed, .values, count: count, atMost: atMost, losers: losers, discard: discard)
}
