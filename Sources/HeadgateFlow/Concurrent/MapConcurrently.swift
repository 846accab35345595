import HeadgateThreads

extension Sequence where Element: Sendable {
  /// Transforms all elements, several at the same time, and returns the results in the order of the elements; the first
  /// failure cancels the rest.
  ///
  ///     let pages = try await urls.mapConcurrently(limit: 8) { url in try await client.page(url) }
  ///
  /// The transforms start in the order of the elements. Without elements the result is empty.
  ///
  /// One element is as good as many, and a hundred thousand need the stack of one. Cancelled at whatever step, it starts
  /// nothing more, and what runs is cancelled. What ignores that is waited for or not, as `losers` says; what it succeeds
  /// with goes to `discard`. An error thrown in a cancel hook goes to the log and stops nothing.
  ///
  /// - Parameters:
  ///   - limit: How many run at a time; 1 or more.
  ///   - losers: What becomes of those that still run at the first failure, or when the task is cancelled.
  ///   - discard: Gets each result if there is a failure, if it has to be closed or destroyed.
  ///   - transform: What is done with each element.
  /// - Returns: The results.
  /// - Throws: ``FlowError``: `failed` with the first failure in time and the number of its element, `cancelled`,
  ///   `invalidArgument`.
  nonisolated(nonsending)
    public func mapConcurrently<Output: Sendable, Failure: Error>(
      limit: Int, losers: Losers = .join, discard: (@Sendable (Output) -> Void)? = nil,
      _ transform: @escaping @Sendable (Element) async throws(Failure) -> Output
    ) async throws(FlowError<Failure>) -> [Output]
  {
    let elements = Array(self)
    return try await allPlan(elements.count, limit, losers, discard, name: "mapConcurrently")
      .run { index async throws(Failure) in try await transform(elements[index]) }
  }

  /// Does something with each element, several at the same time; the first failure cancels the rest. Otherwise as
  /// `mapConcurrently`, without results.
  nonisolated(nonsending)
    public func forEachConcurrently<Failure: Error>(
      limit: Int, losers: Losers = .join, _ body: @escaping @Sendable (Element) async throws(Failure) -> Void
    ) async throws(FlowError<Failure>)
  {
    _ = try await mapConcurrently(limit: limit, losers: losers, body)
  }
}
