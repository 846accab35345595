extension ManagedThread {
  /// Waits until the thread has ended and returns its result. By the time it returns, the thread's thread-local values
  /// have been destroyed and its stack released.
  ///
  /// The result moves to the caller, so a thread can be joined only once. A join that timed out or was cancelled has no
  /// effect, and can be repeated. If the thread has already ended, the call returns its result even with a deadline in
  /// the past or after a cancellation.
  ///
  /// - Parameter deadline: When to stop waiting. It does not cover the final exit of a thread whose body and
  ///   thread-local values have already ended.
  ///
  /// Throws ``JoinErrorCode/failed`` with the body's error; ``JoinErrorCode/alreadyJoined`` if another join came first;
  /// ``JoinErrorCode/joinedItself``; ``JoinErrorCode/detached``; ``JoinErrorCode/notStarted``;
  /// ``JoinErrorCode/timedOut``; ``JoinErrorCode/cancelled`` if the calling thread is cancelled;
  /// ``JoinErrorCode/wouldDeadlock`` if the thread itself waits without a deadline for the caller's end, directly or
  /// through others; ``JoinErrorCode/onCooperativeThread`` inside a task.
  @available(*, noasync, message: "use value(until:)")
  @inlinable
  public func join(until deadline: Deadline = .distantFuture) throws(JoinError<Failure>) -> sending Success {
    let began = Deadline.now
    return try outcome(after: core.join(until: deadline), since: began)
  }

  /// Suspends until the thread has ended, and returns its result: the form of ``join(until:)`` for tasks. Cancelling
  /// the task ends the wait, not the thread.
  ///
  /// Throws ``JoinError`` like ``join(until:)``, but `CancellationError` if the task is cancelled. The thread's stack
  /// may be released a moment after this call returns.
  @inlinable
  nonisolated(nonsending) public func value(until deadline: Deadline = .distantFuture) async throws -> sending Success {
    let began = Deadline.now
    let refusal = await core.join(until: deadline)
    if refusal?.code == .cancelled { throw CancellationError() }
    return try outcome(after: refusal, since: began)
  }

  @inlinable
  func outcome(
    after refusal: ThreadCore.Refusal?, since began: Deadline
  ) throws(JoinError<Failure>) -> sending Success {
    if let refusal {
      throw JoinError(refusal.code, thread: name, waited: .now - began, cycle: refusal.cycle)
    }
    // Unchecked: the initializer made it with these types.
    switch unsafeDowncast(core.work, to: TypedThreadWork<Success, Failure>.self).takeOutcome() {
    case .success(let result): return result
    case .failure(let failure): throw JoinError(.failed, failure: failure, thread: name, waited: .now - began)
    case nil: throw JoinError(.exited, thread: name, waited: .now - began)
    }
  }
}
