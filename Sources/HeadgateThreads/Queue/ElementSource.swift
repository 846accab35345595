/// A source of elements: any kind of queue, or the receiving end of a channel.
///
/// It provides, for copyable elements, the loops for threads and tasks and the takes of several elements.
public protocol ElementSource<Element>: AnyObject, Sendable {
  /// The type of the elements.
  associatedtype Element

  /// The number of elements at some moment during the call.
  var count: Int { get }

  /// Takes the first element; waits for one until the deadline. Throws like `take` of a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  func take(until deadline: Deadline) throws(WaitError) -> sending Element

  /// Takes the first element; suspends until there is one or the deadline passes. Throws `CancellationError` if the
  /// task was cancelled while it waited, and otherwise like the blocking form.
  nonisolated(nonsending) func take(until deadline: Deadline) async throws -> sending Element

  /// Takes the first element if there is one, without waiting. Throws ``WaitError/Code/closed`` once the source is
  /// closed and empty.
  func tryTake() throws(WaitError) -> sending Element?

  /// Takes at most `limit` elements that are present, in order, without waiting.
  func drain(max limit: Int) -> [Element]
}

extension BlockingQueue: ElementSource {}

extension ElementSource {
  /// Takes at most `limit` elements, in order. Waits until the deadline for the first one only.
  ///
  /// Empty for a limit of 0 or less. Otherwise it returns at least one element or throws like `take`. Like Java's
  /// `drainTo` after a `take`.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  @inlinable
  public func take(upTo limit: Int, until deadline: Deadline = .distantFuture) throws(WaitError) -> [Element] {
    let elements = drain(max: limit)
    guard elements.isEmpty, limit > 0 else { return elements }
    return [try take(until: deadline)] + drain(max: limit - 1)
  }

  /// Takes at most `limit` elements, in order. Suspends until the deadline for the first one only.
  @inlinable
  nonisolated(nonsending) public func take(
    upTo limit: Int, until deadline: Deadline = .distantFuture
  ) async throws -> [Element] {
    let elements = drain(max: limit)
    guard elements.isEmpty, limit > 0 else { return elements }
    return [try await take(until: deadline)] + drain(max: limit - 1)
  }

  /// Takes the first element; waits for one until the deadline, and then returns nil.
  ///
  /// The `take:` of classic queues, and Java's `poll`. Throws like `take`, except for ``WaitError/Code/timedOut``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  @inlinable
  public func tryTake(until deadline: Deadline) throws(WaitError) -> sending Element? {
    do throws(WaitError) {
      return try take(until: deadline)
    } catch {
      guard error.code == .timedOut else { throw error }
      return nil
    }
  }

  /// Takes the first element; suspends until there is one or the deadline passes, and then returns nil. Throws like
  /// `take`, except for ``WaitError/Code/timedOut``.
  @inlinable
  nonisolated(nonsending) public func tryTake(until deadline: Deadline) async throws -> sending Element? {
    do {
      return try await take(until: deadline)
    } catch let error as WaitError where error.code == .timedOut {
      return nil
    }
  }

  /// A sequence for a `for` loop that takes each element and blocks until the next one arrives. The loop ends when the
  /// source is closed and empty or the thread is cancelled. Several loops share the elements between them.
  ///
  /// On a thread that must not block, the property throws ``WaitError/Code/onCooperativeThread``, because the loop
  /// itself cannot throw: `for image in try queue.elements { … }`.
  @available(*, noasync, message: "use values")
  @inlinable
  public var elements: BlockingElements<Self> { get throws(WaitError) { try BlockingElements(self) } }

  /// A sequence for a `for await` loop that takes each element and suspends until the next one arrives. The loop ends
  /// when the source is closed and empty or the task is cancelled. Several loops share the elements between them.
  @inlinable
  public var values: AsyncElements<Self> { AsyncElements(self) }
}

/// The elements of a queue as a blocking sequence. Use it only on the thread that created it.
public struct BlockingElements<Source: ElementSource>: Sequence, IteratorProtocol {
  @usableFromInline let source: Source

  @usableFromInline
  init(_ source: Source) throws(WaitError) {
    guard !WorkerThread.mustNotBlock else { throw WaitError(.onCooperativeThread, operation: "take all elements") }
    self.source = source
  }

  /// Waits for the next element. Returns nil once the source is closed and empty, or if the thread was cancelled, which
  /// leaves the elements that are present to others.
  @inlinable
  public func next() -> Source.Element? {
    // `take` looks at the cancellation only where it has to wait: the loop beside a fast producer would not end.
    guard !ThreadPool.isCancelled else { return nil }
    do throws(WaitError) {
      return try source.take(until: .distantFuture)
    } catch {
      // Ending the loop here would look like the end of the queue, with elements unread. This is reachable only if the
      // program moves this value, which is not Sendable, from a thread that may block into a task.
      precondition(error.code != .onCooperativeThread, "\(error)")
      return nil
    }
  }
}

/// The elements of a queue as an asynchronous sequence.
public struct AsyncElements<Source: ElementSource>: AsyncSequence, AsyncIteratorProtocol, Sendable {
  @usableFromInline let source: Source

  @usableFromInline
  init(_ source: Source) { self.source = source }

  /// Returns itself: all loops take from the same queue.
  public func makeAsyncIterator() -> AsyncElements { self }

  /// Suspends until the next element arrives. Returns nil once the source is closed and empty, or if the task was
  /// cancelled, which leaves the elements that are present to others.
  public func next() async -> Source.Element? { await next(isolation: nil) }

  /// The same, without leaving the caller's actor.
  @inlinable
  public func next(isolation actor: isolated (any Actor)?) async -> Source.Element? {
    Task.isCancelled ? nil : try? await source.take(until: .distantFuture)
  }
}
