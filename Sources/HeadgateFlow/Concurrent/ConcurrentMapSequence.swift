import HeadgateThreads

/// In which order results are given.
public struct ResultOrder: Hashable, Sendable, CustomStringConvertible {
  /// Its name.
  public let description: String

  private init(_ name: String) { description = name }

  /// In the order of the elements: a slow one holds back those behind it.
  public static let inOrder = ResultOrder("in order")

  /// In the order in which they are there.
  public static let asCompleted = ResultOrder("as completed")
}

/// The results of a transform that runs for several elements at the same time, as they are asked for.
///
/// Made by `mapConcurrently(limit:yielding:)`. Each iteration runs the transforms anew. Nothing runs before the first
/// `next`; from there on at most `limit` elements are under way or wait to be taken, so that a slow taker slows the
/// source down. When the iterator is let go of, or its task is cancelled, all is cancelled; what ignores that goes on and
/// counts in ``Losers/abandonedCount``. Results that nobody takes go to `discard`. Without elements there are no results; a
/// hundred thousand elements, or endless ones, need no more memory than `limit` of them.
///
/// Throws ``FlowError``: `failed` with the failure of a transform, in its turn, after which there is nothing more;
/// `sourceFailed` after the results of all elements that came before; `cancelled`.
public struct ConcurrentMapSequence<Base: AsyncSequence & Sendable, Output: Sendable, TransformFailure: Error>:
  AsyncSequence, Sendable
where Base.Element: Sendable {
  /// What a transform returns.
  public typealias Element = Output
  /// What ends the iteration.
  public typealias Failure = FlowError<TransformFailure>

  let base: Base
  let limit: Int
  let order: ResultOrder
  let discard: (@Sendable (Output) -> Void)?
  let transform: @Sendable (Base.Element) async throws(TransformFailure) -> Output

  /// An iterator; nothing runs before its first `next`.
  public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

  /// Takes the results one after another.
  public struct Iterator: AsyncIteratorProtocol {
    private let sequence: ConcurrentMapSequence
    private var run: ConcurrentMapRun<Output, TransformFailure>?
    private var hasFailed = false

    init(sequence: ConcurrentMapSequence) { self.sequence = sequence }

    /// The next result; nil after the last, and after an error.
    public mutating func next() async throws(FlowError<TransformFailure>) -> Output? {
      try await next(isolation: nil)
    }

    /// The next result, under the caller's isolation.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(FlowError<TransformFailure>) -> Output? {
      guard sequence.limit > 0 else {
        defer { hasFailed = true }
        if hasFailed { return nil }
        throw FlowError(.invalidArgument, operation: "mapConcurrently")
      }
      let run = self.run ?? ConcurrentMapRun(sequence)
      self.run = run
      return try await run.map.next("mapConcurrently")?.output
    }
  }
}

/// The task of one iteration, which ends with the iterator.
private final class ConcurrentMapRun<Output: Sendable, Failure: Error>: Sendable {
  let map: ConcurrentMap<Output, Failure>
  private let task: Task<Void, Never>

  init<Base>(_ sequence: ConcurrentMapSequence<Base, Output, Failure>) {
    let map = ConcurrentMap<Output, Failure>(
      limit: sequence.limit, isOrdered: sequence.order == .inOrder, discard: sequence.discard)
    self.map = map
    task = Task { await map.pull(sequence.base, sequence.transform) }
  }

  deinit {
    task.cancel()
    map.abandon()
  }
}

/// A sequence as an asynchronous one.
public struct AsyncElements<Base: Sequence & Sendable>: AsyncSequence, Sendable where Base.Element: Sendable {
  let base: Base

  /// An iterator from the start.
  public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeIterator()) }

  /// Gives the elements; never suspends.
  public struct Iterator: AsyncIteratorProtocol {
    var base: Base.Iterator

    /// The next element.
    public mutating func next() async -> Base.Element? { base.next() }
  }
}

extension Sequence where Self: Sendable, Element: Sendable {
  /// The results of a transform that runs for several elements at the same time, as an asynchronous sequence.
  ///
  ///     for try await page in urls.mapConcurrently(limit: 8, yielding: .asCompleted, { try await client.page($0) }) { … }
  ///
  /// - Parameters:
  ///   - limit: How many elements are under way, or wait to be taken, at a time; 1 or more (else the first `next` throws).
  ///   - order: In which order results are given.
  ///   - discard: Gets each result that nobody takes any more.
  ///   - transform: What is done with each element.
  /// - Returns: The sequence. The source is read only as far as the results are asked for.
  public func mapConcurrently<Output: Sendable, Failure: Error>(
    limit: Int, yielding order: ResultOrder, discard: (@Sendable (Output) -> Void)? = nil,
    _ transform: @escaping @Sendable (Element) async throws(Failure) -> Output
  ) -> ConcurrentMapSequence<AsyncElements<Self>, Output, Failure> {
    ConcurrentMapSequence(
      base: AsyncElements(base: self), limit: limit, order: order, discard: discard, transform: transform)
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// The results of a transform that runs for several elements at the same time. As the form for sequences; the source
  /// is iterated in a task of its own.
  public func mapConcurrently<Output: Sendable, TransformFailure: Error>(
    limit: Int, yielding order: ResultOrder, discard: (@Sendable (Output) -> Void)? = nil,
    _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
  ) -> ConcurrentMapSequence<Self, Output, TransformFailure> {
    ConcurrentMapSequence(base: self, limit: limit, order: order, discard: discard, transform: transform)
  }

  /// Transforms all elements, several at the same time, and returns the results in the order of the elements; the first
  /// failure, of a transform or of the source, cancels the rest and the source.
  ///
  /// Structured: source and transforms run in child tasks, which have ended when this returns.
  ///
  /// - Parameters:
  ///   - limit: How many run at a time; 1 or more. The source is asked for an element only when there is room.
  ///   - discard: Gets each result if there is a failure.
  ///   - transform: What is done with each element.
  /// - Returns: The results.
  /// - Throws: ``FlowError``: `failed` with the first failure in time and the number of its element, `sourceFailed`,
  ///   `cancelled`, `invalidArgument`.
  nonisolated(nonsending)
    public func mapConcurrently<Output: Sendable, TransformFailure: Error>(
      limit: Int, discard: (@Sendable (Output) -> Void)? = nil,
      _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output
    ) async throws(FlowError<TransformFailure>) -> [Output]
  {
    var outputs: [Output?] = []
    do throws(FlowError<TransformFailure>) {
      try await eachConcurrently(limit, discard, transform) { index, output in
        while outputs.count <= index { outputs.append(nil) }
        outputs[index] = output
      }
    } catch {
      if let discard { for case let output? in outputs { discard(output) } }
      throw error
    }
    return outputs.compactMap { $0 }
  }

  /// Does something with each element, several at the same time; the first failure cancels the rest and the source.
  /// Structured, as `mapConcurrently`, without results.
  nonisolated(nonsending)
    public func forEachConcurrently<BodyFailure: Error>(
      limit: Int, _ body: @escaping @Sendable (Element) async throws(BodyFailure) -> Void
    ) async throws(FlowError<BodyFailure>)
  {
    try await eachConcurrently(limit, nil, body) { _, _ in }
  }

  nonisolated(nonsending)
    private func eachConcurrently<Output: Sendable, TransformFailure: Error>(
      _ limit: Int, _ discard: (@Sendable (Output) -> Void)?,
      _ transform: @escaping @Sendable (Element) async throws(TransformFailure) -> Output, _ take: (Int, Output) -> Void
    ) async throws(FlowError<TransformFailure>)
  {
    guard limit > 0 else { throw FlowError(.invalidArgument, operation: "mapConcurrently") }
    // As completed, so that a failure is seen at once.
    let map = ConcurrentMap<Output, TransformFailure>(limit: limit, isOrdered: false, discard: discard)
    let error = await withTaskGroup(of: Void.self) { group -> FlowError<TransformFailure>? in
      group.addTask { await map.pull(self, transform) }
      do throws(FlowError<TransformFailure>) {
        while let (index, output) = try await map.next("mapConcurrently") { take(index, output) }
        return nil
      } catch {
        map.stop()
        group.cancelAll()
        return error
      }
    }
    if let error { throw error }
  }
}
