extension ThreadPool {
  /// Runs `body` on a thread of the pool, and forgets about it.
  ///
  /// What `body` throws goes to the pool's `onTaskError` or the log. A task that never runs (see ``FullQueuePolicy`` and
  /// ``dispose(_:)``) is let go without a call; `submit` tells. O(1).
  ///
  /// - Parameters:
  ///   - priority: How soon it starts, compared with other tasks of the pool.
  ///   - deadline: When to give up waiting for room; used by ``FullQueuePolicy/block`` only.
  ///   - body: The task.
  /// - Throws: ``ThreadPoolError``: the pool was disposed of, is full, or has no thread.
  public func execute(
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture,
    _ body: sending @escaping () throws -> Void
  ) throws(ThreadPoolError) {
    try core.submit(.closure(PoolClosure(body)), level: priority.level, until: deadline)
  }

  /// Calls `method` of `target` with `argument` on a thread of the pool: the classic LSInvocation.
  ///
  ///     try pool.execute(gallery, Gallery.load, url)
  ///
  /// The pool holds both until the call is over. Otherwise as `execute` with a closure.
  public func execute<Target: Sendable, Argument: Sendable>(
    _ target: Target, _ method: @escaping @Sendable (Target) -> (Argument) throws -> Void, _ argument: Argument,
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture
  ) throws(ThreadPoolError) {
    try execute(priority: priority, until: deadline) { try method(target)(argument) }
  }

  /// Calls `method` of `target` on a thread of the pool.
  public func execute<Target: Sendable>(
    _ target: Target, _ method: @escaping @Sendable (Target) -> () throws -> Void,
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture
  ) throws(ThreadPoolError) {
    try execute(priority: priority, until: deadline) { try method(target)() }
  }

  /// Runs `body` on a thread of the pool, and returns a handle for its result.
  ///
  /// - Parameters:
  ///   - priority: How soon it starts, compared with other tasks of the pool.
  ///   - deadline: When to give up waiting for room; used by ``FullQueuePolicy/block`` only.
  ///   - body: The task.
  /// - Throws: ``ThreadPoolError``: the pool was disposed of, is full, or has no thread. What `body` throws, and the end
  ///   of a task that never runs, goes to the handle.
  @inlinable
  public func submit<Success: Sendable, Failure: Error>(
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture,
    _ body: sending @escaping () throws(Failure) -> Success
  ) throws(ThreadPoolError) -> PoolTask<Success, Failure> {
    let task = PoolTask(core, body: body)
    try core.submit(task, priority, until: deadline)
    return task
  }

  /// Calls `method` of `target` with `argument` on a thread of the pool, and returns a handle for the result.
  @inlinable
  public func submit<Target: Sendable, Argument: Sendable, Success: Sendable, Failure: Error>(
    _ target: Target, _ method: @escaping @Sendable (Target) -> (Argument) throws(Failure) -> Success,
    _ argument: Argument, priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture
  ) throws(ThreadPoolError) -> PoolTask<Success, Failure> {
    try submit(priority: priority, until: deadline) { () throws(Failure) -> Success in try method(target)(argument) }
  }

  /// Calls `method` of `target` on a thread of the pool, and returns a handle for the result.
  @inlinable
  public func submit<Target: Sendable, Success: Sendable, Failure: Error>(
    _ target: Target, _ method: @escaping @Sendable (Target) -> () throws(Failure) -> Success,
    priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture
  ) throws(ThreadPoolError) -> PoolTask<Success, Failure> {
    try submit(priority: priority, until: deadline) { () throws(Failure) -> Success in try method(target)() }
  }
}
