extension ThreadPool {
  /// How a pool ends.
  @nonexhaustive
  public enum Disposal: Sendable {
    /// Queued tasks run first.
    case drain
    /// Queued tasks never run: their handles end with the code ``PoolTaskErrorCode/disposed``, and closures of
    /// `execute` are released. Running tasks run to completion; their handles' `cancel` can ask them to end early. Jobs
    /// of Swift tasks continue on the global executor.
    case now
  }

  /// Disposes of the pool. Returns at once; use `waitUntilDisposed` to wait for its end.
  ///
  /// After this call the pool accepts nothing, not even from its own tasks. Submitters that wait for room get the error
  /// ``ThreadPoolError/Code/disposed``. Can be called from any thread, including the pool's tasks, any number of times:
  /// `now` after `drain` drops the tasks that have not started by then.
  public func dispose(_ disposal: Disposal = .drain) { core.dispose(now: disposal == .now) }

  /// Whether the pool was disposed of. It may still be running tasks.
  public var isDisposed: Bool { core.state.withLock { $0.isDisposed } }

  /// Blocks the calling thread until the pool has been disposed of, its tasks have ended and its threads have called
  /// `onThreadEnd`.
  ///
  /// - Parameter deadline: When to stop waiting. With a deadline in the past, the call only checks.
  /// - Throws: ``WaitError``: the deadline passed, the thread was cancelled or must not block, or it belongs to the
  ///   pool.
  @available(*, noasync, message: "blocks the thread; await the async form")
  public func waitUntilDisposed(until deadline: Deadline = .distantFuture) throws(WaitError) {
    if core.ended.tryPass() { return }
    guard !isCurrent else { throw WaitError(.wouldDeadlock, operation: core.waitForEnd) }
    try core.ended.pass(core.waitForEnd, until: deadline)
  }

  /// Suspends the task until the pool has been disposed of, its tasks have ended and its threads have called
  /// `onThreadEnd`.
  ///
  /// - Parameter deadline: When to stop waiting.
  /// - Throws: `CancellationError` if the task is cancelled; ``WaitError`` with `timedOut`.
  nonisolated(nonsending) public func waitUntilDisposed(until deadline: Deadline = .distantFuture) async throws {
    try await core.ended.pass(core.waitForEnd, until: deadline)
  }
}
