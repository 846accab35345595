extension BlockingQueue where Element: ~Copyable {
  /// Puts an element into the queue; waits for space until the deadline.
  ///
  /// A refused element is returned with the reason: ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the
  /// thread was cancelled while it waited, ``WaitError/Code/closed``, or ``WaitError/Code/onCooperativeThread`` on a
  /// thread that must not block. Even with a deadline in the past, the element is put if there is space.
  @available(*, noasync, message: "use the form with await")
  @inlinable
  public func put(
    _ element: consuming sending Element, until deadline: Deadline = .distantFuture
  ) -> sending PutResult<Element> {
    guard case .open = beginPut() else { return putSlowly(element, until: deadline) }
    finishPut(element)
    return .accepted
  }

  /// Puts an element into the queue; suspends until there is space or the deadline passes.
  ///
  /// A refused element is returned with the reason: ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the
  /// task was cancelled while it waited, or ``WaitError/Code/closed``. A returned element was not put.
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

  /// Puts an element into the queue if there is space, without waiting. With capacity 0, this requires a waiting taker.
  ///
  /// A refused element is returned with ``WaitError/Code/timedOut`` if the queue is full, or ``WaitError/Code/closed``.
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
    let hand = rendezvous == nil ? nil : Hand<Element>()
    var element = element
    repeat {
      if let hand {
        hand.element = consume element
        block(&wait, hand)
        guard let back = hand.element.take() else { return .accepted }
        if let partner = hand.partner.take() {
          finishPut(back, to: partner)
          return .accepted
        }
        element = back
      } else {
        block(&wait, nil)
      }
      switch attempt(toPut: element) {
      case .accepted: return .accepted
      case .full(let back): element = back
      case .closed(let back): return refuse(back, wait, .closed)
      }
    } while !wait.isOver
    return refuse(element, wait)
  }

  @inlinable @inline(never)
  nonisolated(nonsending) func putSlowly(
    _ element: consuming Element, until deadline: Deadline
  ) async -> PutResult<Element> {
    var wait = QueueWait(.put, until: deadline)
    let hand = rendezvous == nil ? nil : Hand<Element>()
    var element = element
    repeat {
      if let hand {
        hand.element = consume element
        await suspend(&wait, hand)
        guard let back = hand.element.take() else { return .accepted }
        element = back
      } else {
        await suspend(&wait, nil)
      }
      switch attempt(toPut: element) {
      case .accepted: return .accepted
      case .full(let back): element = back
      case .closed(let back): return refuse(back, wait, .closed)
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

// Copyable elements also have a throwing `put`. A refused element is released. A caller that may need it again keeps a
// copy, or uses the `PutResult` form if `sending` would take the only reference.
extension BlockingQueue {
  /// Puts an element into the queue; waits for space until the deadline.
  ///
  /// Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the thread was cancelled while it waited,
  /// ``WaitError/Code/closed``, or ``WaitError/Code/onCooperativeThread`` on a thread that must not block. Even with a
  /// deadline in the past, the element is put if there is space. A refused element is released. To get it back, use the
  /// form with a result: `let result: PutResult = queue.put(page)`.
  @available(*, noasync, message: "use the form with await")
  @inlinable
  public func put(_ element: consuming sending Element, until deadline: Deadline = .distantFuture) throws(WaitError) {
    guard case .open = beginPut() else { return try putSlowly(element, until: deadline).get() }
    finishPut(element)
  }

  /// Puts an element into the queue; suspends until there is space or the deadline passes.
  ///
  /// Throws `CancellationError` if the task was cancelled while it waited, and ``WaitError`` with
  /// ``WaitError/Code/timedOut`` or ``WaitError/Code/closed``. A call that throws has not put the element.
  @inlinable
  nonisolated(nonsending) public func put(
    _ element: consuming sending Element, until deadline: Deadline = .distantFuture
  ) async throws {
    switch attempt(toPut: element) {
    case .accepted: return
    case .full(let element): try await putSlowly(element, until: deadline).getInTask()
    case .closed: throw QueueWait(.put, until: deadline).error(at: name, .closed)
    }
  }

  /// Puts an element into the queue if there is space, without waiting. With capacity 0, this requires a waiting taker.
  /// Returns whether the element was put. Throws ``WaitError/Code/closed``.
  @inlinable
  public func tryPut(_ element: consuming sending Element) throws(WaitError) -> Bool {
    switch attempt(toPut: element) {
    case .accepted: return true
    case .full: return false
    case .closed: throw QueueWait(.put, until: .distantPast).error(at: name, .closed)
    }
  }
}
