extension BlockingQueue where Element: ~Copyable {
  /// Puts an element into the queue; waits for space until the deadline.
  ///
  /// A refused element is returned with the reason: ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the
  /// thread was cancelled while it waited, ``WaitError/Code/closed``, or ``WaitError/Code/onCooperativeThread`` on a
  /// thread that must not block. Even with a deadline in the past, the element is put if there is space.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
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
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
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

extension BlockingQueue where Element: ~Copyable {
  /// Takes the first element out of the queue; waits for one until the deadline.
  ///
  /// Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the thread was cancelled while it waited,
  /// ``WaitError/Code/closed`` once the queue is closed and empty, or ``WaitError/Code/onCooperativeThread`` on a
  /// thread that must not block. Even with a deadline in the past, an element that is present is taken.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  @inlinable
  public func take(until deadline: Deadline = .distantFuture) throws(WaitError) -> sending Element {
    guard case .open = beginTake() else { return try takeSlowly(until: deadline) }
    return finishTake()
  }

  /// Takes the first element out of the queue; suspends until there is one or the deadline passes.
  ///
  /// Throws `CancellationError` if the task was cancelled while it waited, and ``WaitError`` with
  /// ``WaitError/Code/timedOut`` or, once the queue is closed and empty, ``WaitError/Code/closed``. A call that throws
  /// has not taken an element.
  @inlinable
  nonisolated(nonsending) public func take(
    until deadline: Deadline = .distantFuture
  ) async throws -> sending Element {
    switch attempt() {
    case .element(let element): return element
    case .empty: return try await takeSlowly(until: deadline)
    case .closed: throw QueueWait(.take, until: deadline).error(at: name, .closed)
    }
  }

  /// Takes the first element out of the queue if there is one, without waiting. With capacity 0, this requires a
  /// waiting putter. Returns nil if there is none.
  ///
  /// Throws ``WaitError/Code/closed`` once the queue is closed and empty.
  @inlinable
  public func tryTake() throws(WaitError) -> sending Element? {
    switch attempt() {
    case .element(let element): return element
    case .empty: return nil
    case .closed: throw QueueWait(.take, until: .distantPast).error(at: name, .closed)
    }
  }

  @inlinable @inline(never)
  func takeSlowly(until deadline: Deadline) throws(WaitError) -> Element {
    var wait = QueueWait(.take, until: deadline)
    let hand = rendezvous == nil ? nil : Hand<Element>()
    repeat {
      block(&wait, hand)
      if let hand {
        if let partner = hand.partner.take() { return finishTake(from: partner) }
        if let element = hand.element.take() { return element }
      }
      switch attempt() {
      case .element(let element): return element
      case .empty: continue
      case .closed: throw wait.error(at: name, .closed)
      }
    } while !wait.isOver
    throw wait.error(at: name)
  }

  @inlinable @inline(never)
  nonisolated(nonsending) func takeSlowly(until deadline: Deadline) async throws -> Element {
    var wait = QueueWait(.take, until: deadline)
    let hand = rendezvous == nil ? nil : Hand<Element>()
    repeat {
      await suspend(&wait, hand)
      if let hand, let element = hand.element.take() { return element }
      switch attempt() {
      case .element(let element): return element
      case .empty: continue
      case .closed: throw wait.error(at: name, .closed)
      }
    } while !wait.isOver
    throw wait.error(at: name).inTask
  }

  /// Takes at most `limit` elements that are present, in order, without waiting, and passes each to `body`. Returns
  /// their number.
  ///
  /// Elements put during the call are left, so the call ends however fast others put. `body` is called without a lock
  /// and may use the queue. An error that it throws ends the call; the remaining elements stay in the queue. With
  /// capacity 0, the elements of waiting putters are taken.
  @inlinable
  public func drain<Failure: Error>(
    max limit: Int = .max, _ body: (consuming sending Element) throws(Failure) -> Void
  ) throws(Failure) -> Int {
    var count = 0
    let most = min(limit, elementsAtHand)
    while count < most, case .element(let element) = attempt() {
      count += 1
      try body(element)
    }
    return count
  }

  /// The number of elements that can be taken without waiting. With capacity 0, those of waiting putters.
  @usableFromInline var elementsAtHand: Int { rendezvous?.waitingCounts.putters ?? core.count }
}

/// The result of a put. A thrown error cannot carry a noncopyable element, so this returns it.
@frozen
public enum PutResult<Element: ~Copyable>: ~Copyable {
  /// The element is in the queue.
  case accepted
  /// The queue refused the element: the element and the reason.
  case refused(Element, WaitError)
}

extension PutResult: Sendable where Element: ~Copyable & Sendable {}

extension PutResult where Element: ~Copyable {
  /// Whether the element was put.
  public var isAccepted: Bool {
    switch self {
    case .accepted: true
    case .refused: false
    }
  }

  /// Throws the reason of a refusal and releases the refused element. Does nothing if the element was accepted.
  @inlinable
  public consuming func get() throws(WaitError) {
    switch consume self {
    case .accepted: return
    case .refused(_, let error): throw error
    }
  }

  /// The same for a task: a cancellation is thrown as `CancellationError`.
  @inlinable
  consuming func getInTask() throws {
    if case .refused(_, let error) = consume self { throw error.inTask }
  }

  /// Returns whether there was space. Throws any other reason of a refusal.
  consuming func wasAccepted() throws(WaitError) -> Bool {
    switch consume self {
    case .accepted: return true
    case .refused(_, let error):
      if error.code == .timedOut { return false }
      throw error
    }
  }
}
