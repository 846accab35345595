// A queue ordered by key: a heap under one lock, with a leader that sleeps until the first element is due. D. Lea,
// java.util.concurrent.DelayQueue; D. Schmidt, "Leader/Followers" (2000).

import Synchronization

/// A queue between threads, tasks, or both, from which the element with the least key leaves first. Equal keys leave in
/// FIFO order. Used as ``PriorityBlockingQueue`` and ``DelayQueue``.
///
/// Waiting, deadlines, cancellation and closing work as in ``BlockingQueue``. Elements may be noncopyable and need not
/// be `Sendable`. A put and a take are O(log n).
///
/// At most one waiting taker, the leader, sleeps until the first element is due. All others sleep until they are woken.
/// A leader that stops leading (it took an element, gave up or was cancelled) wakes the next. A taker that arrives
/// before that one has resumed leads instead. So the taker that gets the first element when it becomes due, the leader,
/// need not be the one that has waited longest.
public final class OrderedQueue<Key: Comparable & Sendable, Element: ~Copyable>: @unchecked Sendable {
  // Unchecked: all mutable state is accessed only under `lock`.
  /// The queue's name, as it appears in errors.
  public let name: String
  let capacity: Int
  fileprivate let timers: any TimerService
  fileprivate let dueTime: @Sendable (Key) -> Deadline

  private let lock = Lock()
  fileprivate var heap = ElementHeap<Key, Element>()
  fileprivate var takers = WaitList()
  fileprivate var putters = WaitList()
  fileprivate var leader: Waiter?
  fileprivate var wasClosed = false
  private let isListed = Atomic(false)

  /// - Parameters:
  ///   - name: The name that errors show.
  ///   - capacity: The maximum number of elements.
  ///   - timers: The clock that determines what is due.
  ///   - dueTime: The moment from which an element with this key can be taken. Monotonic in the key.
  init(
    name: String, capacity: Int, timers: any TimerService = TimerThread.deadlines,
    dueTime: @escaping @Sendable (Key) -> Deadline
  ) {
    self.name = name
    self.capacity = capacity
    self.timers = timers
    self.dueTime = dueTime
  }

  deinit { QueueRegistry.remove(key, isListed) }

  fileprivate func locked<Value>(_ body: () -> Value) -> Value {
    lock.lock()
    defer { lock.unlock() }
    return body()
  }

  /// The number of elements, including those that are not due yet.
  public var count: Int { locked { heap.count } }

  /// Whether there are no elements, due or not.
  public var isEmpty: Bool { count == 0 }

  /// The remaining space; `Int.max` for an unbounded queue.
  public var remainingCapacity: Int { capacity == .max ? .max : capacity - count }

  /// Whether the queue was closed. It may still contain elements.
  public var isClosed: Bool { locked { wasClosed } }

  /// The numbers of waiting takers and putters.
  package var waitingCounts: (takers: Int, putters: Int) { locked { (takers.count, putters.count) } }

  fileprivate func enterDumps() {
    QueueRegistry.add(key, isListed, .ordered({ [weak self] in self?.summary }))
  }

  private var key: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }

  private var summary: QueueSummary {
    QueueSummary(
      kind: Key.self == Deadline.self ? "delay queue" : "priority queue", name: name, capacity: capacity, count: count,
      waiting: waitingCounts, isClosed: isClosed)
  }

  /// Closes the queue: no more elements can be put, but remaining ones can still be taken. See
  /// ``BlockingQueue/close()``.
  public func close() {
    lock.lock()
    wasClosed = true
    leader = nil
    let waiters = putters.claimAll() + takers.claimAll()
    lock.unlock()
    // Takers try again. If elements that are not due yet remain, they wait again.
    for waiter in waiters { waiter.wake() }
  }

  // MARK: Without a wait

  func attempt(toPut element: consuming Element, _ key: Key) -> PutAttempt<Element> {
    lock.lock()
    guard !wasClosed, heap.count < capacity else {
      let isClosed = wasClosed
      lock.unlock()
      return isClosed ? .closed(element) : .full(element)
    }
    let isFirst = heap.least.map { key < $0 } ?? true
    heap.insert(element, key)
    // An element behind the first does not concern the leader, which sleeps until the first one is due. An element that
    // is due at once is for another taker.
    let taker = isFirst || dueTime(key) == .distantPast ? claimTaker() : nil
    lock.unlock()
    taker?.wake()
    return .accepted
  }

  func attempt() -> TakeAttempt<Element> {
    let now = timers.now
    lock.lock()
    guard let key = heap.least, dueTime(key) <= now, let element = heap.removeFirst() else {
      let isOver = wasClosed && heap.count == 0
      lock.unlock()
      return isOver ? .closed : .empty
    }
    let putter = putters.claimFirst()
    // The next leader sleeps until the new first element is due.
    let taker = heap.count > 0 && leader == nil ? claimTaker() : nil
    // The queue is closed and now empty, so all other takers are woken.
    var others: [Waiter] = []
    while wasClosed, heap.count == 0, let other = claimTaker() { others.append(other) }
    lock.unlock()
    putter?.wake()
    taker?.wake()
    for other in others { other.wake() }
    // Kept until here: the deinitializer of a program's priority may use the queue.
    _ = consume key
    return .element(element)
  }

  // Claims the leader if there is one, otherwise the first waiter. The claimed taker tries again, and leads again if
  // necessary.
  private func claimTaker() -> Waiter? {
    if let leading = leader.take(), takers.remove(leading), leading.claim(.woken) { return leading }
    return takers.claimFirst()
  }
}

/// The wait list of an ordered queue's takers or putters.
struct OrderedLine<Key: Comparable & Sendable, Element: ~Copyable>: QueueLine {
  let queue: OrderedQueue<Key, Element>
  let isOfTakers: Bool

  var name: String { queue.name }
  var timers: any TimerService { queue.timers }

  func enterDumps() { queue.enterDumps() }

  func spin() -> Bool { false }

  func lineUp(_ waiter: Waiter, first: Bool) -> Deadline? {
    isOfTakers ? lineUpTaker(waiter, first: first) : lineUpPutter(waiter, first: first)
  }

  private func lineUpTaker(_ waiter: Waiter, first: Bool) -> Deadline? {
    // Read before the lock is taken, because the clock may be the program's own code. If an element becomes due
    // meanwhile, the leader's sleep ends at once.
    let now = timers.now
    return queue.locked {
      if queue.wasClosed, queue.heap.count == 0 { return nil }
      let due = queue.heap.least.map(queue.dueTime)
      if let due, due <= now { return nil }
      if first { queue.takers.prepend(waiter) } else { queue.takers.append(waiter) }
      guard queue.leader == nil, let due else { return .distantFuture }
      queue.leader = waiter
      return due
    }
  }

  private func lineUpPutter(_ waiter: Waiter, first: Bool) -> Deadline? {
    queue.locked {
      guard queue.heap.count >= queue.capacity, !queue.wasClosed else { return nil }
      if first { queue.putters.prepend(waiter) } else { queue.putters.append(waiter) }
      return .distantFuture
    }
  }

  func leave(_ waiter: Waiter, _ outcome: Waiter.Outcome) -> Bool {
    queue.locked {
      if queue.leader === waiter { queue.leader = nil }
      return isOfTakers ? queue.takers.remove(waiter) : queue.putters.remove(waiter)
    }
  }

  /// Wakes the next taker if there is no leader, or the next putter if there is space.
  func passOn() {
    let next = queue.locked {
      if isOfTakers {
        queue.leader == nil && queue.heap.count > 0 ? queue.takers.claimFirst() : nil
      } else {
        queue.heap.count < queue.capacity ? queue.putters.claimFirst() : nil
      }
    }
    next?.wake()
  }
}

// MARK: Calls that wait

extension OrderedQueue where Element: ~Copyable {
  fileprivate var takerLine: OrderedLine<Key, Element> { OrderedLine(queue: self, isOfTakers: true) }
  fileprivate var putterLine: OrderedLine<Key, Element> { OrderedLine(queue: self, isOfTakers: false) }

  func put(_ element: consuming Element, _ key: Key, until deadline: Deadline) -> PutResult<Element> {
    var wait = QueueWait(.put, until: deadline)
    var element = element
    while true {
      switch attempt(toPut: element, key) {
      case .accepted: return .accepted
      case .full(let back): element = back
      case .closed(let back): return .refused(back, wait.error(at: name, .closed))
      }
      if wait.isOver { return .refused(element, wait.error(at: name)) }
      wait.block(at: putterLine)
    }
  }

  nonisolated(nonsending) func put(
    _ element: consuming Element, _ key: Key, until deadline: Deadline
  ) async -> PutResult<Element> {
    var wait = QueueWait(.put, until: deadline)
    var element = element
    while true {
      switch attempt(toPut: element, key) {
      case .accepted: return .accepted
      case .full(let back): element = back
      case .closed(let back): return .refused(back, wait.error(at: name, .closed))
      }
      if wait.isOver { return .refused(element, wait.error(at: name)) }
      await wait.suspend(at: putterLine)
    }
  }

  func tryPut(_ element: consuming Element, _ key: Key) -> PutResult<Element> {
    let wait = QueueWait(.put, until: .distantPast)
    switch attempt(toPut: element, key) {
    case .accepted: return .accepted
    case .full(let element): return .refused(element, wait.error(at: name, .timedOut))
    case .closed(let element): return .refused(element, wait.error(at: name, .closed))
    }
  }

  /// Takes the first element out of the queue once it is due; waits for one until the deadline. Throws like `take` of a
  /// ``BlockingQueue``.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func take(until deadline: Deadline = .distantFuture) throws(WaitError) -> sending Element {
    var wait = QueueWait(.take, until: deadline)
    while true {
      if let element = try attempt(wait) { return element }
      wait.block(at: takerLine)
    }
  }

  /// Takes the first element out of the queue once it is due; suspends until there is one or the deadline passes.
  /// Throws like `take` of a ``BlockingQueue``.
  nonisolated(nonsending) public func take(
    until deadline: Deadline = .distantFuture
  ) async throws -> sending Element {
    var wait = QueueWait(.take, until: deadline)
    while true {
      do throws(WaitError) {
        if let element = try attempt(wait) { return element }
      } catch {
        throw error.inTask
      }
      await wait.suspend(at: takerLine)
    }
  }

  private func attempt(_ wait: QueueWait) throws(WaitError) -> Element? {
    switch attempt() {
    case .element(let element): return element
    case .closed: throw wait.error(at: name, .closed)
    case .empty:
      guard wait.isOver else { return nil }
      // Its leadership or wake-up passes to the next taker.
      takerLine.passOn()
      throw wait.error(at: name)
    }
  }

  /// Takes the first element out of the queue if it is due, without waiting. Throws ``WaitError/Code/closed`` once the
  /// queue is closed and empty.
  public func tryTake() throws(WaitError) -> sending Element? {
    switch attempt() {
    case .element(let element): return element
    case .empty: return nil
    case .closed: throw QueueWait(.take, until: .distantPast).error(at: name, .closed)
    }
  }

  /// Takes at most `limit` elements that are due, in order, without waiting, and passes each to `body`. Returns their
  /// number. See `drain` of a ``BlockingQueue``.
  public func drain<Failure: Error>(
    max limit: Int = .max, _ body: (consuming sending Element) throws(Failure) -> Void
  ) throws(Failure) -> Int {
    var taken = 0
    let most = min(limit, count)
    while taken < most, case .element(let element) = attempt() {
      taken += 1
      try body(element)
    }
    return taken
  }

  /// A `select` case that takes from this queue. `body` turns the element into the result of the select and is called
  /// without a lock.
  public func onTake<Value: ~Copyable>(_ body: @escaping (consuming sending Element) -> Value) -> SelectCase<Value> {
    SelectCase(line: takerLine) { TakeAttempt(self.attempt(), $0, body) }
  }
}

extension OrderedQueue: ElementSource {
  func onPut<Value: ~Copyable>(_ element: Element, _ key: Key, _ body: @escaping () -> Value) -> SelectCase<Value> {
    SelectCase(line: putterLine) { TakeAttempt(self.attempt(toPut: element, key), $0, body) }
  }

  /// Takes at most `limit` elements that are due, in order, without waiting. Elements put during the call are left.
  public func drain(max limit: Int = .max) -> [Element] {
    var elements: [Element] = []
    _ = drain(max: limit) { elements.append($0) }
    return elements
  }
}
