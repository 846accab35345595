import HeadgateThreads

/// Runs a function for several inputs concurrently: the first success is the result, and the rest is cancelled.
///
///     let page = try await firstToSucceed(mirrors) { mirror in try await mirror.page() }
///
/// Otherwise like `allSucceed`.
///
/// - Parameters:
///   - inputs: The inputs.
///   - atMost: How many run at a time; 1 or more. With 1, the next is tried after one has failed.
///   - losers: What happens to those still running at the first success, or when the task is cancelled.
///   - discard: Receives each success that is not the result, for example to close or destroy it.
///   - function: The function to run.
/// - Returns: The first success, even if it arrives while the task is being cancelled.
/// - Throws: ``FlowError``: `allFailed` with all failures in the order of the inputs, `noInput`, `invalidArgument`.
///   `CancellationError` if the task was cancelled.
nonisolated(nonsending)
  public func firstToSucceed<Input: Sendable, Success: Sendable>(
    _ inputs: some Sequence<Input>, atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil, _ function: @escaping @Sendable (Input) async throws -> Success
  ) async throws -> Success
{
  let outcome = try await ContestPlan(name: "firstToSucceed", atMost: atMost, losers: losers, discard: discard)
    .run(Array(inputs), needed: 1, function)
  if case .lost = outcome.verdict { throw outcome.error(.allFailed) }
  return try outcome.winner(or: .allFailed)
}

/// Runs several functions concurrently: the first success is the result, and the rest is cancelled.
///
///     let page = try await firstToSucceed({ try await cache.page() }, { try await client.page() })
///
/// Otherwise like the form for inputs.
nonisolated(nonsending)
  public func firstToSucceed<Success: Sendable>(
    _ functions: (@Sendable () async throws -> Success)..., atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil
  ) async throws -> Success
{
  try await firstToSucceed(functions, atMost: atMost, losers: losers, discard: discard) { try await $0() }
}
