// Several elements under one acquisition of the lock, which is the main cost of a put or a take.

extension BlockingQueue {
  /// Puts the elements into the queue, in this order; waits for space until the deadline.
  ///
  /// Puts as many at once as fit, with no other caller's elements between them, and then waits for more space. Throws
  /// like `put` of one element. Elements put before the error stay in the queue; to learn how many, use
  /// `tryPut(contentsOf:)`. Like Java's `addAll`.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  @inlinable
  public func put(
    contentsOf elements: sending some Sequence<Element>, until deadline: Deadline = .distantFuture
  ) throws(WaitError) {
    var rest = Array(elements)[...]
    while true {
      guard putBatch(&rest) else { throw QueueWait(.put, until: deadline).error(at: name, .closed) }
      guard let next = rest.popFirst() else { return }
      try putSlowly(next, until: deadline).get()
    }
  }

  /// Puts the elements into the queue, in this order; suspends while the queue is full, until the deadline.
  ///
  /// Like the blocking form, but a task that is cancelled while it waits throws `CancellationError`.
  @inlinable
  nonisolated(nonsending) public func put(
    contentsOf elements: sending some Sequence<Element>, until deadline: Deadline = .distantFuture
  ) async throws {
    var rest = Array(elements)[...]
    while true {
      guard putBatch(&rest) else { throw QueueWait(.put, until: deadline).error(at: name, .closed) }
      guard let next = rest.popFirst() else { return }
      try await putSlowly(next, until: deadline).getInTask()
    }
  }

  /// Puts as many of the first elements as fit without waiting, and returns their number.
  ///
  /// Throws ``WaitError/Code/closed`` if the queue is closed and no element was put.
  @inlinable
  public func tryPut(contentsOf elements: sending some Sequence<Element>) throws(WaitError) -> Int {
    var rest = Array(elements)[...]
    let count = rest.count
    guard putBatch(&rest) || rest.count < count else {
      throw QueueWait(.put, until: .distantPast).error(at: name, .closed)
    }
    return count - rest.count
  }

  // Not inlinable: when specialized for a caller's type, the optimizer of Swift 6.3.1 crashes in redundant-load
  // elimination.
  /// Takes at most `limit` elements that are present, in order, without waiting. Empty if the queue is empty, or closed
  /// and empty. Elements put during the call are left.
  public func drain(max limit: Int = .max) -> [Element] {
    let most = min(limit, elementsAtHand)
    var elements: [Element] = []
    guard most > 0 else { return elements }
    elements.reserveCapacity(most)
    if rendezvous != nil {
      while elements.count < most, case .element(let element) = attempt() { elements.append(element) }
    } else if case .open = beginTake() {
      repeat { elements.append(fetch()) } while elements.count < most && hasElement()
      endTake(elements.count)
    }
    return elements
  }

  /// Moves as many elements as fit from the front of `rest` into the queue. Returns false if the queue is closed.
  @inlinable
  func putBatch(_ rest: inout ArraySlice<Element>) -> Bool {
    while let first = rest.first {
      if case .open = beginPut() {
        store(first)
        var count = 1
        while count < rest.count, hasPlace() {
          store(rest[rest.startIndex + count])
          count += 1
        }
        endPut(count)
        rest.removeFirst(count)
        return true
      }
      // One by one with capacity 0.
      switch attempt(toPut: first) {
      case .accepted: rest.removeFirst()
      case .full: return true
      case .closed: return false
      }
    }
    return true
  }
}
