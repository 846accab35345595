/// A queue between threads, tasks, or both, from which the element with the highest priority leaves first. Equal
/// priorities leave in FIFO order. Java's PriorityBlockingQueue, with an optional bound and `close`.
///
/// ```swift
/// let jobs = PriorityBlockingQueue<Job, Int>(name: "jobs")
/// try jobs.put(job, priority: 5)
/// let next = try jobs.take()
/// ```
///
/// Waiting, deadlines, cancellation and closing work as in ``BlockingQueue``. Elements may be noncopyable and need not
/// be `Sendable`. A put and a take are O(log n). Priorities are compared under the queue's lock: their `<` must be fast
/// and must not use the queue.
public typealias PriorityBlockingQueue<Element: ~Copyable, Priority: Comparable & Sendable> =
  OrderedQueue<HighestFirst<Priority>, Element>

/// A priority as the key of an ``OrderedQueue``, in which the least key leaves first: the order is reversed.
public struct HighestFirst<Priority: Comparable & Sendable>: Comparable, Sendable {
  let priority: Priority

  /// Whether `left` leaves first.
  public static func < (left: HighestFirst, right: HighestFirst) -> Bool { right.priority < left.priority }
}

extension OrderedQueue where Element: ~Copyable {
  /// Creates an unbounded queue: a put never waits.
  public convenience init<Priority>(name: String = "queue") where Key == HighestFirst<Priority> {
    self.init(name: name, capacity: .max) { _ in .distantPast }
  }

  /// Creates a queue of at most `capacity` elements. Throws for a capacity below 1.
  public convenience init<Priority>(
    name: String = "queue", capacity: Int
  ) throws(QueueError) where Key == HighestFirst<Priority> {
    guard capacity > 0 else { throw QueueError(code: .invalidCapacity, queue: name, value: capacity) }
    self.init(name: name, capacity: capacity) { _ in .distantPast }
  }

  /// Puts an element into the queue; waits for space until the deadline. A refused element is returned, as by `put` of
  /// a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func put<Priority>(
    _ element: consuming sending Element, priority: Priority, until deadline: Deadline = .distantFuture
  ) -> sending PutResult<Element> where Key == HighestFirst<Priority> {
    put(element, HighestFirst(priority: priority), until: deadline)
  }

  /// Puts an element into the queue; suspends until there is space or the deadline passes. A refused element is
  /// returned.
  nonisolated(nonsending) public func put<Priority>(
    _ element: consuming sending Element, priority: Priority, until deadline: Deadline = .distantFuture
  ) async -> sending PutResult<Element> where Key == HighestFirst<Priority> {
    await put(element, HighestFirst(priority: priority), until: deadline)
  }

  /// Puts an element into the queue if there is space, without waiting. A refused element is returned.
  public func tryPut<Priority>(_ element: consuming sending Element, priority: Priority) -> sending PutResult<Element>
  where Key == HighestFirst<Priority> {
    tryPut(element, HighestFirst(priority: priority))
  }
}

extension OrderedQueue {
  /// Puts a copyable element into the queue; waits for space until the deadline. Throws like `put` of a
  /// ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func put<Priority>(
    _ element: consuming sending Element, priority: Priority, until deadline: Deadline = .distantFuture
  ) throws(WaitError) where Key == HighestFirst<Priority> {
    try put(element, HighestFirst(priority: priority), until: deadline).get()
  }

  /// Puts a copyable element into the queue; suspends until there is space or the deadline passes.
  nonisolated(nonsending) public func put<Priority>(
    _ element: consuming sending Element, priority: Priority, until deadline: Deadline = .distantFuture
  ) async throws where Key == HighestFirst<Priority> {
    try await put(element, HighestFirst(priority: priority), until: deadline).getInTask()
  }

  /// Puts a copyable element into the queue if there is space, without waiting. Returns whether it was put. Throws
  /// ``WaitError/Code/closed``.
  public func tryPut<Priority>(_ element: consuming sending Element, priority: Priority) throws(WaitError) -> Bool
  where Key == HighestFirst<Priority> {
    try tryPut(element, HighestFirst(priority: priority)).wasAccepted()
  }

  /// A `select` case that puts an element into this queue. If another case is chosen, the element is not put. `body`
  /// produces the result of the select and is called without a lock.
  public func onPut<Priority, Value: ~Copyable>(
    _ element: Element, priority: Priority, _ body: @escaping () -> Value
  ) -> SelectCase<Value> where Key == HighestFirst<Priority>, Element: Sendable {
    onPut(element, HighestFirst(priority: priority), body)
  }
}
