import HeadgateThreads

/// Runs a function for several inputs concurrently: the first success that matches is the result, and the rest is
/// cancelled. If none matches, the last function to end decides: its success is the result, or its failure is thrown.
///
///     let reply = try await firstMatching(servers, where: { $0.isComplete }) { server in try await server.ask() }
///
/// Otherwise like `allSucceed`.
///
/// - Parameters:
///   - inputs: The inputs.
///   - predicate: Whether a success matches. It is called once for each success, without a lock, in the task that
///     produced it, and so possibly for several concurrently.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What happens to those still running when one matches, or when the task is cancelled.
///   - discard: Receives each success that is not the result, including those that did not match.
///   - function: The function to run.
/// - Returns: The first success that matches, or that of the last function to end.
/// - Throws: ``FlowError``: `failed` with the failure of the last function to end, and all others; `noInput`,
///   `invalidArgument`. `CancellationError` if the task was cancelled.
nonisolated(nonsending)
  public func firstMatching<Input: Sendable, Success: Sendable>(
    _ inputs: some Sequence<Input>, where predicate: @escaping @Sendable (Success) -> Bool, atMost: Int = .max,
    losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
    _ function: @escaping @Sendable (Input) async throws -> Success
  ) async throws -> Success
{
  let plan = ContestPlan(name: "firstMatching", atMost: atMost, losers: losers, discard: discard) { end in
    if case .success(let value) = end { predicate(value) } else { false }
  }
  let outcome = try await plan.run(Array(inputs), needed: 1, function)
  // A success that does not match is kept only for the last function to end.
  return try outcome.successes.first ?? outcome.winner(or: .failed)
}
