import Synchronization

extension PoolCore {
  /// What becomes of an entry that was offered.
  private enum Offer {
    case accepted(PoolRoster.Call)
    case disposed
    case full
    case waits
    case runsHere
    case displaces(PoolEntry, PoolRoster.Call)
    case givesWay
  }

  /// Takes a task, or says why not. The deadline is for the wait for room.
  func submit(
    _ entry: PoolEntry, level: Int, until deadline: Deadline = .distantFuture
  ) throws(ThreadPoolError) {
    if settings.bound != nil { return try submitBounded(entry, level: level, until: deadline) }
    let call = state.withLock { state in
      state.isDisposed ? nil : accept(entry, level: level, &state)
    }
    guard let call else { throw ThreadPoolError(.disposed, pool: name) }
    if call != .nobody { try follow(call, entry, level: level) }
  }

  private func accept(_ entry: PoolEntry, level: Int, _ state: inout State) -> PoolRoster.Call {
    state.queue.append(entry, level: level)
    state.accepted &+= 1
    if state.batches > 0, level > state.lowestBatch { recall(below: level, &state) }
    return call(&state, work: state.queue.count, growing: true)
  }

  /// Calls who is to come. A pool that has no thread, and gets none, gives the task back instead of keeping it for nobody.
  @inline(never)
  private func follow(_ call: PoolRoster.Call, _ entry: PoolEntry, level: Int) throws(ThreadPoolError) {
    do {
      try follow(call)
    } catch {
      let (withdrawn, submitter, mourners) = state.withLock { state -> (PoolEntry?, Waiter?, [Waiter]) in
        guard state.roster.threads == 0 else { return (nil, nil, []) }
        let withdrawn = state.queue.removeLast(level: level) { $0.isSame(as: entry) }
        // Its place is free for another, who tries for himself; or it was the last that a disposed pool had.
        return (withdrawn, invite(&state), endIfOver(&state))
      }
      submitter?.wake()
      for mourner in mourners { mourner.wake() }
      // Others may have relied on the thread that did not come.
      retryStarting()
      if withdrawn != nil { throw ThreadPoolError(.noThread, pool: name, underlying: error) }
    }
  }

  // MARK: With a bound

  private func submitBounded(
    _ entry: PoolEntry, level: Int, until deadline: Deadline
  ) throws(ThreadPoolError) {
    while true {
      switch state.withLock({ offer(entry, level: level, &$0) }) {
      case .accepted(let call): return try follow(call, entry, level: level)
      case .disposed: throw ThreadPoolError(.disposed, pool: name)
      case .full: throw ThreadPoolError(.full, pool: name)
      case .waits:
        if try waitForRoom(entry, level: level, until: deadline) { return }
      case .runsHere: return runHere(entry)
      case .displaces(let old, let call):
        discard([old], .discarded)
        return try follow(call, entry, level: level)
      case .givesWay: return discard([entry], .discarded)
      }
    }
  }

  private func offer(_ entry: PoolEntry, level: Int, _ state: inout State) -> Offer {
    if state.isDisposed { return .disposed }
    if hasRoom(state) { return .accepted(accept(entry, level: level, &state)) }
    // Pieces of Swift tasks can't be refused; they are taken above the bound.
    if case .executorJob = entry { return .accepted(accept(entry, level: level, &state)) }
    switch settings.policy.kind {
    case .throw: return .full
    case .block:
      guard PoolFrame.current?.worker(of: self) == nil else {
        return .accepted(accept(entry, level: level, &state))
      }
      return .waits
    case .callerRuns:
      guard (PoolFrame.current?.depth ?? 0) < 16 else { return .accepted(accept(entry, level: level, &state)) }
      return .runsHere
    case .discardOldest:
      guard let old = state.queue.popOldestOfLowest(notAbove: level) else { return .givesWay }
      return .displaces(old, accept(entry, level: level, &state))
    }
  }

  /// Whether one more may come: as many may wait as the bound says, beyond those that a worker is there or on its way for.
  func hasRoom(_ state: borrowing State) -> Bool {
    guard let bound = settings.bound else { return true }
    let workers = state.roster.available + finishing.load(ordering: .acquiring)
    return state.queue.count - state.queue.dead + state.invited - workers < bound && state.submitters.isEmpty
  }

  /// Whom to invite after room was made, under the lock. The invited one has a place kept.
  func invite(_ state: inout State) -> Waiter? {
    guard let bound = settings.bound, !state.submitters.isEmpty else { return nil }
    let workers = state.roster.available + finishing.load(ordering: .acquiring)
    guard state.queue.count - state.queue.dead + state.invited - workers < bound else { return nil }
    guard let waiter = state.submitters.claimFirst() else { return nil }
    state.invited += 1
    return waiter
  }

  /// Waits for room and takes it. False: there is room now, so that the caller asks again.
  private func waitForRoom(
    _ entry: PoolEntry, level: Int, until deadline: Deadline
  ) throws(ThreadPoolError) -> Bool {
    guard deadline > .now else { throw ThreadPoolError(.timedOut, pool: name) }
    guard !WorkerThread.mustNotBlock else { throw ThreadPoolError(.onCooperativeThread, pool: name) }
    let waiter = Waiter.ofThread()
    let waits = state.withLock { state in
      if state.isDisposed || hasRoom(state) { return false }
      state.submitters.append(waiter)
      return true
    }
    guard waits else { return false }
    let outcome = waiter.wait(until: deadline)
    guard outcome == .woken else {
      state.withLock { _ = $0.submitters.remove(waiter) }
      throw ThreadPoolError(outcome == .timedOut ? .timedOut : .cancelled, pool: name)
    }
    let call = state.withLock { state in
      state.invited -= 1
      return state.isDisposed ? nil : accept(entry, level: level, &state)
    }
    guard let call else { throw ThreadPoolError(.disposed, pool: name) }
    try follow(call, entry, level: level)
    return true
  }

  // MARK: Away from the queue

  /// Runs a task on its submitter's thread.
  private func runHere(_ entry: PoolEntry) {
    let frame = PoolFrame(self, worker: nil)
    frame.use {
      switch entry {
      case .closure(let body): runClosure(body)
      case .job(let job): _ = runInside(job, frame, nil)
      case .executorJob(let job, let executor): executor.runHere(job)
      }
    }
    state.withLock { $0.completed += 1 }
  }

  /// The entry of ``submit(_:level:until:)`` for inlined callers.
  @usableFromInline
  func submit(_ job: PoolJob, _ priority: PoolPriority, until deadline: Deadline) throws(ThreadPoolError) {
    try submit(.job(job), level: priority.level, until: deadline)
  }

  /// Tells tasks that were taken out of the queue that they will not run.
  func discard(_ entries: consuming [PoolEntry], _ reason: PoolTaskErrorCode) {
    var passed = 0
    for entry in entries {
      switch entry {
      case .closure: HeadgateLog.note(.threadPool, "pool \"\(name)\" drops a task: \(reason)")
      case .job(let job): if !job.drop(reason) { passed += 1 }
      case .executorJob(let job, _): job.runElsewhere()
      }
    }
    if passed > 0 { state.withLock { $0.queue.dead -= passed } }
  }

  /// Ends a job that waits. False: it runs or has ended.
  func drop(_ job: PoolJob, _ reason: PoolTaskErrorCode) -> Bool {
    // Looked at first, so that cancelling what runs costs no lock.
    guard job.isQueued, job.drop(reason) else { return false }
    leaveQueue()
    return true
  }

  /// Runs a job on a thread of the pool that waits for it, if nobody has started it.
  func help(_ job: PoolJob, on worker: PoolWorker) -> Bool {
    guard let frame = PoolFrame.current, job.isQueued, runInside(job, frame, worker) else { return false }
    leaveQueue()
    return true
  }

  private func runInside(_ job: PoolJob, _ frame: PoolFrame, _ worker: PoolWorker?) -> Bool {
    let record = worker?.record ?? .current
    guard job.claim(for: record) else { return false }
    let outer = frame.job
    if let outer {
      PoolWaits.enter(job, within: outer)
      outer.pause(on: record)
    }
    frame.job = job
    let failed = job.perform()
    frame.job = outer
    worker?.countCompleted()
    job.finish(failed: failed, on: record)
    if let outer {
      outer.goOn(on: record)
      PoolWaits.leave(job, within: outer)
    }
    return true
  }

  /// The entry of a job that has ended or begun stays in the queue until somebody comes by; its place is free at once.
  private func leaveQueue() {
    let (swept, waiter) = state.withLock { state in
      state.queue.dead += 1
      return (state.queue.sweep(), invite(&state))
    }
    waiter?.wake()
    _ = consume swept
  }

  func runClosure(_ body: PoolClosure) {
    do {
      try withAutoreleasePool { try body.call() }
    } catch {
      if let failed = settings.taskFailed {
        failed(error)
      } else {
        HeadgateLog.warn(.threadPool, "a task of the pool \"\(name)\" failed: \(error)")
      }
    }
  }
}
