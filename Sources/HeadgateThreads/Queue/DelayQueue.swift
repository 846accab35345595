/// A queue between threads, tasks, or both, whose elements can be taken from their due time on, the one that was due
/// first before all others: Java's DelayQueue, with a limit and a close.
///
/// ```swift
/// let retries = DelayQueue<Request>(name: "retries")
/// try retries.put(request, due: .after(.seconds(5)))
/// let next = try retries.take()   // in 5 s at the earliest
/// ```
///
/// Waiting, deadlines, cancellation and closing are those of ``BlockingQueue``; an element that is not due is not there
/// for a take. Of all who wait only one sleeps until the first element is due: it is woken early by an element that is
/// due before, and the next in line takes its part when it leaves. Equal due times come in the order of arrival. After a
/// ``close()`` takes go on waiting for what is left. Elements may be non-copyable and need not be `Sendable`. A put and a
/// take are O(log n).
public final class DelayQueue<Element: ~Copyable>: Sendable {
  private let queue: OrderedQueue<Deadline, Element>

  /// A queue without a limit: a put never waits.
  ///
  /// - Parameters:
  ///   - name: What the queue is called in errors.
  ///   - timers: The clock that says what is due; due times and deadlines are its moments.
  public init(name: String = "queue", timers: any TimerService = TimerThread.shared) {
    queue = OrderedQueue(name: name, capacity: .max, timers: timers) { $0 }
  }

  /// A queue of at most `capacity` elements, due or not. Throws for a capacity below 1.
  public init(
    name: String = "queue", capacity: Int, timers: any TimerService = TimerThread.shared
  ) throws(QueueError) {
    guard capacity > 0 else { throw QueueError(.invalidCapacity, queue: name, value: capacity) }
    queue = OrderedQueue(name: name, capacity: capacity, timers: timers) { $0 }
  }

  /// The queue's name, as it stands in errors.
  public var name: String { queue.name }

  /// How many elements are there, due or not.
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
    _ element: consuming sending Element, due: Deadline, until deadline: Deadline = .distantFuture
  ) -> sending PutResult<Element> {
    queue.put(element, due, until: deadline)
  }

  /// Puts an element into the queue; suspends until there is a place or the deadline has passed. What the queue does not
  /// take comes back.
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, due: Deadline, until deadline: Deadline = .distantFuture
  ) async -> sending PutResult<Element> {
    await queue.put(element, due, until: deadline)
  }

  /// Puts an element into the queue if there is a place at once. What the queue does not take comes back.
  public func tryPut(_ element: consuming sending Element, due: Deadline) -> sending PutResult<Element> {
    queue.tryPut(element, due)
  }

  /// Takes the first element that is due out of the queue; waits for one until the deadline. Throws as
  /// `take` of a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await")
  public func take(until deadline: Deadline = .distantFuture) throws(WaitError) -> sending Element {
    try queue.take(until: deadline)
  }

  /// Takes the first element out of the queue; suspends until one is due or the deadline has passed.
  nonisolated(nonsending) public func take(
    until deadline: Deadline = .distantFuture
  ) async throws(WaitError) -> sending Element {
    try await queue.take(until: deadline)
  }

  /// Takes the first element out of the queue if it is due. Throws ``WaitError/Code/closed`` once the queue is closed
  /// and empty.
  public func tryTake() throws(WaitError) -> sending Element? { try queue.tryTake() }
}

extension DelayQueue {
  /// Puts an element that can be copied into the queue; waits for a place until the deadline. Throws as
  /// `put` of a ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await")
  public func put(
    _ element: consuming sending Element, due: Deadline, until deadline: Deadline = .distantFuture
  ) throws(WaitError) {
    try queue.put(element, due, until: deadline).get()
  }

  /// Puts an element that can be copied into the queue; suspends until there is a place or the deadline has passed.
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, due: Deadline, until deadline: Deadline = .distantFuture
  ) async throws(WaitError) {
    try await queue.put(element, due, until: deadline).get()
  }

  /// Puts an element that can be copied into the queue if there is a place at once, and says whether there was. Throws
  /// ``WaitError/Code/closed``.
  public func tryPut(_ element: consuming sending Element, due: Deadline) throws(WaitError) -> Bool {
    try queue.tryPut(element, due).wasAccepted()
  }
}
