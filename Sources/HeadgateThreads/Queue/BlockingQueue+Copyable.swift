// What only elements that can be copied have: a put that throws, since its caller still has the element.

extension BlockingQueue {
  /// Puts an element into the queue; waits for a place until the deadline.
  ///
  /// Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the thread was cancelled while it waited,
  /// ``WaitError/Code/closed``, or ``WaitError/Code/onCooperativeThread`` where the thread must not be blocked. A
  /// deadline that has passed still puts if there is a place.
  @available(*, noasync, message: "use the form with await")
  @inlinable
  public func put(_ element: sending Element, until deadline: Deadline = .distantFuture) throws(WaitError) {
    if let rendezvous { return try put(element, at: rendezvous, until: deadline).get() }
    switch attemptPut(element) {
    case .accepted: return
    case .full(let element): try putSlowly(element, until: deadline).get()
    case .closed: throw QueueWait(.put, until: deadline).error(at: name, .closed)
    }
  }

  /// Puts an element into the queue if there is a place at once (a taker who waits, where the capacity is 0), and says
  /// whether there was.
  ///
  /// Throws ``WaitError/Code/closed``.
  @inlinable
  public func tryPut(_ element: sending Element) throws(WaitError) -> Bool {
    switch attempt(toPut: element) {
    case .accepted: return true
    case .full: return false
    case .closed: throw QueueWait(.put, until: .distantPast).error(at: name, .closed)
    }
  }
}
