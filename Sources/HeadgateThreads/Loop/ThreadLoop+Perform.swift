extension ThreadLoop {
  /// Calls a closure on the loop soon, like `performSelector:onThread:` without waiting or `DispatchQueue.async`. Can
  /// be called from any thread; never waits.
  ///
  /// Closures of one sender are called in the order of sending, including those that the loop sends to itself. They are
  /// never called directly by `perform`, or nested in each other. The cost is a short lock, and a wake-up only for the
  /// first closure sent while the loop sleeps.
  ///
  /// - Parameters:
  ///   - body: The closure. Its error goes to the loop's `onError`, and the loop continues.
  ///   - onDrop: Called once, instead of `body`, if the loop stops first: by the thread that ends the loop, or on the
  ///     calling thread if the loop has already stopped. Closures without it are counted in a log line when the loop
  ///     stops.
  /// - Returns: False if the loop has stopped and `body` will not be called.
  @discardableResult
  public func perform(
    _ body: sending @escaping () throws -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) -> Bool {
    let closure = Closure(body)
    guard let onDrop else { return core.accept(.closure(closure)) }
    let isAccepted = core.accept(.entry(LoopNotice(closure, onDrop: onDrop)))
    if !isAccepted { onDrop() }
    return isAccepted
  }

  /// Calls a closure on the loop and waits for its result, like `performSelector:onThread:` with waiting or
  /// `DispatchQueue.sync`.
  ///
  /// On the loop itself the closure is called at once, before closures sent earlier. From elsewhere it is called in
  /// FIFO order.
  ///
  /// - Parameters:
  ///   - deadline: When to stop waiting. A closure that has not started by then is withdrawn and never called.
  ///   - body: The closure, with a typed error.
  /// - Returns: The value that `body` returned. Neither it nor the closure need be `Sendable`.
  /// - Throws: ``PerformError``: `failed` with the closure's error; `notCalled` if the closure was withdrawn
  ///   (`timedOut`, `cancelled`), the loop had stopped (`closed`), the loop's thread waits for the caller, directly or
  ///   through others, and none of these waits has a deadline (`wouldDeadlock`, at once), or the caller must not block
  ///   (`onCooperativeThread`); `stillRunning` if it had started by the deadline.
  @available(*, noasync)
  public func performAndWait<Value: ~Copyable, Failure: Error>(
    until deadline: Deadline = .distantFuture, _ body: sending @escaping () throws(Failure) -> sending Value
  ) throws(PerformError<Failure>) -> sending Value {
    if core.isCurrent { return try core.performHere(body) }
    let start = Deadline.now
    if WorkerThread.mustNotBlock {
      throw PerformError(.notCalled, reason: WaitError(.onCooperativeThread, operation: core.callName))
    }
    let call = LoopCall<Value, Failure>(core, .ofThread(), body)
    if let cycle = WaitGraph.enter([call], counts: deadline == .distantFuture) {
      throw PerformError(
        .notCalled, reason: WaitError(.wouldDeadlock, operation: core.callName, cycle: cycle))
    }
    defer { WaitGraph.leave() }
    if !core.accept(.entry(call)) { call.drop() }
    return try call.conclude(call.waiter.wait(until: deadline), since: start)
  }

  /// Calls a closure on the loop and suspends until its result is available. Otherwise like the blocking form.
  ///
  /// Cancelling the task withdraws the closure if it has not started. Otherwise the closure continues, and its result
  /// is discarded.
  ///
  /// - Throws: `CancellationError` if the task was cancelled first; otherwise ``PerformError``, like the blocking form.
  public nonisolated(nonsending) func performAndWait<Value: ~Copyable, Failure: Error>(
    until deadline: Deadline = .distantFuture, _ body: sending @escaping () throws(Failure) -> sending Value
  ) async throws -> sending Value {
    if core.isCurrent { return try core.performHere(body) }
    let start = Deadline.now
    let call = LoopCall<Value, Failure>(core, .ofTask(), body)
    if !core.accept(.entry(call)) { call.drop() }
    let end = await call.waiter.wait(until: deadline)
    do throws(PerformError<Failure>) {
      return try call.conclude(end, since: start)
    } catch {
      throw end == .cancelled && error.code != .failed ? CancellationError() : error
    }
  }
}

extension LoopCore {
  var callName: String { "performAndWait on the loop \"\(name)\"" }

  fileprivate func performHere<Value: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> sending Value
  ) throws(PerformError<Failure>) -> sending Value {
    // Counted, so that a stop waits for the call: the thread remains the loop's until it ends.
    let isOpen = state.withLock { state in
      guard state.phase == .open else { return false }
      state.directCalls += 1
      return true
    }
    guard isOpen else { throw PerformError(.notCalled, reason: WaitError(.closed, operation: callName)) }
    defer {
      state.withLock { $0.directCalls -= 1 }
      finishIfDue()
    }
    do throws(Failure) { return try body() } catch { throw PerformError(.failed, failure: error) }
  }
}
