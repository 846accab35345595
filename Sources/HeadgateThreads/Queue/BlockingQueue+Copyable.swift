// What only elements that can be copied have: a put that throws, since its caller still has the element.

extension BlockingQueue {
  /// Puts an element into the queue; waits for a place until the deadline.
  ///
  /// Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the thread was cancelled while it waited,
  /// ``WaitError/Code/closed``, or ``WaitError/Code/onCooperativeThread`` where the thread must not be blocked. A
  /// deadline that has passed still puts if there is a place.
  @available(*, noasync, message: "use the form with await")
  @inlinable
  public func put(_ element: consuming sending Element, until deadline: Deadline = .distantFuture) throws(WaitError) {
    if let rendezvous { return try put(element, at: rendezvous, until: deadline).get() }
    switch beginPut() {
    case .open: endPut(element)
    case .blocked: try putSlowly(element, until: deadline).get()
    case .closed: throw QueueWait(.put, until: deadline).error(at: name, .closed)
    }
  }

  /// Puts an element into the queue if there is a place at once (a taker who waits, where the capacity is 0), and says
  /// whether there was.
  ///
  /// Throws ``WaitError/Code/closed``.
  @inlinable
  public func tryPut(_ element: consuming sending Element) throws(WaitError) -> Bool {
    switch attempt(toPut: element) {
    case .accepted: return true
    case .full: return false
    case .closed: throw QueueWait(.put, until: .distantPast).error(at: name, .closed)
    }
  }

  /// Puts an element into the queue; suspends until there is a place or the deadline has passed.
  ///
  /// Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the task was cancelled while it waited, or
  /// ``WaitError/Code/closed``. A call that throws has put nothing.
  @inlinable
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, until deadline: Deadline = .distantFuture
  ) async throws(WaitError) {
    switch attempt(toPut: element) {
    case .accepted: return
    case .full(let element): try await putSlowly(element, until: deadline).get()
    case .closed: throw QueueWait(.put, until: deadline).error(at: name, .closed)
    }
  }

  /// Takes out what is there at once, in order, at most so many elements. Empty when there is nothing, or nothing any
  /// more.
  @inlinable
  public func drain(max limit: Int = .max) -> [Element] {
    var elements: [Element] = []
    _ = drain(max: limit) { elements.append($0) }
    return elements
  }
}
