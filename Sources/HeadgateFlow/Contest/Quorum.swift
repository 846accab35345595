import HeadgateThreads

/// Runs a function for several inputs concurrently until the needed number has succeeded; the rest is cancelled. It
/// fails as soon as too few remain that can still succeed.
///
///     let votes = try await quorum(2, of: replicas) { replica in try await replica.vote() }
///
/// Otherwise like `allSucceed`.
///
/// - Parameters:
///   - needed: How many successes are needed, from 0 to the number of inputs. With 0, nothing runs and the result is
///     empty.
///   - inputs: The inputs.
///   - atMost: How many run at a time; 1 or more.
///   - losers: What happens to those still running at the decision, or when the task is cancelled.
///   - discard: Receives each success that is not in the result.
///   - function: The function to run.
/// - Returns: The first `needed` successes to occur, in the order of the inputs.
/// - Throws: ``FlowError``: `quorumMissed` with the failures so far, `noInput`, `invalidArgument`, including if more
///   successes are needed than there are inputs. `CancellationError` if the task was cancelled.
nonisolated(nonsending)
  public func quorum<Input: Sendable, Success: Sendable>(
    _ needed: Int, of inputs: some Sequence<Input>, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil, _ function: @escaping @Sendable (Input) async throws -> Success
  ) async throws -> [Success]
{
  try await ContestPlan(name: "quorum", atMost: atMost, losers: losers, discard: discard)
    .run(Array(inputs), needed: needed, function).winners(or: .quorumMissed)
}
