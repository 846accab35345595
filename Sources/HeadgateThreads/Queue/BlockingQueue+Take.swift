extension BlockingQueue where Element: ~Copyable {
  /// Takes the first element out of the queue; waits for one until the deadline.
  ///
  /// Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the thread was cancelled while it waited,
  /// ``WaitError/Code/closed`` once the queue is closed and empty, or ``WaitError/Code/onCooperativeThread`` on a
  /// thread that must not block. Even with a deadline in the past, an element that is present is taken.
  @available(*, noasync, message: "use the form with await")
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
