extension ThreadPool {
  /// The maximum number of concurrent calls of ``blocking(priority:_:)`` in the process.
  public static let blockingLimit = 256

  // The limit to which Java grows the carrier threads of its virtual threads. More would cost memory without doing more
  // work.
  private static let forBlocking = Result { () throws(ThreadPoolError) in
    try ThreadPool(name: "headgate-block", size: blockingLimit)
  }

  /// Runs a blocking call (a C library, a file system, a driver) on a thread that may block, and suspends the task
  /// until it returns.
  ///
  ///     let bytes = try await ThreadPool.blocking { try readAll(path) }
  ///
  /// The threads are shared by the process, start when needed, and end after 10 s without work. At most
  /// ``blockingLimit`` calls run at a time. Further calls wait in a FIFO queue without a thread, so calls that wait for
  /// each other must be fewer than the limit.
  ///
  /// If the task is cancelled before the call has started, it ends at once with `CancellationError`, and the call is
  /// never made. Later, the call sees ``ThreadPool/isCancelled``, and its waits in this library end. The task still
  /// waits for the call to return, because the call uses its captures until then.
  ///
  /// - Parameters:
  ///   - priority: The order in which queued calls start.
  ///   - call: The call that blocks.
  /// - Throws: The call's own error; `CancellationError` if the task was cancelled before the call started;
  ///   ``ThreadPoolError`` if the system had no thread for it.
  nonisolated(nonsending)
    public static func blocking<Success: ~Copyable, Failure: Error>(
      priority: PoolPriority = .normal, _ call: sending @escaping () throws(Failure) -> sending Success
    ) async throws -> sending Success
  {
    try await forBlocking.get().run(priority: priority, call)
  }

  /// Runs `body` on a thread of the pool, and suspends the task until it has returned.
  ///
  ///     let image = try await decoders.run { try decode(file) }
  ///
  /// The call for a task that needs a result from the pool. If the queue is full, the task waits for room, whatever the
  /// pool's policy, in FIFO order with all other submitters.
  ///
  /// If the task is cancelled before `body` has started, the call ends at once with `CancellationError`, and `body`
  /// never runs. Later, `body` sees ``ThreadPool/isCancelled``, and its waits in this library end. The task still waits
  /// for it to return, because it uses its captures until then.
  ///
  /// - Parameters:
  ///   - priority: The order in which it starts, relative to other tasks of the pool. It does not affect the wait for
  ///     room.
  ///   - deadline: When to stop waiting for room. Once there is room, the time is unlimited.
  ///   - body: The work.
  /// - Throws: The error of `body`, as it is; `CancellationError` if the task was cancelled before `body` started;
  ///   ``ThreadPoolError`` if there was no room in time, or if the pool has no thread or was disposed of before `body`
  ///   started; ``PoolTaskError`` with the code ``PoolTaskErrorCode/discarded`` if a newer task has displaced it.
  nonisolated(nonsending)
    public func run<Success: ~Copyable, Failure: Error>(
      priority: PoolPriority = .normal, until deadline: Deadline = .distantFuture,
      _ body: sending @escaping () throws(Failure) -> sending Success
    ) async throws -> sending Success
  {
    let job = ResultJob(core) { () throws(Failure) in Kept(value: try body()) }
    try await core.submitWhenRoom(job, priority, until: deadline)
    await withCancellationHandler {
      await job.suspendUntilItEnds()
    } onCancel: {
      job.cancel()
    }
    switch job.result?.value.take() {
    case .success(let kept)?: return kept.value
    case .failure(let error)?: throw error
    case nil: break
    }
    switch job.dropReason {
    case .disposed?: throw ThreadPoolError(.disposed, pool: name)
    case .discarded?: throw PoolTaskError<Failure>(.discarded, pool: name)
    // Only this task can cancel it.
    default: throw CancellationError()
    }
  }
}

/// The value of a body. A job does not store a result of type `Void`, so without this a body that returns nothing could
/// not be distinguished from one that never ran.
private struct Kept<Value: ~Copyable>: ~Copyable {
  let value: Value
}
