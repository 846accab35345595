extension BlockingQueue where Element: ~Copyable {
  /// Takes the first element out of the queue; waits for one until the deadline.
  ///
  /// Throws ``WaitError/Code/timedOut``, ``WaitError/Code/cancelled`` if the thread was cancelled while it waited,
  /// ``WaitError/Code/closed`` once the queue is closed and empty, or ``WaitError/Code/onCooperativeThread`` where the
  /// thread must not be blocked. A deadline that has passed still takes what is there.
  @available(*, noasync, message: "use the form with await")
  @inlinable
  public func take(until deadline: Deadline = .distantFuture) throws(WaitError) -> sending Element {
    if let rendezvous { return try take(at: rendezvous, until: deadline) }
    switch beginTake() {
    case .open: return endTake()
    case .blocked: return try takeSlowly(until: deadline)
    case .closed: throw QueueWait(.take, until: deadline).error(at: name, .closed)
    }
  }

  /// Takes the first element out of the queue if there is one at once (a putter who waits, where the capacity is 0).
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
    repeat {
      core.waitForElement(&wait)
      switch beginTake() {
      case .open: return endTake()
      case .blocked: continue
      case .closed: throw wait.error(at: name, .closed)
      }
    } while !wait.isOver
    throw wait.error(at: name)
  }
}
