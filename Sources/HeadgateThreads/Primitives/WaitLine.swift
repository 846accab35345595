// How Semaphore, Latch, Notify and Barrier wait. Each is a value with a list of waiters behind one lock. Both ways of
// waiting, of a thread and of a task, are implemented here.
//
// A waker claims the waiter (`Waiter.claim`) and hands over what it waits for, both under the lock. If a deadline or
// cancellation decides the wait first, the waker takes the next waiter. Otherwise it has no effect.

/// A state with its list of waiters.
protocol WaitLine {
  /// The waiters, in FIFO order.
  var waiters: WaitList { get set }

  /// Admits a new arrival and returns the waiters to wake because of that. Nil if the arrival has to wait.
  mutating func admit() -> [Waiter]?

  /// Removes a waiter whose wait was ended by its deadline or a cancellation. Returns true if it is admitted all the
  /// same.
  mutating func withdraw(_ waiter: Waiter) -> Bool
}

extension WaitLine {
  mutating func withdraw(_ waiter: Waiter) -> Bool {
    waiters.remove(waiter)
    return admit() != nil
  }
}

extension Locked where Value: WaitLine {
  /// Admits the caller if it can be admitted without waiting.
  func tryPass() -> Bool {
    let woken = withLock { $0.admit() }
    for waiter in woken ?? [] { waiter.wake() }
    return woken != nil
  }

  /// Blocks the calling thread until it is admitted. Returns true if it did not have to wait.
  @discardableResult
  func pass(_ operation: @autoclosure () -> String, until deadline: Deadline) throws(WaitError) -> Bool {
    if tryPass() { return true }
    let start = Deadline.now
    func failure(_ code: WaitError.Code) -> WaitError { WaitError(code, operation: operation(), waited: .now - start) }
    guard deadline > start else { throw failure(ThreadRecord.current.isCancelled ? .cancelled : .timedOut) }
    guard !WorkerThread.mustNotBlock else { throw failure(.onCooperativeThread) }
    let waiter = Waiter.ofThread()
    guard lineUp(waiter) else { return true }
    let outcome = waiter.wait(until: deadline)
    guard outcome == .woken || withLock({ $0.withdraw(waiter) }) else {
      throw failure(outcome == .cancelled ? .cancelled : .timedOut)
    }
    return false
  }

  /// Suspends the task until it is admitted. Returns true if it did not have to wait.
  @discardableResult
  nonisolated(nonsending) func pass(
    _ operation: @autoclosure () -> String, until deadline: Deadline
  ) async throws -> Bool {
    if tryPass() { return true }
    let start = Deadline.now
    guard deadline > start else {
      try Task.checkCancellation()
      throw WaitError(.timedOut, operation: operation())
    }
    let waiter = Waiter.ofTask()
    guard lineUp(waiter) else { return true }
    let outcome = await waiter.wait(until: deadline)
    guard outcome == .woken || withLock({ $0.withdraw(waiter) }) else {
      if outcome == .cancelled { throw CancellationError() }
      throw WaitError(.timedOut, operation: operation(), waited: .now - start)
    }
    return false
  }

  private func lineUp(_ waiter: Waiter) -> Bool {
    let woken = withLock { state -> [Waiter]? in
      let woken = state.admit()
      if woken == nil { state.waiters.append(waiter) }
      return woken
    }
    for waiter in woken ?? [] { waiter.wake() }
    return woken == nil
  }
}
