/// A blocking queue between threads, tasks, or both: a take waits for an element, a put waits for space.
///
/// ```swift
/// let images = try BlockingQueue<Image>(name: "images", capacity: 10)
/// try images.put(image)  // waits while there are 10
/// let next = try images.take()  // waits while the queue is empty
/// images.close()  // refuses further puts; remaining elements can still be taken
/// ```
///
/// It covers Java's ArrayBlockingQueue, LinkedBlockingQueue and SynchronousQueue, and can be closed, like Go's
/// channels. The same calls block a thread or, with `await`, suspend a task; threads and tasks wait in the same FIFO
/// order. Elements may be noncopyable and need not be `Sendable`: ownership of each is transferred.
///
/// Elements leave in the order in which they arrived, and every call is linearizable. Waiters are woken in FIFO order.
/// A running thread may overtake a waiter that has just been woken; that waiter keeps its place. Every call is O(1).
public final class BlockingQueue<Element: ~Copyable>: @unchecked Sendable {
  // Unchecked: an element is stored in a slot under the lock of one end and taken under the lock of the other; the
  // atomic indices order the two. Everything else is constant.
  @usableFromInline let core: QueueCore
  @usableFromInline let rendezvous: Rendezvous?

  /// The queue's name, as it appears in errors.
  public var name: String { core.name }

  /// Creates an unbounded queue: a put never waits. Its memory grows and shrinks with its length.
  public convenience init(name: String = "queue") {
    self.init(name: name, limit: .max)
  }

  /// Creates a queue of at most `capacity` elements. With capacity 0, each put waits for a take and hands its element
  /// over directly.
  ///
  /// A large capacity costs little memory until it is used. Throws for a capacity below 0.
  public convenience init(name: String = "queue", capacity: Int) throws(QueueError) {
    guard capacity >= 0 else { throw QueueError(code: .invalidCapacity, queue: name, value: capacity) }
    self.init(name: name, limit: UInt(capacity))
  }

  /// The same, with a first index chosen by a test.
  package init(name: String, limit: UInt, firstIndex: UInt = 0) {
    let (stride, alignment) = (MemoryLayout<Element>.stride, MemoryLayout<Element>.alignment)
    core = QueueCore(name: name, capacity: limit, stride: stride, alignment: alignment, firstIndex: firstIndex)
    rendezvous = limit == 0 ? Rendezvous(name: name) : nil
  }

  deinit {
    // No calls are in progress, so all remaining elements are in slots.
    while case .open = beginTake() { _ = finishTake() }
    rendezvous?.leaveDumps()
    core.destroy()
  }

  /// The number of elements at some moment during the call.
  public var count: Int { core.count }

  /// The remaining space at some moment during the call; `Int.max` for an unbounded queue.
  public var remainingCapacity: Int {
    core.capacity == .max ? .max : Int(clamping: core.capacity - UInt(core.count))
  }

  /// Whether the queue was empty at some moment during the call.
  public var isEmpty: Bool { core.isEmpty }

  /// Whether the queue was closed. It may still contain elements.
  public var isClosed: Bool {
    // With capacity 0, elements pass through the rendezvous, which is closed a moment after the core.
    rendezvous?.isClosed ?? core.isClosed
  }

  /// Closes the queue: no more elements can be put. Remaining elements can still be taken.
  ///
  /// All waiters are woken: each waiting put is refused, and each waiting take fails. Later puts are refused too, and
  /// later takes fail once the queue is empty. Closing again has no effect.
  public func close() {
    core.close()
    rendezvous?.close()
  }

  /// The numbers of waiting takers and putters, at some moment during the call.
  package var waitingCounts: (takers: Int, putters: Int) { rendezvous?.waitingCounts ?? core.waitingCounts }
}

/// Why a queue could not be created.
public struct QueueError: HeadgateError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// Its name, as it appears in logs.
    public let description: String

    /// The capacity is below zero.
    public static let invalidCapacity = Code(description: "invalid_capacity")
  }

  /// The reason.
  public let code: Code

  /// The requested name of the queue.
  public let queue: String

  /// The invalid number.
  public let value: Int

  /// The name of its ``code``.
  public var codeName: String { code.description }

  /// A readable text: what happened, and what to do.
  public var description: String {
    "the queue \"\(queue)\" cannot have a capacity of \(value); use 0 or more, or omit it for no limit"
  }
}
