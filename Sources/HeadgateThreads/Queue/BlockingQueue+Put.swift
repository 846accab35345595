extension BlockingQueue where Element: ~Copyable {
  /// Puts an element into the queue; waits for a place until the deadline.
  ///
  /// What the queue does not take comes back, with the reason: ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled``
  /// if the thread was cancelled while it waited, ``WaitError/Code/closed``, or ``WaitError/Code/onCooperativeThread``
  /// where the thread must not be blocked. A deadline that has passed still puts if there is a place. (Elements that can
  /// be copied have a `put` that throws.)
  @available(*, noasync, message: "use the form with await")
  @inlinable
  public func put(
    _ element: consuming sending Element, until deadline: Deadline = .distantFuture
  ) -> sending PutResult<Element> {
    if let rendezvous { return put(element, at: rendezvous, until: deadline) }
    switch beginPut() {
    case .open:
      endPut(element)
      return .accepted
    case .blocked: return putSlowly(element, until: deadline)
    case .closed: return refuse(element, QueueWait(.put, until: deadline), .closed)
    }
  }

  /// Puts an element into the queue if there is a place at once (a taker who waits, where the capacity is 0).
  ///
  /// What the queue does not take comes back: with ``WaitError/Code/timedOut`` if it is full, or
  /// ``WaitError/Code/closed``.
  @inlinable
  public func tryPut(_ element: consuming sending Element) -> sending PutResult<Element> {
    switch attempt(toPut: element) {
    case .accepted: return .accepted
    case .full(let element): return refuse(element, QueueWait(.put, until: .distantPast), .timedOut)
    case .closed(let element): return refuse(element, QueueWait(.put, until: .distantPast), .closed)
    }
  }

  @inlinable @inline(never)
  func putSlowly(_ element: consuming Element, until deadline: Deadline) -> PutResult<Element> {
    var wait = QueueWait(.put, until: deadline)
    repeat {
      core.waitForPlace(&wait)
      switch beginPut() {
      case .open:
        endPut(element)
        return .accepted
      case .blocked: continue
      case .closed: return refuse(element, wait, .closed)
      }
    } while !wait.isOver
    return refuse(element, wait)
  }

  @usableFromInline
  func refuse(
    _ element: consuming Element, _ wait: QueueWait, _ code: WaitError.Code? = nil
  ) -> PutResult<Element> {
    .refused(element, wait.error(at: name, code))
  }
}
