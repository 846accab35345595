extension ThreadLoop {
  /// Has a closure called on the loop, soon: `performSelector:onThread:` without waiting, `DispatchQueue.async`. From
  /// any thread; never waits.
  ///
  /// Closures of one sender are called in the order of sending, also when the loop sends to itself: never at once, and
  /// never one inside another. Costs a short lock, and a wake-up only for the first to come while the loop sleeps.
  ///
  /// - Parameters:
  ///   - body: What to call. An error that it throws goes to the loop's `onError`, and the loop goes on.
  ///   - onCancel: Called once, instead of `body`, if the loop stops before: by whoever finishes the loop, or here if
  ///     it has stopped already. Without it, the log says how many closures a stopped loop has left.
  /// - Returns: False if the loop has stopped, and `body` won't be called.
  @discardableResult
  public func perform(
    _ body: sending @escaping () throws -> Void, onCancel: (@Sendable () -> Void)? = nil
  ) -> Bool {
    let closure = LoopClosure(body: body)
    guard let onCancel else { return core.accept(.closure(closure)) }
    let isAccepted = core.accept(.entry(LoopNoticedClosure(closure, onCancel: onCancel)))
    if !isAccepted { onCancel() }
    return isAccepted
  }

  /// Has a closure called on the loop and waits for what comes of it: `performSelector:onThread:` with waiting,
  /// `DispatchQueue.sync`.
  ///
  /// On the loop itself the closure is called at once, before what was sent earlier. Elsewhere it takes its turn.
  ///
  /// - Parameters:
  ///   - deadline: When to give up: a closure that has not started by then is taken back and never called.
  ///   - body: What to call, with its typed error.
  /// - Returns: What `body` returned; neither it nor the closure need be `Sendable`.
  /// - Throws: ``PerformError``: `failed` with the closure's own error; `notPerformed` when it was taken back
  ///   (`timedOut`, `cancelled`), the loop had stopped (`closed`), the loop waits for the caller's loop
  ///   (`wouldDeadlock`, at once), or the caller must not block (`onCooperativeThread`); `stillRunning` when it had
  ///   started by the deadline.
  @available(*, noasync)
  public func performAndWait<Value: ~Copyable, Failure: Error>(
    until deadline: Deadline = .distantFuture, _ body: sending @escaping () throws(Failure) -> sending Value
  ) throws(PerformError<Failure>) -> sending Value {
    if core.isCurrent { return try core.performHere(body) }
    let start = Deadline.now
    if core.mustNotBlock { throw .notPerformed(WaitError(.onCooperativeThread, operation: core.waitName)) }
    let call = LoopCall<Value, Failure>(core, .ofThread(), body)
    let own = LoopCore.ofThread
    if let own, !LoopWaits.begin(own, for: call) {
      throw .notPerformed(WaitError(.wouldDeadlock, operation: core.waitName))
    }
    defer { if let own { LoopWaits.end(own) } }
    if !core.accept(.entry(call)) { call.leaveUndone() }
    return try call.conclude(call.waiter.wait(until: deadline), since: start)
  }

  /// Has a closure called on the loop and suspends until something comes of it. All as in the
  /// blocking form.
  ///
  /// Cancelling the task takes the closure back, if it has not started.
  public nonisolated(nonsending) func performAndWait<Value: ~Copyable, Failure: Error>(
    until deadline: Deadline = .distantFuture, _ body: sending @escaping () throws(Failure) -> sending Value
  ) async throws(PerformError<Failure>) -> sending Value {
    if core.isCurrent { return try core.performHere(body) }
    let start = Deadline.now
    let call = LoopCall<Value, Failure>(core, .ofTask(), body)
    if !core.accept(.entry(call)) { call.leaveUndone() }
    return try call.conclude(await call.waiter.wait(until: deadline), since: start)
  }
}

extension LoopCore {
  fileprivate func performHere<Value: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> sending Value
  ) throws(PerformError<Failure>) -> sending Value {
    guard state.withLock({ $0.phase == .open }) else {
      throw .notPerformed(WaitError(.closed, operation: waitName))
    }
    do throws(Failure) { return try body() } catch { throw .failed(error) }
  }
}
