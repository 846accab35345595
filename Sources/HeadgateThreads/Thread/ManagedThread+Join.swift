extension ManagedThread {
  /// Waits until the thread has ended and gives its result. When it returns, the thread's storage is destroyed and its
  /// stack gone.
  ///
  /// From then on the result belongs to the caller, so it can be joined once. A join that timed out or was cancelled
  /// leaves everything as it was. When the thread has ended already, neither a deadline in the past nor a cancellation
  /// keeps its result back.
  ///
  /// - Parameter deadline: Until when to wait. The last moment of a thread whose body and storage have ended is waited
  ///   for in any case.
  ///
  /// Throws ``JoinErrorCode/failed`` with the error of the body; ``JoinErrorCode/alreadyJoined`` if another join came
  /// before; ``JoinErrorCode/joinedItself``; ``JoinErrorCode/detached``; ``JoinErrorCode/notStarted``;
  /// ``JoinErrorCode/timedOut``; ``JoinErrorCode/cancelled`` if the calling thread is cancelled;
  /// ``JoinErrorCode/wouldDeadlock`` if the thread waits in a join without a deadline for the caller's end, through
  /// others perhaps; ``JoinErrorCode/onCooperativeThread`` in a task.
  @available(*, noasync, message: "use value(until:)")
  @inlinable
  public func join(until deadline: Deadline = .distantFuture) throws(JoinError<Failure>) -> sending Result {
    let began = Deadline.now
    return try outcome(after: core.join(until: deadline), since: began)
  }

  /// The form of ``join(until:)`` for tasks, which suspends. Cancelling the task ends the wait, not the thread.
  ///
  /// Throws as ``join(until:)`` does. The thread's stack may outlive the return by a moment.
  @inlinable
  public func value(until deadline: Deadline = .distantFuture) async throws(JoinError<Failure>) -> sending Result {
    let began = Deadline.now
    return try outcome(after: await core.join(until: deadline), since: began)
  }

  @inlinable
  func outcome(
    after code: JoinErrorCode?, since began: Deadline
  ) throws(JoinError<Failure>) -> sending Result {
    if let code { throw JoinError(code, thread: name, waited: .now - began) }
    switch core.work.takeOutcome(Swift.Result<Result, Failure>.self) {
    case .success(let result): return result
    case .failure(let failure): throw JoinError(.failed, failure: failure, thread: name, waited: .now - began)
    case nil: throw JoinError(.leftWithoutReturning, thread: name, waited: .now - began)
    }
  }
}
