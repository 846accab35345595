import HeadgateThreads

extension Sequence where Element: Sendable {
  /// Transforms all elements by a callback function, several at the same time, and blocks the calling thread until all
  /// results are there or one has failed. As the async form; the wait holds the calling thread and no other.
  ///
  /// - Parameters:
  ///   - limit: How many run at a time; 1 or more.
  ///   - losers: What becomes of those that still run at the first failure.
  ///   - deadline: When to give up: what runs is cancelled and abandoned.
  ///   - discard: Gets each result if there is a failure.
  ///   - transform: What is called with each element and a completion for its result.
  /// - Returns: The results, in the order of the elements; none without elements.
  /// - Throws: ``FlowError``: as the async form, and `unanswered`, `timedOut`, `wouldDeadlock`, `onCooperativeThread`.
  @available(*, noasync, message: "blocks the thread; use the form without until")
  public func mapConcurrently<Output: Sendable, Failure: Error>(
    limit: Int, losers: Losers = .join, until deadline: Deadline, discard: (@Sendable (Output) -> Void)? = nil,
    _ transform: @escaping @Sendable (Element, Completion<Output, Failure>) -> Void
  ) throws(FlowError<Failure>) -> [Output] {
    let elements = Array(self)
    return try allPlan(elements.count, limit, losers, discard, name: "mapConcurrently")
      .block(until: deadline) { transform(elements[$0], $1) }
  }

  /// The same as a callback function: it blocks nobody, can be started with
  /// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator. The elements are read here and now.
  ///
  /// - Parameters:
  ///   - limit: How many run at a time; 1 or more, else it fails with `invalidArgument`.
  ///   - losers: What becomes of those that still run at the first failure.
  ///   - discard: Gets each result if there is a failure.
  ///   - transform: What is called with each element and a completion for its result.
  /// - Returns: The callback function, which answers with the results in the order of the elements.
  public func mapConcurrently<Output: Sendable, Failure: Error>(
    limit: Int, losers: Losers = .join, discard: (@Sendable (Output) -> Void)? = nil,
    _ transform: @escaping @Sendable (Element, Completion<Output, Failure>) -> Void
  ) -> CallbackFunction<[Output], FlowError<Failure>> {
    let elements = Array(self)
    return allPlan(elements.count, limit, losers, discard, name: "mapConcurrently")
      .asCallback { transform(elements[$0], $1) }
  }

  /// Does something with each element by a callback function, several at the same time, and blocks the calling thread
  /// until all is done or one has failed. Otherwise as the blocking `mapConcurrently`, without results.
  ///
  /// - Parameters:
  ///   - limit: How many run at a time; 1 or more.
  ///   - losers: What becomes of those that still run at the first failure.
  ///   - deadline: When to give up: what runs is cancelled and abandoned.
  ///   - body: What is called with each element and a completion for its end.
  /// - Throws: ``FlowError``: as the blocking `mapConcurrently`.
  @available(*, noasync, message: "blocks the thread; use the form without until")
  public func forEachConcurrently<Failure: Error>(
    limit: Int, losers: Losers = .join, until deadline: Deadline,
    _ body: @escaping @Sendable (Element, Completion<Void, Failure>) -> Void
  ) throws(FlowError<Failure>) {
    _ = try mapConcurrently(limit: limit, losers: losers, until: deadline, body)
  }

  /// Transforms elements by a callback function, several at the same time, and hands each result over on the calling
  /// thread, which is blocked until the last: in order, or as completed.
  ///
  ///     try urls.mapConcurrently(limit: 8, yielding: .asCompleted, until: limit) { url, completion in
  ///       client.load(url) { page, error in completion(page, error) }
  ///     } taking: { page in
  ///       show(page)
  ///     }
  ///
  /// The sequence is read on the calling thread, and only as far as results are taken: at most `limit` elements are under
  /// way or wait to be handed over, so that a slow `take` slows the source down, and an endless source needs constant
  /// memory. Without elements it returns at once. Transforms that answer inside the call, and a hundred thousand of them,
  /// need the stack of one.
  ///
  /// - Parameters:
  ///   - limit: How many elements are under way, or wait to be handed over, at a time; 1 or more.
  ///   - order: In which order results are handed over.
  ///   - losers: What becomes of those that still run at the first failure, or when the thread is cancelled. The answers of
  ///     joined ones are waited for, but not beyond the deadline.
  ///   - deadline: When to give up: what runs is cancelled and abandoned.
  ///   - discard: Gets each result that is not handed over.
  ///   - transform: What is called with each element and a completion for its result.
  ///   - take: Gets each result, one at a time. What it throws ends everything.
  /// - Throws: ``FlowError``: `failed` with a failure and the number of its element, in its turn, after which nothing more
  ///   is handed over, or with what `take` threw as ``FlowError/underlying``; `unanswered` likewise; `cancelled` (the thread was), `timedOut`, `wouldDeadlock`,
  ///   `onCooperativeThread`, `invalidArgument`.
  @available(*, noasync, message: "blocks the thread; use the form without until")
  public func mapConcurrently<Output: Sendable, Failure: Error>(
    limit: Int, yielding order: ResultOrder, losers: Losers = .join, until deadline: Deadline,
    discard: (@Sendable (Output) -> Void)? = nil,
    _ transform: @escaping @Sendable (Element, Completion<Output, Failure>) -> Void,
    taking take: (Output) throws -> Void
  ) throws(FlowError<Failure>) {
    let map = CallbackMap<Output, Failure>(limit: limit, isOrdered: order == .inOrder, discard: discard)
    guard limit > 0 else { throw map.error(.invalidArgument) }
    guard !WorkerThread.mustNotBlock else { throw map.error(.onCooperativeThread) }
    var iterator = makeIterator()
    do throws(FlowError<Failure>) {
      while let step = try map.next(until: deadline) {
        switch step {
        case .pull:
          if let element = iterator.next() { transform(element, map.start()) } else { map.endSource() }
        case .output(let output):
          do { try take(output) } catch { throw map.error(.failed, underlying: error) }
        }
      }
    } catch {
      map.end(error.code, losers, until: deadline)
      throw error
    }
  }
}
