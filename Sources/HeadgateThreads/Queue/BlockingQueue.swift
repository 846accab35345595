/// A queue between threads, tasks, or both: who takes waits for an element, who puts waits for a place.
///
/// ```swift
/// let images = try BlockingQueue<Image>(name: "images", capacity: 10)
/// try images.put(image)          // waits while there are 10
/// let next = try images.take()   // waits while there is none
/// images.close()                 // no more puts; what is there can still be taken
/// ```
///
/// What Java's ArrayBlockingQueue, LinkedBlockingQueue and SynchronousQueue are, with the closing of Go's channels. The
/// same calls block a thread or, with `await`, suspend a task; both stand in one line. Elements may be non-copyable and
/// need not be `Sendable`: each is handed over.
///
/// Elements come out in the order in which they went in, and every call takes effect at one moment between its start
/// and its end. Who waits is woken in the order of arrival. A thread that is running may overtake one that has just been
/// woken and is on its way: that one keeps its place in line. Every call is O(1).
public final class BlockingQueue<Element: ~Copyable>: @unchecked Sendable {
  // Unchecked: an element is put into a slot under the lock of one end and taken out under that of the other, and the
  // atomic indices order the two. All else is constant.
  @usableFromInline let core: QueueCore
  @usableFromInline let rendezvous: Rendezvous?

  /// The queue's name, as it stands in errors.
  public var name: String { core.name }

  /// A queue without a limit: a put never waits. Its memory grows and shrinks with its length.
  public convenience init(name: String = "queue") {
    self.init(name: name, limit: .max)
  }

  /// A queue of at most `capacity` elements; with a capacity of 0 each put waits for a take and hands its element over.
  ///
  /// A capacity of any size costs little until elements come. Throws for a capacity below 0.
  public convenience init(name: String = "queue", capacity: Int) throws(QueueError) {
    guard capacity >= 0 else { throw QueueError(.invalidCapacity, queue: name, value: capacity) }
    self.init(name: name, limit: UInt(capacity))
  }

  /// The same, with indices that begin at a number of the test's choice.
  package init(name: String, limit: UInt, firstIndex: UInt = 0) {
    let (stride, alignment) = (MemoryLayout<Element>.stride, MemoryLayout<Element>.alignment)
    core = QueueCore(name: name, capacity: limit, stride: stride, alignment: alignment, firstIndex: firstIndex)
    rendezvous = limit == 0 ? Rendezvous(stride: stride, alignment: alignment) : nil
  }

  deinit {
    while case .open = beginTake() { _ = endTake() }
    core.destroy()
  }

  /// How many elements are there, at some moment during the call.
  public var count: Int { core.count }

  /// How many more elements have a place, at some moment during the call; `Int.max` where there is no limit.
  public var remainingCapacity: Int {
    core.capacity == .max ? .max : Int(clamping: core.capacity - UInt(core.count))
  }

  /// Whether there is no element, at some moment during the call.
  public var isEmpty: Bool { core.isEmpty }

  /// Whether the queue was closed. Elements may be left.
  public var isClosed: Bool {
    // With a capacity of 0 elements go by the rendezvous, which is closed a moment after the core.
    rendezvous?.isClosed ?? core.isClosed
  }

  /// Lets no element in any more. What is there can still be taken.
  ///
  /// All who wait are woken: each put that waits gives its element back, each take that waits fails, as does every later
  /// put, and every later take once the queue is empty. Closing again does nothing.
  public func close() {
    core.close()
    rendezvous?.close()
  }

  /// How many wait for an element and for a place, at some moment during the call.
  package var waitingCounts: (takers: Int, putters: Int) { rendezvous?.waitingCounts ?? core.waitingCounts }
}
