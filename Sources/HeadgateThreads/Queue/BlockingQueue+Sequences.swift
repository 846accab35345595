// Loops over what comes out of a queue. The queue itself is no sequence: a loop takes elements away from all others.

extension BlockingQueue {
  /// What comes out of a queue, as a sequence that blocks.
  public struct Elements: Sequence, IteratorProtocol, Sendable {
    @usableFromInline let queue: BlockingQueue<Element>

    @usableFromInline
    init(queue: BlockingQueue<Element>) { self.queue = queue }

    /// The next element; waits for it. Nil once the queue is closed and empty, or the thread was cancelled.
    ///
    /// On a thread that must not be blocked it waits for nothing: the loop ends, and a warning is logged.
    @inlinable
    public func next() -> Element? {
      do throws(WaitError) {
        return try queue.take()
      } catch {
        BlockingQueue.note(error)
        return nil
      }
    }
  }

  @usableFromInline
  static func note(_ error: WaitError) {
    if error.code == .onCooperativeThread { HeadgateLog.warn(.queue, "\(error)") }
  }

  /// What comes out of a queue, as an asynchronous sequence.
  public struct Values: AsyncSequence, AsyncIteratorProtocol, Sendable {
    @usableFromInline let queue: BlockingQueue<Element>

    @usableFromInline
    init(queue: BlockingQueue<Element>) { self.queue = queue }

    /// Itself: each loop takes from the same queue.
    public func makeAsyncIterator() -> Values { self }

    /// The next element; suspends until it comes. Nil once the queue is closed and empty, or the task was cancelled.
    public func next() async -> Element? { await next(isolation: nil) }

    /// The same, without leaving the caller's actor.
    @inlinable
    public func next(isolation actor: isolated (any Actor)?) async -> Element? {
      do throws(WaitError) {
        return try await queue.take()
      } catch {
        return nil
      }
    }
  }

  /// The elements for a `for` loop, which takes each and waits for the next, until the queue is closed and empty or the
  /// thread is cancelled. Several loops share the elements between them.
  @available(*, noasync, message: "use values")
  @inlinable
  public var elements: Elements { Elements(queue: self) }

  /// The elements for a `for await` loop, which takes each and suspends until the next comes, until the queue is closed
  /// and empty or the task is cancelled. Several loops share the elements between them.
  @inlinable
  public var values: Values { Values(queue: self) }
}
