import HeadgateThreads

/// The order in which results are returned.
@nonexhaustive
public enum ResultOrder: Sendable {
  /// In the order of the elements: a slow one delays those behind it.
  case inOrder

  /// In the order in which they complete.
  case asCompleted
}

/// The results of a transform that runs for several elements concurrently, produced on demand.
///
/// Created by `mapConcurrently(limit:yielding:)`. Each iteration runs the transforms again. Nothing runs before the
/// first `next`. From then on at most `limit` elements are running or waiting to be taken, so a slow consumer slows
/// down the source (back-pressure). When the iterator is released, or is asked for the next result in a cancelled task,
/// everything is cancelled; work that ignores the cancellation continues and counts in ``Losers/abandonedCount``. Results that come too late are
/// passed to `discard`. Memory is bounded by `limit` elements, even for an endless source.
///
/// Throws ``FlowError``: `failed` with a transform's error, when its turn comes, which ends the sequence;
/// `sourceFailed` after the results of all earlier elements. `CancellationError` if the task was cancelled.
public struct ConcurrentMapSequence<Output: Sendable>: AsyncSequence, Sendable {
  /// The result type of the transform.
  public typealias Element = Output
  /// The error type of the iteration.
  public typealias Failure = any Error

  let limit: Int
  let order: ResultOrder
  let discard: (@Sendable (Output) -> Void)?
  /// Reads the source and runs the transforms of one iteration.
  let pull: @Sendable (ConcurrentMap<Output>) async -> Void

  /// Creates an iterator; nothing runs before its first `next`.
  public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

  /// Takes the results one after another.
  public struct Iterator: AsyncIteratorProtocol {
    private let sequence: ConcurrentMapSequence
    private var run: ConcurrentMapRun<Output>?
    private var isOver = false

    init(sequence: ConcurrentMapSequence) { self.sequence = sequence }

    /// The next result; nil after the last, and after an error.
    public mutating func next() async throws -> Output? {
      try await next(isolation: nil)
    }

    /// The next result, under the caller's isolation.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Output? {
      guard !isOver else { return nil }
      do {
        guard sequence.limit > 0 else { throw FlowError(.invalidArgument, operation: "mapConcurrently") }
        let run = self.run ?? ConcurrentMapRun(sequence)
        self.run = run
        return try await run.map.next()?.output
      } catch {
        // Releases the run, so that the rest is cancelled even if the iterator is kept.
        (run, isOver) = (nil, true)
        throw error
      }
    }
  }
}

/// The task of one iteration, which ends with the iterator.
private final class ConcurrentMapRun<Output: Sendable>: Sendable {
  let map: ConcurrentMap<Output>
  private let task: Task<Void, Never>

  init(_ sequence: ConcurrentMapSequence<Output>) {
    let map = ConcurrentMap<Output>(
      limit: sequence.limit, isOrdered: sequence.order == .inOrder, discard: sequence.discard)
    self.map = map
    task = Task { await sequence.pull(map) }
  }

  deinit {
    task.cancel()
    map.abandon()
  }
}

/// A sequence as an asynchronous sequence.
struct AsyncSequenceAdapter<Base: Sequence & Sendable>: AsyncSequence, Sendable where Base.Element: Sendable {
  let base: Base

  func makeAsyncIterator() -> Iterator { Iterator(base: base.makeIterator()) }

  struct Iterator: AsyncIteratorProtocol {
    var base: Base.Iterator

    mutating func next() async -> Base.Element? { base.next() }
  }
}

extension Sequence where Self: Sendable, Element: Sendable {
  /// The results of a transform that runs for several elements concurrently, as an asynchronous sequence.
  ///
  ///     for try await page in urls.mapConcurrently(limit: 8, yielding: .asCompleted, { try await client.page($0) }) { … }
  ///
  /// - Parameters:
  ///   - limit: How many elements may be running or waiting to be taken at a time; 1 or more (otherwise the first
  ///     `next` throws).
  ///   - order: The order of the results.
  ///   - discard: Receives each result that comes too late.
  ///   - transform: The function to apply to each element.
  /// - Returns: The sequence. The source is read only as far as results are requested.
  public func mapConcurrently<Output: Sendable>(
    limit: Int, yielding order: ResultOrder, discard: (@Sendable (Output) -> Void)? = nil,
    _ transform: @escaping @Sendable (Element) async throws -> Output
  ) -> ConcurrentMapSequence<Output> {
    AsyncSequenceAdapter(base: self).mapConcurrently(limit: limit, yielding: order, discard: discard, transform)
  }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// The results of a transform that runs for several elements concurrently. Like the form for sequences; the source is
  /// iterated in a separate task.
  public func mapConcurrently<Output: Sendable>(
    limit: Int, yielding order: ResultOrder, discard: (@Sendable (Output) -> Void)? = nil,
    _ transform: @escaping @Sendable (Element) async throws -> Output
  ) -> ConcurrentMapSequence<Output> {
    ConcurrentMapSequence(limit: limit, order: order, discard: discard) { map in await map.pull(self, transform) }
  }

  /// Transforms all elements concurrently and returns the results in the order of the elements. The first failure, of a
  /// transform or of the source, cancels the rest and the source.
  ///
  /// Structured: source and transforms run in child tasks, which have ended when this returns.
  ///
  /// - Parameters:
  ///   - limit: How many run at a time; 1 or more. The source is asked for an element only if it can start at once.
  ///   - discard: Receives each result if there is a failure.
  ///   - transform: The function to apply to each element.
  /// - Returns: The results.
  /// - Throws: ``FlowError``: `failed` with the first failure to occur and its element's number, `sourceFailed`,
  ///   `invalidArgument`. `CancellationError` if the task was cancelled.
  nonisolated(nonsending)
    public func mapConcurrently<Output: Sendable>(
      limit: Int, discard: (@Sendable (Output) -> Void)? = nil,
      _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output]
  {
    var outputs: [Output?] = []
    do {
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

  /// Calls a function for each element concurrently. The first failure cancels the rest and the source. Structured,
  /// like `mapConcurrently`, without results.
  nonisolated(nonsending)
    public func forEachConcurrently(
      limit: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws
  {
    try await eachConcurrently(limit, nil, body) { _, _ in }
  }

  nonisolated(nonsending)
    private func eachConcurrently<Output: Sendable>(
      _ limit: Int, _ discard: (@Sendable (Output) -> Void)?,
      _ transform: @escaping @Sendable (Element) async throws -> Output, _ take: (Int, Output) -> Void
    ) async throws
  {
    guard limit > 0 else { throw FlowError(.invalidArgument, operation: "mapConcurrently") }
    // In order of completion, so that a failure is noticed at once.
    let map = ConcurrentMap<Output>(limit: limit, isOrdered: false, failsFast: true, discard: discard)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await map.pull(self, transform) }
      defer {
        map.stop()
        group.cancelAll()
      }
      while let (index, output) = try await map.next() { take(index, output) }
    }
  }
}
