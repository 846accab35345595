extension ThreadPool {
  /// Runs `body` on a thread of the pool, without a handle.
  ///
  /// Errors of `body` go to the pool's `onTaskError` or the log. A task that never runs (see ``FullQueuePolicy`` and
  /// ``dispose(_:)``) is released without notice; use `submit` to be notified. O(1).
  ///
  /// - Parameters:
  ///   - priority: The order in which it starts, relative to other tasks of the pool.
  ///   - deadline: When to stop waiting for room. Used only by ``FullQueuePolicy/block``.
  ///   - body: The task.
  /// - Throws: ``ThreadPoolError``: the pool was disposed of, is full, or has no thread.
  public func execute(
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture,
    _ body: sending @escaping () throws -> Void
  ) throws(ThreadPoolError) {
    try core.submit(.closure(Closure(body)), level: priority.level, until: deadline)
  }

  /// Runs `body` on a thread of the pool, and returns a handle for its result.
  ///
  /// - Parameters:
  ///   - priority: The order in which it starts, relative to other tasks of the pool.
  ///   - deadline: When to stop waiting for room. Used only by ``FullQueuePolicy/block``.
  ///   - body: The task.
  /// - Throws: ``ThreadPoolError``: the pool was disposed of, is full, or has no thread. The handle reports errors of
  ///   `body`, and a task that never runs.
  @inlinable
  public func submit<Success: Sendable, Failure: Error>(
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture,
    _ body: sending @escaping () throws(Failure) -> Success
  ) throws(ThreadPoolError) -> PoolTask<Success, Failure> {
    let job = ResultJob(core, body: body)
    try core.submit(job, priority, until: deadline)
    return PoolTask(job)
  }

  /// Runs `body` on a thread of the pool once the queue has room for it, and returns a handle for its result. The form
  /// for Swift tasks, which must not block.
  ///
  ///     let task = try await pool.submit(waitingUntil: .after(.seconds(5))) { try load(url) }
  ///
  /// If the queue is full, the task is suspended, whatever the pool's policy. Threads and tasks wait in the same FIFO
  /// order. In a pool without a bound it is never suspended.
  ///
  /// - Parameters:
  ///   - priority: The order in which it starts, relative to other tasks of the pool. It does not affect the wait for
  ///     room.
  ///   - deadline: When to stop waiting for room.
  ///   - body: The task.
  /// - Throws: `CancellationError` if the calling task is cancelled, before or while it waits; ``ThreadPoolError`` if
  ///   the deadline passed, or if the pool was disposed of or has no thread. `body` is then released and never runs.
  @inlinable
  nonisolated(nonsending)
    public func submit<Success: Sendable, Failure: Error>(
      priority: PoolPriority = .normal, waitingUntil deadline: Deadline,
      _ body: sending @escaping () throws(Failure) -> Success
    ) async throws -> PoolTask<Success, Failure>
  {
    let job = ResultJob(core, body: body)
    try await core.submitWhenRoom(job, priority, until: deadline)
    return PoolTask(job)
  }
}
