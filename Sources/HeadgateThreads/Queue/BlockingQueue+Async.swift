// The same calls for tasks, which suspend instead of blocking their thread and stand in the same lines.

extension BlockingQueue where Element: ~Copyable {
  /// Puts an element into the queue; suspends until there is a place or the deadline has passed.
  ///
  /// What the queue does not take comes back, with the reason: ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled``
  /// if the task was cancelled while it waited, or ``WaitError/Code/closed``. An element that comes back was not put.
  @inlinable
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, until deadline: Deadline = .distantFuture
  ) async -> sending PutResult<Element> {
    switch attempt(toPut: element) {
    case .accepted: return .accepted
    case .full(let element): return await putSlowly(element, until: deadline)
    case .closed(let element): return refuse(element, QueueWait(.put, until: deadline), .closed)
    }
  }

  /// Takes the first element out of the queue; suspends until there is one or the deadline has passed.
  ///
  /// Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the task was cancelled while it waited, or
  /// ``WaitError/Code/closed`` once the queue is closed and empty. A call that throws has taken nothing.
  @inlinable
  nonisolated(nonsending) public func take(
    until deadline: Deadline = .distantFuture
  ) async throws(WaitError) -> sending Element {
    switch attempt() {
    case .element(let element): return element
    case .empty: return try await takeSlowly(until: deadline)
    case .closed: throw QueueWait(.take, until: deadline).error(at: name, .closed)
    }
  }

  @inlinable @inline(never)
  nonisolated(nonsending) func putSlowly(
    _ element: consuming Element, until deadline: Deadline
  ) async -> PutResult<Element> {
    var wait = QueueWait(.put, until: deadline)
    if let rendezvous { return await put(element, at: rendezvous, &wait) }
    repeat {
      await core.suspendForPlace(&wait)
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

  @inlinable @inline(never)
  nonisolated(nonsending) func takeSlowly(until deadline: Deadline) async throws(WaitError) -> Element {
    var wait = QueueWait(.take, until: deadline)
    if let rendezvous { return try await take(at: rendezvous, &wait) }
    repeat {
      await core.suspendForElement(&wait)
      switch beginTake() {
      case .open: return endTake()
      case .blocked: continue
      case .closed: throw wait.error(at: name, .closed)
      }
    } while !wait.isOver
    throw wait.error(at: name)
  }
}
