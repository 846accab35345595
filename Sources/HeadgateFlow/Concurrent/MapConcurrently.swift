import HeadgateThreads

extension Sequence where Element: Sendable {
  /// Transforms all elements concurrently and returns the results in the order of the elements. The first failure
  /// cancels the rest.
  ///
  ///     let pages = try await urls.mapConcurrently(limit: 8) { url in try await client.page(url) }
  ///
  /// Like `allSucceed`, with a mandatory limit.
  ///
  /// - Parameters:
  ///   - limit: How many run at a time; 1 or more.
  ///   - losers: What happens to those still running at the first failure, or when the task is cancelled.
  ///   - discard: Receives each result if there is a failure, for example to close or destroy it.
  ///   - transform: The function to apply to each element.
  /// - Returns: The results.
  /// - Throws: ``FlowError``: `failed` with the first failure to occur and its element's number, `invalidArgument`.
  ///   `CancellationError` if the task was cancelled.
  nonisolated(nonsending)
    public func mapConcurrently<Output: Sendable>(
      limit: Int, losers: Losers = .join, discard: (@Sendable (Output) -> Void)? = nil,
      _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output]
  {
    let elements = Array(self)
    return try await ContestPlan(name: "mapConcurrently", atMost: limit, losers: losers, discard: discard)
      .run(elements, needed: elements.count, transform).winners(or: .failed)
  }

  /// Calls a function for each element concurrently. The first failure cancels the rest. Otherwise like
  /// `mapConcurrently`, without results.
  nonisolated(nonsending)
    public func forEachConcurrently(
      limit: Int, losers: Losers = .join, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws
  {
    _ = try await mapConcurrently(limit: limit, losers: losers, body)
  }
}
