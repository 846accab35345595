// The async forms for functions that throw any error, which is what closures throw unless their type is written out.
//
// Rejected: one generic form for all errors. A fault of Swift 6.3.1 stands behind this: a function that throws any error
// is kept in an array with its error returned directly, and generic code, for which the error's type is known at run time
// only, looks for the error in memory and reads what is not there. With forms of the same name and arguments most calls
// would be ambiguous; so those for one type of error name it: `allSucceed(throwing: MyError.self, loads)`.

/// Runs functions at the same time, and returns all their results in the order of the functions; the first failure
/// cancels the rest. As `allSucceed(throwing:)`, for functions that throw any error.
///
///     let pages = try await allSucceed(urls.map { url in { @Sendable in try await client.page(url) } })
nonisolated(nonsending)
  public func allSucceed<Success: Sendable>(
    atMost: Int = .max, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
    _ functions: [@Sendable () async throws -> Success]
  ) async throws(FlowError<any Error>) -> [Success]
{
  try await allPlan(functions.count, atMost, losers, discard).run(functions)
}

/// Runs functions at the same time, and returns how each of them has ended. As `allSettled(throwing:)`, for functions that
/// throw any error.
///
///     for result in try await allSettled(checks) { … }
nonisolated(nonsending)
  public func allSettled<Success: Sendable>(
    atMost: Int = .max, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
    _ functions: [@Sendable () async throws -> Success]
  ) async throws(FlowError<any Error>) -> [Result<Success, FlowError<any Error>>]
{
  try await settledPlan(functions.count, atMost, losers, discard).run(functions)
}

/// Runs functions at the same time, and returns the first success; the rest are cancelled. As `firstToSucceed(throwing:)`,
/// for functions that throw any error.
///
///     let page = try await firstToSucceed([
///       { @Sendable in try await first.page() }, { @Sendable in try await second.page() },
///     ])
nonisolated(nonsending)
  public func firstToSucceed<Success: Sendable>(
    atMost: Int = .max, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
    _ functions: [@Sendable () async throws -> Success]
  ) async throws(FlowError<any Error>) -> Success
{
  try await firstPlan(functions.count, atMost, losers, discard).run(functions)
}

/// Runs functions at the same time, and returns what the first to end brings. As `race(throwing:)`, for functions that
/// throw any error.
nonisolated(nonsending)
  public func race<Success: Sendable>(
    atMost: Int = .max, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
    _ functions: [@Sendable () async throws -> Success]
  ) async throws(FlowError<any Error>) -> Success
{
  try await racePlan(functions.count, atMost, losers, discard).run(functions)
}

/// Runs functions at the same time, and returns so many successes. As `quorum(throwing:)`, for functions that throw any
/// error.
nonisolated(nonsending)
  public func quorum<Success: Sendable>(
    _ needed: Int, of functions: [@Sendable () async throws -> Success], atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil
  ) async throws(FlowError<any Error>) -> [Success]
{
  try await quorumPlan(needed, functions.count, atMost, losers, discard).run(functions)
}

/// Runs functions at the same time, and returns the first success that is what was looked for. As
/// `firstMatching(throwing:)`, for functions that throw any error.
nonisolated(nonsending)
  public func firstMatching<Success: Sendable>(
    _ functions: [@Sendable () async throws -> Success], atMost: Int = .max, losers: Losers = .join,
    discard: (@Sendable (Success) -> Void)? = nil, _ predicate: @escaping @Sendable (Success) -> Bool
  ) async throws(FlowError<any Error>) -> Success
{
  try await matchPlan(functions.count, atMost, losers, discard, predicate).run(functions)
}
