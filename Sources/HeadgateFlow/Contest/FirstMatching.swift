import HeadgateThreads

/// Runs functions at the same time; the first success that matches is the result, and the rest is cancelled. If none
/// matches, the last to end decides: its success is the result all the same, or its failure is thrown.
///
///     let reply = try await firstMatching(throwing: AskError.self, asks, { $0.isComplete })
///
/// They start in their order. An empty array throws `noInput`.
///
/// One function is as good as many, and a hundred thousand need the stack of one. Cancelled at whatever step, it starts
/// nothing more, and what runs is cancelled. What ignores that is waited for or not, as `losers` says; what it succeeds with
/// goes to `discard`. An error thrown in a cancel hook goes to the log and stops nothing.
///
/// - Parameters:
///   - failure: What the functions throw, a type of its own. Functions that throw any error go to the form without it.
///   - functions: What to run.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that still run when one matches, or when the task is cancelled.
///   - discard: Gets each success that is not the result, also those that did not match.
///   - predicate: Whether a success is what is looked for. It is asked about each success once, with no lock held, in the
///     task that brought it; so perhaps about several at the same time.
/// - Returns: The first success that matches, or that of the last to end.
/// - Throws: ``FlowError``: `failed` with the failure of the last to end, and all others; `cancelled` (the task was),
///   `noInput`, `invalidArgument`.
nonisolated(nonsending)
  public func firstMatching<Success: Sendable, Failure: Error>(
    throwing failure: Failure.Type, _ functions: [@Sendable () async throws(Failure) -> Success], atMost: Int = .max,
    losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil, _ predicate: @escaping @Sendable (Success) -> Bool
  ) async throws(FlowError<Failure>) -> Success
{
  try await matchPlan(functions.count, atMost, losers, discard, predicate).run(functions)
}

/// Calls callback functions, and blocks the calling thread until a success matches, or until the last has answered.
///
/// As the async form; the wait holds the calling thread and no other.
///
/// - Parameters:
///   - functions: What to call. They may answer inside the call, on any thread, or never.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that still run when one matches.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - discard: Gets each success that is not the result.
///   - predicate: Whether a success is what is looked for; asked on the thread that answers.
/// - Returns: The first success that matches, or that of the last to end.
/// - Throws: ``FlowError``: as the async form, and `unanswered`, `timedOut`, `wouldDeadlock`, `onCooperativeThread`.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func firstMatching<Success: Sendable, Failure: Error>(
  _ functions: [CallbackFunction<Success, Failure>], atMost: Int = .max, losers: Losers = .join,
  until deadline: Deadline, discard: (@Sendable (Success) -> Void)? = nil,
  _ predicate: @escaping @Sendable (Success) -> Bool
) throws(FlowError<Failure>) -> Success {
  try matchPlan(functions.count, atMost, losers, discard, predicate).block(until: deadline) { functions[$0]($1) }
}

/// The same as a callback function: it blocks nobody, can be started with
/// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator.
public func firstMatching<Success: Sendable, Failure: Error>(
  _ functions: [CallbackFunction<Success, Failure>], atMost: Int = .max, losers: Losers = .join,
  discard: (@Sendable (Success) -> Void)? = nil, _ predicate: @escaping @Sendable (Success) -> Bool
) -> CallbackFunction<Success, FlowError<Failure>> {
  matchPlan(functions.count, atMost, losers, discard, predicate).asCallback { functions[$0]($1) }
}

func matchPlan<Success: Sendable, Failure: Error>(
  _ count: Int, _ atMost: Int, _ losers: Losers, _ discard: (@Sendable (Success) -> Void)?,
  _ predicate: @escaping @Sendable (Success) -> Bool
) -> ContestPlan<Success, Failure, Success> {
  ContestPlan(
    "firstMatching", .firstMatching, .winner, count: count, atMost: atMost, losers: losers, matches: predicate,
    discard: discard)
}
