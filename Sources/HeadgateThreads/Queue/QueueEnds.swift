// The two ends of a queue as objects. The queue is closed when the last reference to either end is released. Rust marks
// the end of a stream in the same way; here Swift's reference counting does it.

extension BlockingQueue where Element: ~Copyable {
  /// Creates an unbounded queue and returns its two ends.
  public static func channel(
    name: String = "queue"
  ) -> (sender: Sender<Element>, receiver: Receiver<Element>) {
    ends(of: BlockingQueue(name: name))
  }

  /// Creates a queue of at most `capacity` elements and returns its two ends. With capacity 0, each put waits for a
  /// take. Throws for a capacity below 0.
  ///
  /// ```swift
  /// func images() throws -> Receiver<Image> {
  ///   let (sender, receiver) = try BlockingQueue<Image>.channel(capacity: 10)
  ///   try pool.execute { for file in files { try sender.put(Image(file)) } }
  ///   return receiver
  /// }
  /// for image in try images().elements { show(image) }
  /// ```
  ///
  /// Here the task is the only owner of `sender` once the function has returned, so its end closes the channel. A
  /// variable beside the loop would keep the sender until the end of its scope, and the loop would wait for ever.
  public static func channel(
    name: String = "queue", capacity: Int
  ) throws(QueueError) -> (sender: Sender<Element>, receiver: Receiver<Element>) {
    ends(of: try BlockingQueue(name: name, capacity: capacity))
  }

  private static func ends(of queue: BlockingQueue) -> (sender: Sender<Element>, receiver: Receiver<Element>) {
    (Sender(queue), Receiver(queue))
  }
}

/// The sending end of a channel. When its last reference is released, the channel is closed: remaining elements can
/// still be taken, after which takes and loops end.
///
/// Its calls are those of ``BlockingQueue``.
public final class Sender<Element: ~Copyable>: Sendable {
  private let queue: BlockingQueue<Element>

  fileprivate init(_ queue: BlockingQueue<Element>) { self.queue = queue }

  deinit { queue.close() }

  /// Whether the channel was closed, at either end.
  public var isClosed: Bool { queue.isClosed }

  /// Closes the channel, even if this end has other owners.
  public func close() { queue.close() }

  /// Puts an element; waits for space until the deadline. A refused element is returned.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func put(
    _ element: consuming sending Element, until deadline: Deadline = .distantFuture
  ) -> sending PutResult<Element> {
    queue.put(element, until: deadline)
  }

  /// Puts an element; suspends until there is space or the deadline passes. A refused element is returned.
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, until deadline: Deadline = .distantFuture
  ) async -> sending PutResult<Element> {
    await queue.put(element, until: deadline)
  }

  /// Puts an element if there is space, without waiting. A refused element is returned.
  public func tryPut(_ element: consuming sending Element) -> sending PutResult<Element> { queue.tryPut(element) }
}

extension Sender {
  /// Puts a copyable element; waits for space until the deadline. Throws like `put` of a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func put(_ element: consuming sending Element, until deadline: Deadline = .distantFuture) throws(WaitError) {
    try queue.put(element, until: deadline).get()
  }

  /// Puts a copyable element; suspends until there is space or the deadline passes.
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, until deadline: Deadline = .distantFuture
  ) async throws {
    try await queue.put(element, until: deadline).getInTask()
  }

  /// Puts a copyable element if there is space, without waiting. Returns whether it was put. Throws
  /// ``WaitError/Code/closed``.
  public func tryPut(_ element: consuming sending Element) throws(WaitError) -> Bool {
    try queue.tryPut(element).wasAccepted()
  }

  /// A `select` case that puts an element. See `onPut` of a ``BlockingQueue``.
  public func onPut<Value: ~Copyable>(
    _ element: Element, _ body: @escaping () -> Value
  ) -> SelectCase<Value> where Element: Sendable {
    // The case can be used as long as it lives, so it retains this end.
    queue.onPut(element) { withExtendedLifetime(self) { body() } }
  }
}

/// The receiving end of a channel. When its last reference is released, the channel is closed, so that puts fail, and
/// remaining elements are released.
///
/// Its calls are those of ``BlockingQueue``.
public final class Receiver<Element: ~Copyable>: Sendable {
  private let queue: BlockingQueue<Element>

  fileprivate init(_ queue: BlockingQueue<Element>) { self.queue = queue }

  deinit {
    queue.close()
    _ = queue.drain { _ = consume $0 }
  }

  /// The number of elements at some moment during the call.
  public var count: Int { queue.count }

  /// Whether the channel was closed, at either end. It may still contain elements.
  public var isClosed: Bool { queue.isClosed }

  /// Closes the channel, even if this end has other owners. Remaining elements can still be taken.
  public func close() { queue.close() }

  /// Takes the first element; waits for one until the deadline. Throws like `take` of a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func take(until deadline: Deadline = .distantFuture) throws(WaitError) -> sending Element {
    try queue.take(until: deadline)
  }

  /// Takes the first element; suspends until there is one or the deadline passes.
  nonisolated(nonsending) public func take(
    until deadline: Deadline = .distantFuture
  ) async throws -> sending Element {
    try await queue.take(until: deadline)
  }

  /// Takes the first element if there is one, without waiting. Throws ``WaitError/Code/closed`` once the channel is
  /// closed and empty.
  public func tryTake() throws(WaitError) -> sending Element? { try queue.tryTake() }

  /// Takes at most `limit` elements that are present, in order, without waiting, and passes each to `body`. Returns
  /// their number.
  public func drain<Failure: Error>(
    max limit: Int = .max, _ body: (consuming sending Element) throws(Failure) -> Void
  ) throws(Failure) -> Int {
    try queue.drain(max: limit, body)
  }

  /// A `select` case that takes an element. See `onTake` of a ``BlockingQueue``.
  public func onTake<Value: ~Copyable>(_ body: @escaping (consuming sending Element) -> Value) -> SelectCase<Value> {
    // The case can be used as long as it lives, so it retains this end.
    queue.onTake { element in
      defer { withExtendedLifetime(self) {} }
      return body(element)
    }
  }
}

extension Receiver: ElementSource {
  /// Takes at most `limit` elements that are present, in order, without waiting.
  public func drain(max limit: Int = .max) -> [Element] { queue.drain(max: limit) }
}
