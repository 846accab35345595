extension ThreadPool {
  /// The most calls of ``blocking(priority:_:)`` that run at a time in the process.
  public static let blockingLimit = 256

  // As many threads as Java lets its virtual threads' carriers grow to; more would be memory, not work.
  private static let forBlocking = Result { () throws(ThreadPoolError) in
    try ThreadPool(name: "headgate-block", size: blockingLimit)
  }

  /// Runs a call that blocks (a C library, a file system, a driver) on a thread where it may, and suspends the task until
  /// it returns.
  ///
  ///     let bytes = try await ThreadPool.blocking { try readAll(path) }
  ///
  /// The threads are shared by the process, started as they are needed, and end after 10 s without work. At most
  /// ``blockingLimit`` calls run at a time; what comes beyond waits in the order of arrival, as a node in a queue, so
  /// calls that wait for each other must be fewer than that.
  ///
  /// Cancelling the task before the call has started ends it at once with the code ``PoolTaskErrorCode/cancelled``, and the
  /// call is never made. Later, the call sees ``ThreadPool/isCancelled``, and its waits in this library end; this returns
  /// when it does, since what it captured is in its hands until then.
  ///
  /// - Parameters:
  ///   - priority: How soon it starts, should calls wait.
  ///   - call: What blocks.
  /// - Throws: ``PoolTaskError``: what the call threw, that it was cancelled before it started, or that the system
  ///   had no thread for it (``PoolTaskErrorCode/notAccepted``).
  nonisolated(nonsending)
    public static func blocking<Success: ~Copyable, Failure: Error>(
      priority: PoolPriority = .normal, _ call: sending @escaping () throws(Failure) -> sending Success
    ) async throws(PoolTaskError<Failure>) -> sending Success
  {
    guard !Task.isCancelled else { throw PoolTaskError(.cancelled, pool: "headgate-block") }
    let job: BlockingCall<Success, Failure>
    do throws(ThreadPoolError) {
      let pool = try forBlocking.get()
      job = BlockingCall(pool.core, call)
      try pool.core.submit(.job(job), level: priority.level)
    } catch {
      throw PoolTaskError(.notAccepted, pool: error.pool)
    }
    let waiter = Waiter.ofTask()
    if job.add(waiter) {
      await withTaskCancellationHandler {
        _ = await waiter.waitForEnd()
      } onCancel: {
        job.cancel()
      }
    }
    return try job.takeAnswer()
  }
}

/// A blocking call whose result goes to one task, and may be of a kind that can't be copied.
// Unchecked: `answer` belongs to who has claimed the job (see `PoolJob`), and after its end to the one task that waits for
// it.
private final class BlockingCall<Success: ~Copyable, Failure: Error>: PoolJob, @unchecked Sendable {
  private var answer: Result<Success, Failure>?

  init(_ core: PoolCore, _ call: sending @escaping () throws(Failure) -> sending Success) {
    super.init(core) { job in
      let job = unsafeDowncast(job, to: BlockingCall<Success, Failure>.self)
      do throws(Failure) {
        job.answer = .success(try call())
        return false
      } catch {
        job.answer = .failure(error)
        return true
      }
    }
  }

  func takeAnswer() throws(PoolTaskError<Failure>) -> sending Success {
    switch answer.take() {
    case .some(.success(let value)): return value
    case .some(.failure(let error)): throw PoolTaskError(.failed, failure: error, pool: core.name)
    case nil: throw PoolTaskError(dropReason ?? .cancelled, pool: core.name)
    }
  }
}
