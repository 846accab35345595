import Synchronization

extension PoolCore {
  /// The decision about a submitted entry.
  private enum Offer {
    /// `displacing` is the older entry that was removed to make room, after ended ones before it.
    case accepted(PoolRoster.Call, displacing: [PoolEntry] = [])
    case refused(ThreadPoolError.Code)
    case waits
    case runsHere
    /// The entries of ended jobs were removed, which makes no room.
    case givesWay([PoolEntry])
  }

  /// Accepts a task or throws the reason for refusing it. The deadline limits the wait for room.
  func submit(
    _ entry: PoolEntry, level: Int, until deadline: Deadline = .distantFuture
  ) throws(ThreadPoolError) {
    if settings.bound != nil { return try submitBounded(entry, level: level, until: deadline) }
    let call = state.withLock { $0.isDisposed ? nil : $0.accept(entry, level: level) }
    guard let call else { throw ThreadPoolError(.disposed, pool: name) }
    if call != .nothing { try follow(call, entry, level: level) }
  }

  /// The same for inlined callers.
  @usableFromInline
  func submit(_ job: PoolJob, _ priority: PoolPriority, until deadline: Deadline) throws(ThreadPoolError) {
    try submit(.job(job), level: priority.level, until: deadline)
  }

  /// Wakes or starts the worker that was called. If no thread can be started and the pool has none, the task is given
  /// back with an error.
  @inline(never)
  private func follow(_ call: PoolRoster.Call, _ entry: PoolEntry, level: Int) throws(ThreadPoolError) {
    do {
      try follow(call)
    } catch {
      let (withdrawn, admission, isOver) = state.withLock { state -> (PoolEntry?, PoolState.Admission, Bool) in
        guard state.roster.threads == 0 else { return (nil, .init(), false) }
        let withdrawn = state.queue.withdraw(entry, level: level)
        // Its place in the queue is free for another task, or it was a disposed pool's last task.
        return (withdrawn, state.admit(), state.isOver)
      }
      follow(admission)
      tell(isOver: isOver)
      // Other tasks may have relied on the thread that could not be started.
      retryStarting()
      if withdrawn != nil { throw ThreadPoolError(.noThread, pool: name, underlyingError: error) }
    }
  }

  // MARK: With a bound

  private func submitBounded(
    _ entry: PoolEntry, level: Int, until deadline: Deadline
  ) throws(ThreadPoolError) {
    switch state.withLock({ offer(entry, level: level, &$0) }) {
    case .accepted(let call, let old):
      discard(old, .discarded)
      try follow(call, entry, level: level)
    case .refused(let code): throw ThreadPoolError(code, pool: name)
    case .waits: try blockForRoom(entry, level: level, until: deadline)
    case .runsHere: try runHere(entry)
    case .givesWay(let ended): discard(ended + [entry], .discarded)
    }
  }

  private func offer(_ entry: PoolEntry, level: Int, _ state: inout PoolState) -> Offer {
    if state.isDisposed { return .refused(.disposed) }
    if state.hasRoom { return .accepted(state.accept(entry, level: level)) }
    // Jobs of Swift tasks must not be refused; they are accepted above the bound.
    if case .executorJob = entry { return .accepted(state.accept(entry, level: level)) }
    switch settings.policy {
    case .throw: return .refused(.full)
    case .block:
      guard PoolFrame.current?.worker(of: self) == nil else { return .accepted(state.accept(entry, level: level)) }
      return .waits
    case .callerRuns:
      guard (PoolFrame.current?.depth ?? 0) < 16 else { return .accepted(state.accept(entry, level: level)) }
      return .runsHere
    case .discardOldest:
      let (oldest, ended) = state.queue.popOldestOfLowest(notAbove: level)
      guard let oldest else { return .givesWay(ended) }
      return .accepted(state.accept(entry, level: level), displacing: ended + [oldest])
    }
  }

  // MARK: Waiting for room

  /// Blocks until there is room and the task is accepted.
  private func blockForRoom(_ entry: PoolEntry, level: Int, until deadline: Deadline) throws(ThreadPoolError) {
    guard deadline > .now else { throw ThreadPoolError(.timedOut, pool: name) }
    guard !WorkerThread.mustNotBlock else { throw ThreadPoolError(.onCooperativeThread, pool: name) }
    let waiter = Waiter.ofThread()
    guard try lineUp(entry, level: level, { waiter }) != nil else { return }
    try leaveLine(waiter, after: waiter.wait(until: deadline))
  }

  /// Suspends the task until there is room, whatever the policy. Threads and tasks wait in the same line.
  @usableFromInline
  nonisolated(nonsending)
    func submitWhenRoom(_ job: PoolJob, _ priority: PoolPriority, until deadline: Deadline) async throws
  {
    try Task.checkCancellation()
    guard let waiter = try lineUp(.job(job), level: priority.level, { .ofTask() }) else { return }
    let outcome = await waiter.wait(until: deadline, on: settings.timers)
    do throws(ThreadPoolError) {
      try leaveLine(waiter, after: outcome)
    } catch {
      if error.code == .cancelled { throw CancellationError() }
      throw error
    }
  }

  /// Accepts a task if there is room. Otherwise adds its submitter to the end of the line, and returns its waiter.
  private func lineUp(
    _ entry: PoolEntry, level: Int, _ makeWaiter: () -> Waiter
  ) throws(ThreadPoolError) -> Waiter? {
    let (call, waiter) = state.withLock { state -> (PoolRoster.Call?, Waiter?) in
      if state.isDisposed { return (nil, nil) }
      if state.hasRoom { return (state.accept(entry, level: level), nil) }
      let waiter = makeWaiter()
      state.lineUp(waiter, with: entry, level: level)
      return (nil, waiter)
    }
    if let call {
      try follow(call, entry, level: level)
    } else if waiter == nil {
      throw ThreadPoolError(.disposed, pool: name)
    } else {
      settings.submitterWaits?()
    }
    return waiter
  }

  /// Throws the reason if a submitter has waited without success.
  private func leaveLine(_ waiter: Waiter, after outcome: Waiter.Outcome) throws(ThreadPoolError) {
    let left = state.withLock { $0.leaveLine(waiter) }
    switch outcome {
    case .woken, .pending: if left != nil { throw ThreadPoolError(.disposed, pool: name) }
    case .timedOut: throw ThreadPoolError(.timedOut, pool: name)
    case .cancelled: throw ThreadPoolError(.cancelled, pool: name)
    }
  }

  /// Wakes submitters whose tasks were accepted, and the workers called for these tasks.
  func follow(_ admission: PoolState.Admission) {
    for call in admission.calls { followLater(call) }
    for waiter in admission.waiters { waiter.wake() }
  }

  // MARK: Outside the queue

  /// Runs a task on its submitter's thread.
  private func runHere(_ entry: PoolEntry) throws(ThreadPoolError) {
    // A body that may block must not run on a thread that runs other Swift tasks.
    guard !WorkerThread.isCooperative else { throw ThreadPoolError(.onCooperativeThread, pool: name) }
    let frame = PoolFrame(self, worker: nil)
    frame.use {
      switch entry {
      case .closure(let body): runNested(in: frame, on: .current) { runClosure(body) }
      case .job(let job): _ = runInside(job, frame, .current, worker: nil)
      // Unreachable: jobs of Swift tasks are accepted above the bound.
      case .executorJob(let job, let executor): executor.runHere(job)
      }
    }
    state.withLock { $0.completed += 1 }
  }

  /// Ends tasks that were removed from the queue and will not run.
  func discard(_ entries: consuming [PoolEntry], _ reason: PoolTaskErrorCode) {
    for entry in entries {
      switch entry {
      case .closure: HeadgateLog.note(.threadPool, "pool \"\(name)\" drops a task: \(reason)")
      case .job(let job): if !job.drop(reason) { outlet.stale.subtract(1, ordering: .relaxed) }
      case .executorJob(let job, _): job.runElsewhere()
      }
    }
  }

  /// Ends a queued job. Returns false if it runs or has ended.
  func drop(_ job: PoolJob, _ reason: PoolTaskErrorCode) -> Bool {
    // Checked first, so that cancelling a running job takes no lock.
    guard job.isQueued, job.drop(reason) else { return false }
    leaveQueue()
    return true
  }

  /// Runs a job on a waiting thread of its pool, unless another thread has started it or half of the stack is used up.
  func help(_ job: PoolJob, on worker: PoolWorker) -> Bool {
    guard let frame = PoolFrame.current, job.isQueued, worker.hasStackLeft else { return false }
    return runInside(job, frame, worker.record, worker: worker)
  }

  /// - Parameter worker: The worker that takes the job out of order, from the queue. Nil on the submitter's thread, for a
  ///   job that was never queued.
  private func runInside(_ job: PoolJob, _ frame: PoolFrame, _ record: ThreadRecord, worker: PoolWorker?) -> Bool {
    var hasRun = false
    runNested(in: frame, on: record) {
      // Not earlier: from here on, cancelling this job marks the thread.
      guard job.claim(for: record) else { return }
      hasRun = true
      if worker != nil { leaveQueue() }
      frame.job = job
      let failed = job.perform()
      worker?.countCompleted()
      job.finish(failed: failed, on: record)
    }
    return hasRun
  }

  /// Runs `body` nested inside another job, or inside a submitter's own work. A cancellation of the outer work does not
  /// affect the nested job, or vice versa.
  private func runNested(in frame: PoolFrame, on record: ThreadRecord, _ body: () -> Void) {
    let outer = frame.job
    outer?.pause(on: record)
    // A mark that remains was set for the thread itself, through its handle.
    let wasCancelled = record.isCancelled
    if wasCancelled { record.clearCancellation() }
    frame.job = nil
    body()
    frame.job = outer
    // On a pool's thread, handles cancel only the innermost job, so a mark set meanwhile was meant for the nested one.
    if outer != nil { record.clearCancellation() }
    if wasCancelled { record.markCancelled() }
    outer?.resume(on: record)
  }

  /// The entry of a job that was cancelled or started elsewhere stays in the queue until a worker reaches it. Its place
  /// counts as free at once.
  private func leaveQueue() {
    outlet.stale.add(1, ordering: .relaxed)
    // A disposed pool without threads may end here.
    let (swept, admission, isOver) = state.withLock { ($0.queue.sweep(), $0.admit(), $0.isOver) }
    follow(admission)
    tell(isOver: isOver)
    _ = consume swept
  }
}
