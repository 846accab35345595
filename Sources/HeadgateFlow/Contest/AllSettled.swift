import HeadgateThreads

/// Runs functions at the same time, and returns how each of them ended, in the order of the functions. No failure cancels
/// another.
///
///     for result in try await allSettled(throwing: CheckError.self, checks) { … }
///
/// They start in their order. An empty array gives an empty array.
///
/// One function is as good as many, and a hundred thousand need the stack of one. Cancelled at whatever step, it starts
/// nothing more, and what runs is cancelled. What ignores that is waited for or not, as `losers` says; what it succeeds with
/// goes to `discard`. An error thrown in a cancel hook goes to the log and stops nothing.
///
/// - Parameters:
///   - failure: What the functions throw, a type of its own. Functions that throw any error go to the form without it.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that run when the task is cancelled: ``Losers/join`` waits for their ends, which are
///     then in the result; ``Losers/abandon`` does not.
///   - discard: Gets each success that is not in the result.
///   - functions: What to run.
/// - Returns: The ends: a success; a failure with the code `failed`; `unanswered` for a callback function that let go of
///   its completion; `cancelled` or `timedOut` for what had not ended, or not begun, when all was ended from outside.
/// - Throws: ``FlowError``: `invalidArgument` only.
nonisolated(nonsending)
  public func allSettled<Success: Sendable, Failure: Error>(
    throwing failure: Failure.Type, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil,
    _ functions: [@Sendable () async throws(Failure) -> Success]
  ) async throws(FlowError<Failure>) -> [Result<Success, FlowError<Failure>>]
{
  try await settledPlan(functions.count, atMost, losers, discard).run(functions)
}

/// Calls callback functions, and blocks the calling thread until all have answered, or until the deadline.
///
/// As the async form; the wait holds the calling thread and no other.
///
/// - Parameters:
///   - atMost: How many run at a time; 1 or more.
///   - losers: What becomes of those that run when the thread is cancelled.
///   - deadline: When to give up: what runs is cancelled and abandoned, and stands in the result as `timedOut`.
///   - discard: Gets each success that is not in the result.
///   - functions: What to call. They may answer inside the call, on any thread, or never.
/// - Returns: The ends, each at the place of its function.
/// - Throws: ``FlowError``: `invalidArgument`, `onCooperativeThread`, `wouldDeadlock` at the start. A function that would
///   deliver on the calling thread itself has `wouldDeadlock` as its end, and so has what was not over then.
@available(*, noasync, message: "blocks the thread; use the form without until")
public func allSettled<Success: Sendable, Failure: Error>(
  atMost: Int = .max, losers: Losers = .join, until deadline: Deadline,
  discard: (@Sendable (Success) -> Void)? = nil, _ functions: [CallbackFunction<Success, Failure>]
) throws(FlowError<Failure>) -> [Result<Success, FlowError<Failure>>] {
  try settledPlan(functions.count, atMost, losers, discard).block(until: deadline) { functions[$0]($1) }
}

/// The same as a callback function: it blocks nobody, can be started with
/// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator.
public func allSettled<Success: Sendable, Failure: Error>(
  atMost: Int = .max, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
  _ functions: [CallbackFunction<Success, Failure>]
) -> CallbackFunction<[Result<Success, FlowError<Failure>>], FlowError<Failure>> {
  settledPlan(functions.count, atMost, losers, discard).asCallback { functions[$0]($1) }
}

func settledPlan<Success: Sendable, Failure: Error>(
  _ count: Int, _ atMost: Int, _ losers: Losers, _ discard: (@Sendable (Success) -> Void)?
) -> ContestPlan<Success, Failure, [Result<Success, FlowError<Failure>>]> {
  ContestPlan("allSettled", .allSettled, .ends, count: count, atMost: atMost, losers: losers, discard: discard)
}
