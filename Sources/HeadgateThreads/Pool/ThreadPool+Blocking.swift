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
  /// - Throws: ``PoolTaskError``: the call's error, or that the system had no thread for it
  ///   (``PoolTaskErrorCode/rejected``); `CancellationError` if the task was cancelled before the call started.
  nonisolated(nonsending)
    public static func blocking<Success: ~Copyable, Failure: Error>(
      priority: PoolPriority = .normal, _ call: sending @escaping () throws(Failure) -> sending Success
    ) async throws -> sending Success
  {
    try Task.checkCancellation()
    let job: ResultJob<Kept<Success>, Failure>
    do throws(ThreadPoolError) {
      let pool = try forBlocking.get()
      job = ResultJob(pool.core) { () throws(Failure) in Kept(value: try call()) }
      try pool.core.submit(.job(job), level: priority.level)
    } catch {
      throw PoolTaskError<Failure>(.rejected, pool: error.pool)
    }
    await withCancellationHandler {
      await job.suspendUntilItEnds()
    } onCancel: {
      job.cancel()
    }
    switch job.result?.value.take() {
    case .success(let kept)?: return kept.value
    case .failure(let error)?: throw PoolTaskError<Failure>(.failed, failure: error, pool: job.core.name)
    // Only this task can cancel the call: the pool is never disposed of.
    case nil: throw CancellationError()
    }
  }
}

/// The value of a blocking call. A job does not store a result of type `Void`, so without this a call that returns
/// nothing could not be distinguished from a call that was never made.
private struct Kept<Value: ~Copyable>: ~Copyable {
  let value: Value
}
