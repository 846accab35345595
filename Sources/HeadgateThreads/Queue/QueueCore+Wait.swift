import Synchronization

extension QueueCore {
  /// Waits until there may be an element, or nothing to wait for any more.
  @usableFromInline
  func waitForElement(_ wait: inout QueueWait) {
    guard wait.begin(), !spinForElement(), wait.willBlock() else { return }
    let waiter = Waiter.ofThread()
    guard lineUpForElement(waiter, first: wait.wasWoken) else { return }
    HeadgateLog.note(.queue, "a thread waits to take from \"\(name)\"")
    let outcome = waiter.wait(until: wait.deadline)
    if outcome != .woken { leave(putLock, puts, waiter) }
    wait.note(outcome)
  }

  /// Waits until there may be a place, or nothing to wait for any more.
  @usableFromInline
  func waitForPlace(_ wait: inout QueueWait) {
    guard wait.begin(), !spinForPlace(), wait.willBlock() else { return }
    let waiter = Waiter.ofThread()
    guard lineUpForPlace(waiter, first: wait.wasWoken) else { return }
    HeadgateLog.note(.queue, "a thread waits to put into \"\(name)\"")
    let outcome = waiter.wait(until: wait.deadline)
    if outcome != .woken { leave(takeLock, takes, waiter) }
    wait.note(outcome)
  }

  /// Suspends until there may be an element, or nothing to wait for any more.
  @usableFromInline
  nonisolated(nonsending) func suspendForElement(_ wait: inout QueueWait) async {
    guard wait.begin() else { return }
    wait.willSuspend()
    let waiter = Waiter.ofTask()
    guard lineUpForElement(waiter, first: wait.wasWoken) else { return }
    let outcome = await waiter.wait(until: wait.deadline)
    if outcome != .woken { leave(putLock, puts, waiter) }
    wait.note(outcome)
  }

  /// Suspends until there may be a place, or nothing to wait for any more.
  @usableFromInline
  nonisolated(nonsending) func suspendForPlace(_ wait: inout QueueWait) async {
    guard wait.begin() else { return }
    wait.willSuspend()
    let waiter = Waiter.ofTask()
    guard lineUpForPlace(waiter, first: wait.wasWoken) else { return }
    let outcome = await waiter.wait(until: wait.deadline)
    if outcome != .woken { leave(takeLock, takes, waiter) }
    wait.note(outcome)
  }

  private func spinForElement() -> Bool {
    takePatience.spin(for: putPatience, after: QueueCore.pauses(lastElements)) { !isEmpty }
  }

  private func spinForPlace() -> Bool {
    putPatience.spin(for: takePatience, after: QueueCore.pauses(lastPlaces)) { count < capacity }
  }

  // A batch of so many tells a stream from elements that come one by one.
  private static func pauses(_ lastBatch: UnsafeMutablePointer<AtomicCell<UInt>>) -> Int {
    lastBatch.pointee.load(ordering: .relaxed) >= 4 ? SpinBudget.stream : 0
  }

  /// False, and not in line, if there is an element already or none can come any more.
  func lineUpForElement(_ waiter: Waiter, first: Bool) -> Bool {
    putLock.pointee.lock()
    defer { putLock.pointee.unlock() }
    // No element can come while we hold the lock, so that the two indices tell the truth if they say "empty".
    #if HEADGATE_EXPLORE
    let isEmpty = Explored.withoutRecheck || puts.pointee.index == takeIndex.pointee.load(ordering: .acquiring)
    #else
    let isEmpty = puts.pointee.index == takeIndex.pointee.load(ordering: .acquiring)
    #endif
    guard isEmpty, !puts.pointee.isClosed else { return false }
    puts.pointee.line(up: waiter, first: first)
    return true
  }

  /// False, and not in line, if there is a place already or none is given any more.
  func lineUpForPlace(_ waiter: Waiter, first: Bool) -> Bool {
    takeLock.pointee.lock()
    defer { takeLock.pointee.unlock() }
    let isFull = putIndex.pointee.load(ordering: .acquiring) &- takes.pointee.index >= capacity
    guard isFull, !takes.pointee.isClosed else { return false }
    takes.pointee.line(up: waiter, first: first)
    return true
  }

  /// Takes one out of the line that gave up before it was woken.
  func leaveLineForElement(_ waiter: Waiter) { leave(putLock, puts, waiter) }

  private func leave(
    _ lock: UnsafeMutablePointer<Lock>, _ end: UnsafeMutablePointer<QueueEnd>, _ waiter: Waiter
  ) {
    lock.pointee.lock()
    end.pointee.remove(waiter)
    lock.pointee.unlock()
  }

  /// Wakes one who waits for an element if there is one: after a wake-up that its receiver had no use for.
  func passOn() {
    guard !isEmpty else { return }
    putLock.pointee.lock()
    unlockPutsAndWake()
  }

  /// How many wait for an element and for a place.
  var waitingCounts: (takers: Int, putters: Int) {
    putLock.pointee.lock()
    let takers = puts.pointee.waitingCount
    putLock.pointee.unlock()
    takeLock.pointee.lock()
    defer { takeLock.pointee.unlock() }
    return (takers, takes.pointee.waitingCount)
  }
}
