import HeadgateThreads

/// The failure of the function for an element.
private struct ElementFailure: Sendable {
  let index: Int
  let error: any Error
}

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

  /// Calls a function for each element concurrently. The first failure cancels the rest.
  ///
  /// An element is read when it can start at once, so that memory is bounded by the limit, whatever the length of the
  /// sequence. Otherwise like `mapConcurrently`, without results.
  ///
  /// - Throws: ``FlowError``: `failed` with the first failure to occur and its element's number, `invalidArgument`.
  ///   `CancellationError` if the task was cancelled before the end.
  nonisolated(nonsending)
    public func forEachConcurrently(
      limit: Int, losers: Losers = .join, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws
  {
    let begin = Deadline.now
    guard limit > 0 else { throw FlowError(.invalidArgument, operation: "forEachConcurrently") }
    let body = losers == .join ? body : abandonable(nil, body)
    var elements = makeIterator()
    var (started, running) = (0, 0)
    var isAtEnd = false
    var failure: ElementFailure?
    await withTaskGroup(of: ElementFailure?.self) { group in
      while failure == nil, !Task.isCancelled {
        while !isAtEnd, running < limit {
          guard let element = elements.next() else {
            isAtEnd = true
            break
          }
          let index = started
          group.addTask {
            do {
              // If it is cancelled before it runs, the function is not called.
              try Task.checkCancellation()
              try await body(element)
              return nil
            } catch {
              return ElementFailure(index: index, error: error)
            }
          }
          (started, running) = (started + 1, running + 1)
        }
        guard let end = await group.next() else { break }
        running -= 1
        failure = end
      }
      group.cancelAll()
    }
    if isAtEnd, running == 0, failure == nil { return }
    try Task.checkCancellation()
    guard let failure else { return }
    throw FlowError(
      .failed, failures: [failure.error], inputs: [failure.index], deciding: 0, operation: "forEachConcurrently",
      waited: .now - begin)
  }
}
