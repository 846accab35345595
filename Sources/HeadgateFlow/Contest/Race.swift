import HeadgateThreads

/// Runs a function for several inputs concurrently: the first one to end decides, by its success or its failure, and
/// the rest is cancelled.
///
/// Otherwise like `allSucceed`.
///
/// - Parameters:
///   - inputs: The inputs.
///   - atMost: How many run at a time; 1 or more. With 1, only the first input's function ever runs.
///   - losers: What happens to those still running when the first one ends, or when the task is cancelled.
///   - discard: Receives each success that is not the result.
///   - function: The function to run.
/// - Returns: The value of the first function to end.
/// - Throws: ``FlowError``: `failed` with the error of the first function to end, `noInput`, `invalidArgument`.
///   `CancellationError` if the task was cancelled.
nonisolated(nonsending)
  public func race<Input: Sendable, Success: Sendable>(
    _ inputs: some Sequence<Input>, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil, _ function: @escaping @Sendable (Input) async throws -> Success
  ) async throws -> Success
{
  try await ContestPlan(name: "race", atMost: atMost, losers: losers, discard: discard) { _ in true }
    .run(Array(inputs), needed: 1, function).winner(or: .failed)
}

/// Runs several functions concurrently: the first one to end decides, and the rest is cancelled.
///
///     let answer = try await race({ try await ask() }, { try await guess() })
///
/// Otherwise like the form for inputs.
nonisolated(nonsending)
  public func race<Success: Sendable>(
    _ functions: (@Sendable () async throws -> Success)..., atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil
  ) async throws -> Success
{
  try await race(functions, atMost: atMost, losers: losers, discard: discard) { try await $0() }
}
