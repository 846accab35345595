/// A queue between threads, tasks, or both, whose elements can be taken once they are due, earliest first: Java's
/// DelayQueue, with an optional bound and `close`.
///
/// ```swift
/// let retries = DelayQueue<Request>(name: "retries")
/// try retries.put(request, due: .after(.seconds(5)))
/// let next = try retries.take()  // after 5 s at the earliest
/// ```
///
/// Waiting, deadlines, cancellation and closing work as in ``BlockingQueue``; for a take, an element that is not due
/// yet counts as absent. Only one waiting taker, the leader, sleeps until the first element is due, and then takes it.
/// It is woken when an element that is due earlier is put. When it leaves, the next waiter takes over, or a taker that
/// arrives just then, so the leader need not be the one that has waited longest. Elements with equal due times leave in
/// FIFO order. After ``OrderedQueue/close()``, takes keep waiting for the remaining elements. Elements may be
/// noncopyable and need not be `Sendable`. A put and a take are O(log n).
public typealias DelayQueue<Element: ~Copyable> = OrderedQueue<Deadline, Element>

extension OrderedQueue where Key == Deadline, Element: ~Copyable {
  /// Creates an unbounded queue: a put never waits.
  ///
  /// - Parameters:
  ///   - name: The name that errors show.
  ///   - timers: The clock of due times and deadlines.
  public convenience init(name: String = "queue", timers: any TimerService = TimerThread.deadlines) {
    self.init(name: name, capacity: .max, timers: timers) { $0 }
  }

  /// Creates a queue of at most `capacity` elements, due or not. Throws for a capacity below 1.
  public convenience init(
    name: String = "queue", capacity: Int, timers: any TimerService = TimerThread.deadlines
  ) throws(QueueError) {
    guard capacity > 0 else { throw QueueError(code: .invalidCapacity, queue: name, value: capacity) }
    self.init(name: name, capacity: capacity, timers: timers) { $0 }
  }

  /// Puts an element into the queue; waits for space until the deadline. A refused element is returned, as by `put` of
  /// a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func put(
    _ element: consuming sending Element, due: Deadline, until deadline: Deadline = .distantFuture
  ) -> sending PutResult<Element> {
    put(element, due, until: deadline)
  }

  /// Puts an element into the queue; suspends until there is space or the deadline passes. A refused element is
  /// returned.
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, due: Deadline, until deadline: Deadline = .distantFuture
  ) async -> sending PutResult<Element> {
    await put(element, due, until: deadline)
  }

  /// Puts an element into the queue if there is space, without waiting. A refused element is returned.
  public func tryPut(_ element: consuming sending Element, due: Deadline) -> sending PutResult<Element> {
    tryPut(element, due)
  }
}

extension OrderedQueue where Key == Deadline {
  /// Puts a copyable element into the queue; waits for space until the deadline. Throws like `put` of a
  /// ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func put(
    _ element: consuming sending Element, due: Deadline, until deadline: Deadline = .distantFuture
  ) throws(WaitError) {
    try put(element, due, until: deadline).get()
  }

  /// Puts a copyable element into the queue; suspends until there is space or the deadline passes.
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, due: Deadline, until deadline: Deadline = .distantFuture
  ) async throws {
    try await put(element, due, until: deadline).getInTask()
  }

  /// Puts a copyable element into the queue if there is space, without waiting. Returns whether it was put. Throws
  /// ``WaitError/Code/closed``.
  public func tryPut(_ element: consuming sending Element, due: Deadline) throws(WaitError) -> Bool {
    try tryPut(element, due).wasAccepted()
  }

  /// A `select` case that puts an element into this queue. If another case is chosen, the element is not put. `body`
  /// produces the result of the select and is called without a lock.
  public func onPut<Value: ~Copyable>(
    _ element: Element, due: Deadline, _ body: @escaping () -> Value
  ) -> SelectCase<Value> where Element: Sendable {
    onPut(element, due, body)
  }
}
