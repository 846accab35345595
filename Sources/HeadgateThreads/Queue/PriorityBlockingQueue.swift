/// A queue between threads, tasks, or both, from which the element of the highest priority comes first, and of several
/// with the same priority the one that was put first: Java's PriorityBlockingQueue, with a limit and a close.
///
/// ```swift
/// let jobs = PriorityBlockingQueue<Job, Int>(name: "jobs")
/// try jobs.put(job, priority: 5)
/// let next = try jobs.take()
/// ```
///
/// Waiting, deadlines, cancellation and closing are those of ``BlockingQueue``. Elements may be non-copyable and need not
/// be `Sendable`. A put and a take are O(log n). Priorities are compared under the queue's lock: their `<` must be quick
/// and must not use the queue.
public final class PriorityBlockingQueue<Element: ~Copyable, Priority: Comparable & Sendable>: Sendable {
  // The heap has the least key first.
  private struct Key: Comparable {
    var priority: Priority

    static func < (left: Key, right: Key) -> Bool { right.priority < left.priority }
  }

  private let queue: OrderedQueue<Key, Element>

  /// A queue without a limit: a put never waits.
  public init(name: String = "queue") {
    queue = OrderedQueue(name: name, capacity: .max, timers: TimerThread.shared) { _ in .distantPast }
  }

  /// A queue of at most `capacity` elements. Throws for a capacity below 1.
  public init(name: String = "queue", capacity: Int) throws(QueueError) {
    guard capacity > 0 else { throw QueueError(.invalidCapacity, queue: name, value: capacity) }
    queue = OrderedQueue(name: name, capacity: capacity, timers: TimerThread.shared) { _ in .distantPast }
  }

  /// The queue's name, as it stands in errors.
  public var name: String { queue.name }

  /// How many elements are there.
  public var count: Int { queue.count }

  /// How many more elements have a place; `Int.max` where there is no limit.
  public var remainingCapacity: Int { queue.capacity == .max ? .max : queue.capacity - queue.count }

  /// Whether the queue was closed. Elements may be left.
  public var isClosed: Bool { queue.isClosed }

  /// How many wait for an element, at some moment during the call.
  package var waitingTakers: Int { queue.waitingTakers }

  /// Lets no element in any more; what is there can still be taken. See ``BlockingQueue/close()``.
  public func close() { queue.close() }

  /// Puts an element into the queue; waits for a place until the deadline. What the queue does not take comes back, as
  /// from `put` of a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await")
  public func put(
    _ element: consuming sending Element, priority: Priority, until deadline: Deadline = .distantFuture
  ) -> sending PutResult<Element> {
    queue.put(element, Key(priority: priority), until: deadline)
  }

  /// Puts an element into the queue; suspends until there is a place or the deadline has passed. What the queue does not
  /// take comes back.
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, priority: Priority, until deadline: Deadline = .distantFuture
  ) async -> sending PutResult<Element> {
    await queue.put(element, Key(priority: priority), until: deadline)
  }

  /// Puts an element into the queue if there is a place at once. What the queue does not take comes back.
  public func tryPut(_ element: consuming sending Element, priority: Priority) -> sending PutResult<Element> {
    queue.tryPut(element, Key(priority: priority))
  }

  /// Takes the first element out of the queue; waits for one until the deadline. Throws as
  /// `take` of a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await")
  public func take(until deadline: Deadline = .distantFuture) throws(WaitError) -> sending Element {
    try queue.take(until: deadline)
  }

  /// Takes the first element out of the queue; suspends until there is one or the deadline has passed.
  nonisolated(nonsending) public func take(
    until deadline: Deadline = .distantFuture
  ) async throws(WaitError) -> sending Element {
    try await queue.take(until: deadline)
  }

  /// Takes the first element out of the queue if there is one. Throws ``WaitError/Code/closed`` once the queue is closed
  /// and empty.
  public func tryTake() throws(WaitError) -> sending Element? { try queue.tryTake() }
}

extension PriorityBlockingQueue {
  /// Puts an element that can be copied into the queue; waits for a place until the deadline. Throws as
  /// `put` of a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await")
  public func put(
    _ element: consuming sending Element, priority: Priority, until deadline: Deadline = .distantFuture
  ) throws(WaitError) {
    try queue.put(element, Key(priority: priority), until: deadline).get()
  }

  /// Puts an element that can be copied into the queue; suspends until there is a place or the deadline has passed.
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, priority: Priority, until deadline: Deadline = .distantFuture
  ) async throws(WaitError) {
    try await queue.put(element, Key(priority: priority), until: deadline).get()
  }

  /// Puts an element that can be copied into the queue if there is a place at once, and says whether there was. Throws
  /// ``WaitError/Code/closed``.
  public func tryPut(_ element: consuming sending Element, priority: Priority) throws(WaitError) -> Bool {
    try queue.tryPut(element, Key(priority: priority)).wasAccepted()
  }
}
