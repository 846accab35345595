// A queue whose order is not that of arrival: a heap under one lock, with a leader that sleeps until the first is due.
// D. Lea, java.util.concurrent.DelayQueue; D. Schmidt, "Leader/Followers" (2000).

/// What ``PriorityBlockingQueue`` and ``DelayQueue`` share.
///
/// Of those who wait for an element one at most, the leader, sleeps until the first element is due; all others sleep
/// until they are woken. Whoever stops leading (it took an element, gave up, was cancelled) wakes the next.
// Unchecked: everything mutable is touched under `lock` only.
final class OrderedQueue<Key: Comparable, Element: ~Copyable>: @unchecked Sendable {
  let name: String
  let capacity: Int
  private let timers: any TimerService
  private let dueTime: @Sendable (Key) -> Deadline

  private let lock = Lock()
  private var heap = ElementHeap<Key, Element>()
  private var takers = WaitList()
  private var putters = WaitList()
  private var leader: Waiter?
  private var isClosedNow = false

  /// - Parameters:
  ///   - name: What the queue is called in errors.
  ///   - capacity: The most elements.
  ///   - timers: The clock that says what is due.
  ///   - dueTime: From when on an element with this key can be taken. It grows with the key.
  init(
    name: String, capacity: Int, timers: any TimerService, dueTime: @escaping @Sendable (Key) -> Deadline
  ) {
    self.name = name
    self.capacity = capacity
    self.timers = timers
    self.dueTime = dueTime
  }

  private func locked<Value>(_ body: () -> Value) -> Value {
    lock.lock()
    defer { lock.unlock() }
    return body()
  }

  var count: Int { locked { heap.count } }
  /// How many wait for an element.
  var waitingTakers: Int { locked { takers.count } }
  var isClosed: Bool { locked { isClosedNow } }

  func close() {
    lock.lock()
    isClosedNow = true
    leader = nil
    var waiters: [Waiter] = []
    while let waiter = putters.claimFirst() ?? takers.claimFirst() { waiters.append(waiter) }
    lock.unlock()
    // Takers look again: those for whom there is still an element that is not due wait on.
    for waiter in waiters { waiter.wake() }
  }

  // MARK: One try, under the lock

  private func attemptPut(_ element: consuming Element, _ key: Key) -> PutAttempt<Element> {
    lock.lock()
    if isClosedNow {
      lock.unlock()
      return .closed(element)
    }
    if heap.count >= capacity {
      lock.unlock()
      return .full(element)
    }
    let isFirst = heap.least.map { key < $0 } ?? true
    heap.insert(element, key)
    // One that is behind the first changes nothing for who sleeps until that is due. What is due at once is for another.
    let waiter = isFirst || dueTime(key) == .distantPast ? claimTaker() : nil
    lock.unlock()
    waiter?.wake()
    return .accepted
  }

  private func attemptTake() -> TakeAttempt<Element> {
    let now = timers.now
    lock.lock()
    guard let key = heap.least, dueTime(key) <= now, let element = heap.removeFirst() else {
      let isOver = isClosedNow && heap.count == 0
      lock.unlock()
      return isOver ? .closed : .empty
    }
    let putter = putters.claimFirst()
    // Who waits sleeps until an element that is gone was due, or until it is woken.
    let taker = heap.count > 0 && leader == nil ? claimTaker() : nil
    // The last element of a closed queue: nobody else need wait any more.
    var others: [Waiter] = []
    if isClosedNow, heap.count == 0 {
      while let other = claimTaker() { others.append(other) }
    }
    lock.unlock()
    putter?.wake()
    taker?.wake()
    for other in others { other.wake() }
    return .element(element)
  }

  // The leader if there is one, else the first in line; whoever it is looks again and leads, if there is reason to.
  private func claimTaker() -> Waiter? {
    if let leading = leader.take(), takers.remove(leading), leading.claim(.woken) { return leading }
    return takers.claimFirst()
  }

  // MARK: Calls

  func tryPut(_ element: consuming Element, _ key: Key) -> PutResult<Element> {
    switch attemptPut(element, key) {
    case .accepted: return .accepted
    case .full(let element): return refuse(element, QueueWait(.put, until: .distantPast), .timedOut)
    case .closed(let element): return refuse(element, QueueWait(.put, until: .distantPast), .closed)
    }
  }

  func put(_ element: consuming Element, _ key: Key, until deadline: Deadline) -> PutResult<Element> {
    var wait = QueueWait(.put, until: deadline)
    var waiting = element
    while true {
      switch attemptPut(waiting, key) {
      case .accepted: return .accepted
      case .full(let element): waiting = element
      case .closed(let element): return refuse(element, wait, .closed)
      }
      if wait.isOver { return refuse(waiting, wait) }
      waitForPlace(&wait)
    }
  }

  nonisolated(nonsending) func put(
    _ element: consuming Element, _ key: Key, until deadline: Deadline
  ) async -> PutResult<Element> {
    var wait = QueueWait(.put, until: deadline)
    var waiting = element
    while true {
      switch attemptPut(waiting, key) {
      case .accepted: return .accepted
      case .full(let element): waiting = element
      case .closed(let element): return refuse(element, wait, .closed)
      }
      if wait.isOver { return refuse(waiting, wait) }
      await suspendForPlace(&wait)
    }
  }

  func tryTake() throws(WaitError) -> Element? {
    switch attemptTake() {
    case .element(let element): return element
    case .empty: return nil
    case .closed: throw QueueWait(.take, until: .distantPast).error(at: name, .closed)
    }
  }

  func take(until deadline: Deadline) throws(WaitError) -> Element {
    var wait = QueueWait(.take, until: deadline)
    while true {
      switch attemptTake() {
      case .element(let element): return element
      case .closed: throw wait.error(at: name, .closed)
      case .empty: if wait.isOver { throw giveUp(wait) }
      }
      waitForElement(&wait)
    }
  }

  nonisolated(nonsending) func take(until deadline: Deadline) async throws(WaitError) -> Element {
    var wait = QueueWait(.take, until: deadline)
    while true {
      switch attemptTake() {
      case .element(let element): return element
      case .closed: throw wait.error(at: name, .closed)
      case .empty: if wait.isOver { throw giveUp(wait) }
      }
      await suspendForElement(&wait)
    }
  }

  private func giveUp(_ wait: QueueWait) -> WaitError {
    handLeadershipOn()
    return wait.error(at: name)
  }

  private func refuse(
    _ element: consuming Element, _ wait: QueueWait, _ code: WaitError.Code? = nil
  ) -> PutResult<Element> {
    .refused(element, wait.error(at: name, code))
  }

  // MARK: Waiting

  // Lines up one who found nothing. Until when it is to sleep; nil if there is something to look at.
  private func lineUpTaker(_ waiter: Waiter, _ wait: QueueWait) -> Deadline? {
    lock.lock()
    defer { lock.unlock() }
    if isClosedNow, heap.count == 0 { return nil }
    let due = heap.least.map(dueTime)
    if let due, due <= timers.now { return nil }
    if wait.wasWoken { takers.prepend(waiter) } else { takers.append(waiter) }
    guard leader == nil, let due else { return wait.deadline }
    leader = waiter
    return min(due, wait.deadline)
  }

  // After a wait of a taker, however it ended. It looks once more now, and then takes, leads, or gives up.
  private func leaveTaker(_ waiter: Waiter) {
    locked {
      takers.remove(waiter)
      if leader === waiter { leader = nil }
    }
  }

  /// A taker goes away with nothing: whatever it led, or was woken for, is the next one's.
  private func handLeadershipOn() {
    lock.lock()
    let next = leader == nil && heap.count > 0 ? takers.claimFirst() : nil
    lock.unlock()
    next?.wake()
  }

  private func lineUpPutter(_ waiter: Waiter, _ wait: QueueWait) -> Bool {
    locked {
      guard heap.count >= capacity, !isClosedNow else { return false }
      if wait.wasWoken { putters.prepend(waiter) } else { putters.append(waiter) }
      return true
    }
  }

  private func leavePutter(_ waiter: Waiter) { locked { _ = putters.remove(waiter) } }

  // A taker that slept until an element was due has not run out of time.
  private func note(_ outcome: Waiter.Outcome, _ limit: Deadline, _ wait: inout QueueWait) {
    wait.note(outcome == .timedOut && limit < wait.deadline ? .woken : outcome)
  }

  private func block(_ waiter: Waiter, until limit: Deadline) -> Waiter.Outcome {
    // The real clock needs no call: the thread sleeps until then by itself.
    if timers === TimerThread.shared || limit == .distantFuture { return waiter.wait(until: limit) }
    let timer = timers.schedule(at: limit) { waiter.end(.timedOut) }
    defer { timer.cancel() }
    // Another clock may have moved on meanwhile, and calls only when it moves again.
    if timers.now >= limit { waiter.end(.timedOut) }
    return waiter.wait(until: .distantFuture)
  }

  private func waitForElement(_ wait: inout QueueWait) {
    guard wait.begin(on: timers), wait.willBlock() else { return }
    let waiter = Waiter.ofThread()
    guard let limit = lineUpTaker(waiter, wait) else { return }
    HeadgateLog.note(.queue, "a thread waits to take from \"\(name)\"")
    let outcome = block(waiter, until: limit)
    leaveTaker(waiter)
    note(outcome, limit, &wait)
  }

  private func waitForPlace(_ wait: inout QueueWait) {
    guard wait.begin(on: timers), wait.willBlock() else { return }
    let waiter = Waiter.ofThread()
    guard lineUpPutter(waiter, wait) else { return }
    HeadgateLog.note(.queue, "a thread waits to put into \"\(name)\"")
    let outcome = block(waiter, until: wait.deadline)
    leavePutter(waiter)
    wait.note(outcome)
  }

  private nonisolated(nonsending) func suspendForElement(_ wait: inout QueueWait) async {
    guard wait.begin(on: timers) else { return }
    wait.willSuspend()
    let waiter = Waiter.ofTask()
    guard let limit = lineUpTaker(waiter, wait) else { return }
    let outcome = await waiter.wait(until: limit, on: timers)
    leaveTaker(waiter)
    note(outcome, limit, &wait)
  }

  private nonisolated(nonsending) func suspendForPlace(_ wait: inout QueueWait) async {
    guard wait.begin(on: timers) else { return }
    wait.willSuspend()
    let waiter = Waiter.ofTask()
    guard lineUpPutter(waiter, wait) else { return }
    let outcome = await waiter.wait(until: wait.deadline, on: timers)
    leavePutter(waiter)
    wait.note(outcome)
  }
}
