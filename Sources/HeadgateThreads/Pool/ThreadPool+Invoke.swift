extension ThreadPool {
  // MARK: All

  /// Runs all bodies on threads of the pool, and blocks until all have ended, like java.util.concurrent's invokeAll.
  ///
  /// A task of the same pool helps while it waits, so it can call this in a pool of any size. If the deadline passes or
  /// the thread is cancelled, the remaining bodies are cancelled, and the call returns without waiting for those that
  /// are running.
  ///
  /// - Parameters:
  ///   - bodies: The closures to run. With none, the call returns at once.
  ///   - priority: The order in which they start, relative to other tasks of the pool.
  ///   - deadline: When to stop waiting.
  /// - Returns: The results, in the order of `bodies`. The result of a body that had not ended has the code
  ///   ``PoolTaskErrorCode/timedOut`` or ``PoolTaskErrorCode/waitCancelled``.
  /// - Throws: ``ThreadPoolError`` if the pool refuses one of them; those before it are then cancelled.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func invokeAll<Success: Sendable>(
    _ bodies: [@Sendable () throws -> Success], priority: PoolPriority = .normal,
    until deadline: Deadline = .distantFuture
  ) throws(ThreadPoolError) -> [Result<Success, PoolTaskError<any Error>>] {
    let tasks = try submitAll(bodies, priority, until: deadline)
    let results = tasks.map { task in
      Result { () throws(PoolTaskError<any Error>) in
        // A cancelled thread starts none of the remaining bodies, even where it would run them itself.
        if ThreadRecord.current.isCancelled, !task.hasEnded { throw PoolTaskError(.waitCancelled, pool: name) }
        return try task.wait(until: deadline)
      }
    }
    cancelAll(tasks)
    return results
  }

  /// Runs all bodies on threads of the pool, and suspends the task until all have ended.
  ///
  /// Cancelling the task cancels them. The call returns after the running ones have ended.
  ///
  /// - Parameters:
  ///   - bodies: The closures to run. Each waits for room, as in `submit(waitingUntil:_:)`.
  ///   - priority: The order in which they start, relative to other tasks of the pool.
  /// - Returns: The results, in the order of `bodies`.
  /// - Throws: What `submit(waitingUntil:_:)` throws for a body that the pool refuses; those before it are then
  ///   cancelled, and have ended.
  nonisolated(nonsending)
    public func invokeAll<Success: Sendable>(
      _ bodies: [@Sendable () throws -> Success], priority: PoolPriority = .normal
    ) async throws -> [Result<Success, PoolTaskError<any Error>>]
  {
    let tasks = try await submitAll(bodies, priority, joins: true)
    await withTaskCancellationHandler {
      for task in tasks { await task.job.suspendUntilItEnds() }
    } onCancel: {
      cancelAll(tasks)
    }
    return tasks.map { task in Result { () throws(PoolTaskError<any Error>) in try task.job.outcome() } }
  }

  // MARK: Any

  /// Runs bodies on threads of the pool, blocks until one has returned, and cancels the others, like
  /// java.util.concurrent's invokeAny.
  ///
  /// A task of the same pool helps while it waits. Bodies that are still running when the call returns continue, and
  /// see ``ThreadPool/isCancelled``.
  ///
  /// - Parameters:
  ///   - bodies: The closures to run; at least one.
  ///   - priority: The order in which they start, relative to other tasks of the pool.
  ///   - deadline: When to stop waiting.
  /// - Returns: The value of the first body that returned.
  /// - Throws: ``PoolTaskError``: the error of one body if all have failed, or why the wait ended, including
  ///   ``PoolTaskErrorCode/wouldDeadlock`` if all unfinished bodies wait for the caller, directly or through others, and no
  ///   wait has a deadline;
  ///   ``PoolTaskErrorCode/rejected`` if `bodies` is empty, or if the pool refuses one of them: `failure` is then a
  ///   ``ThreadPoolError`` that says why.
  @available(*, noasync, message: "use the form with await, inside a function (not in top-level code)")
  public func invokeAny<Success: Sendable>(
    _ bodies: [@Sendable () throws -> Success], priority: PoolPriority = .normal,
    until deadline: Deadline = .distantFuture
  ) throws(PoolTaskError<any Error>) -> Success {
    let started = Deadline.now
    let tasks: [PoolTask<Success, any Error>]
    do throws(ThreadPoolError) {
      tasks = try submitAll(bodies, priority, until: deadline)
    } catch {
      throw PoolTaskError(.rejected, failure: error, pool: name, waited: .now - started)
    }
    defer { cancelAll(tasks) }
    let ends = JobEnds(tasks.map(\.job))
    let worker = PoolFrame.current?.worker(of: core)
    var unhelped = tasks[...]
    // In reverse, because bodies end about in order: a body that has ended is found and removed near the end.
    var open: [any WaitTarget] = tasks.reversed().map(\.job)
    while true {
      let ended = ends.take().map { tasks[$0].job }
      if let winner = ended.first(where: { $0.state == .succeeded }) { return try winner.outcome() }
      for job in ended {
        if let place = open.lastIndex(where: { $0 === job }) { open.remove(at: place) }
      }
      if open.isEmpty { return try lastOutcome(of: tasks) }
      let mayHelp = deadline > .now && worker?.record.isCancelled == false
      if let worker, mayHelp, helpsNext(of: &unhelped, on: worker) { continue }
      do throws(WaitError) {
        try core.block(at: ends, for: open, isWorker: worker != nil, until: deadline)
      } catch {
        throw PoolTaskError(PoolTaskErrorCode(error), pool: name, waited: .now - started, cycle: error.cycle)
      }
    }
  }

  /// Runs the next queued task on the waiting thread. Returns false if there is none for it.
  private func helpsNext<Success>(
    of tasks: inout ArraySlice<PoolTask<Success, any Error>>, on worker: PoolWorker
  ) -> Bool {
    while let task = tasks.popFirst() {
      if core.help(task.job, on: worker) { return true }
    }
    return false
  }

  /// Runs bodies on threads of the pool, suspends the task until one has returned, and cancels the others.
  ///
  /// Cancelling the task cancels them all. Bodies that are still running when the call returns continue, and see
  /// ``ThreadPool/isCancelled``.
  ///
  /// - Parameters:
  ///   - bodies: The closures to run; at least one. Each waits for room, as in `submit(waitingUntil:_:)`.
  ///   - priority: The order in which they start, relative to other tasks of the pool.
  /// - Returns: The value of the first body that returned.
  /// - Throws: `CancellationError`; ``PoolTaskError`` with the error of one body if all have failed, or with the code
  ///   ``PoolTaskErrorCode/rejected`` if `bodies` is empty; or what `submit(waitingUntil:_:)` throws.
  nonisolated(nonsending)
    public func invokeAny<Success: Sendable>(
      _ bodies: [@Sendable () throws -> Success], priority: PoolPriority = .normal
    ) async throws -> Success
  {
    let tasks = try await submitAll(bodies, priority)
    defer { cancelAll(tasks) }
    let ends = JobEnds(tasks.map(\.job))
    var open = tasks.count
    while true {
      let ended = ends.take().map { tasks[$0].job }
      if let winner = ended.first(where: { $0.state == .succeeded }) { return try winner.outcome() }
      open -= ended.count
      if open == 0 { return try lastOutcome(of: tasks) }
      _ = await ends.suspendUntilEnd()
      try Task.checkCancellation()
    }
  }

  /// Throws the error of the last body, or `rejected` without bodies.
  private func lastOutcome<Success>(
    of tasks: [PoolTask<Success, any Error>]
  ) throws(PoolTaskError<any Error>) -> Success {
    guard let last = tasks.last else { throw PoolTaskError(.rejected, pool: name) }
    return try last.job.outcome()
  }

  // MARK: Submitting

  // In reverse order, so that the end of a running task does not let the next one start.
  private func cancelAll<Success>(_ tasks: [PoolTask<Success, any Error>]) {
    for task in tasks.reversed() { task.cancel() }
  }

  private func submitAll<Success: Sendable>(
    _ bodies: [@Sendable () throws -> Success], _ priority: PoolPriority, until deadline: Deadline
  ) throws(ThreadPoolError) -> [PoolTask<Success, any Error>] {
    var tasks: [PoolTask<Success, any Error>] = []
    do {
      for body in bodies { tasks.append(try submit(priority: priority, until: deadline, body)) }
      return tasks
    } catch {
      cancelAll(tasks)
      throw error
    }
  }

  nonisolated(nonsending)
    private func submitAll<Success: Sendable>(
      _ bodies: [@Sendable () throws -> Success], _ priority: PoolPriority, joins: Bool = false
    ) async throws -> [PoolTask<Success, any Error>]
  {
    var tasks: [PoolTask<Success, any Error>] = []
    do {
      for body in bodies {
        tasks.append(try await submit(priority: priority, waitingUntil: .distantFuture, body))
      }
      return tasks
    } catch {
      cancelAll(tasks)
      // The caller may free what the bodies use.
      if joins { for task in tasks { await task.job.suspendUntilItEnds() } }
      throw error
    }
  }
}
