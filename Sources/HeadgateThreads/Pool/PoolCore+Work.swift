import Synchronization

extension PoolCore {
  /// What a worker does next.
  private enum Step {
    case run(PoolRoster.Call)
    case linger
    case sleep(Deadline)
    case end
  }

  /// How long a batch may have taken for the next to be larger, and how long it may be in one hand, in nanoseconds.
  private static let quick: Int64 = 20_000
  private static let stuck: Int64 = 100_000

  /// What a pool's thread does from its start to its end.
  func work(_ worker: PoolWorker) {
    worker.record = .current
    settings.threadStarted?()
    let frame = PoolFrame(self, worker: worker)
    frame.use {
      while true {
        let (step, submitter) = look(worker)
        submitter?.wake()
        switch step {
        case .run(let call):
          if call != .nobody { followLater(call) }
          runBatch(worker, frame)
        case .linger: linger(worker)
        case .sleep(let deadline): _ = worker.parker.park(until: deadline)
        case .end: return
        }
      }
    }
    settings.threadEnded?()
    HeadgateLog.note(.threadPool, "pool \"\(name)\" ends a thread")
    leave(worker)
  }

  // MARK: Looking for work

  /// What it does next, and who may bring work to it now.
  private func look(_ worker: PoolWorker) -> (Step, Waiter?) {
    let now = Deadline.now
    // A body may have asked its own thread to end, which is the pool's and goes on.
    if worker.record.isCancelled { worker.record.clearCancellation() }
    adapt(worker, now)
    return state.withLock { state in
      let step = look(worker, now, &state)
      // A task left the queue, or this worker became free, which makes room too: all of it where none may wait.
      return (step, invite(&state))
    }
  }

  /// Quick tasks are taken in larger handfuls, slow ones one by one: then all start in their order.
  private func adapt(_ worker: PoolWorker, _ now: Deadline) {
    guard worker.hasWorked, settings.bound == nil else { return }
    if now.nanoseconds(since: worker.refilled) <= PoolCore.quick {
      worker.atOnce = min(worker.atOnce * 2, PoolWorker.mostAtOnce)
    } else {
      worker.atOnce = max(1, worker.atOnce / 4)
    }
  }

  private func look(_ worker: PoolWorker, _ now: Deadline, _ state: inout State) -> Step {
    let wasParked = state.roster.state(of: worker.place) == .parked
    // A token that was meant for an earlier sleep.
    if wasParked, now < worker.idleUntil, !state.isDisposed { return .sleep(worker.idleUntil) }
    if state.roster.state(of: worker.place) == .lingering { state.lingererKnows = false }
    state.roster.look(worker.place)
    if worker.isFinishing {
      worker.isFinishing = false
      finishing.subtract(1, ordering: .relaxed)
    }
    state.queue.dead -= worker.passed
    worker.passed = 0
    if worker.tail > 1 {
      state.batches -= 1
      if state.batches == 0 { state.lowestBatch = .max }
    }
    worker.tail = 0
    if state.batches > 0, now >= state.nextRecall { recallStuck(now, &state) }

    if let step = refill(worker, now, &state) { return step }
    return rest(worker, now, wasParked, &state)
  }

  private func refill(_ worker: PoolWorker, _ now: Deadline, _ state: inout State) -> Step? {
    if state.queue.count == 0, state.batches > 0 { recallShare(&state) }
    let (number, level) = state.queue.take(worker.atOnce, to: worker.batch)
    guard number > 0 else { return nil }
    worker.tail = number
    worker.level = level
    worker.refilled = now
    worker.seen = state.accepted
    worker.next.store(0, ordering: .releasing)
    if number > 1 {
      state.batches += 1
      state.lowestBatch = min(state.lowestBatch, level)
    }
    // What others hold counts too: this worker may have been the one who was to come for it.
    if worker.tries { learn(worker, number) }
    let left = number > 1 ? number - 1 : state.batches > 0 ? state.waiting : state.queue.count
    return .run(call(&state, work: left, growing: false))
  }

  private func rest(_ worker: PoolWorker, _ now: Deadline, _ wasParked: Bool, _ state: inout State) -> Step {
    let flowing = state.accepted != worker.seen
    worker.seen = state.accepted
    let mayLinger = worker.hasWorked && SpinBudget.linger > 0
    worker.hasWorked = false
    switch state.roster.rest(worker.place, mayLinger: mayLinger, flowing: flowing, expired: wasParked) {
    case .linger:
      signal.store(false, ordering: .relaxed)
      return .linger
    case .watch:
      let period = worker.watchPeriod
      worker.watchPeriod = min(period * 2, PoolWorker.longestWatch)
      return .sleep(now.advanced(byNanoseconds: period))
    case .park:
      state.queue.trim()
      worker.watchPeriod = PoolWorker.shortestWatch
      worker.idleUntil = now + settings.idleTime
      return .sleep(worker.idleUntil)
    case .end: return .end
    }
  }

  /// Stays awake for a moment: tasks that come in quick succession need no wake-up.
  private func linger(_ worker: PoolWorker) {
    let end = Deadline.now.advanced(byNanoseconds: SpinBudget.linger)
    repeat {
      for _ in 0..<16 {
        if signal.load(ordering: .acquiring) { return gather(worker) }
        spinPause()
      }
    } while .now < end
    worker.streak = 0
    worker.streams = false
  }

  /// In a stream of tasks from a running submitter, gives it time to bring a handful: both go for the lock much less often.
  ///
  /// Whether there is one, only trying tells: a submitter that waits for each task brings no second one.
  private func gather(_ worker: PoolWorker) {
    worker.streak += 1
    worker.tries = worker.streams || worker.streak >= worker.trial
    guard worker.tries else { return }
    let end = Deadline.now.advanced(byNanoseconds: SpinBudget.gather)
    repeat { for _ in 0..<8 { spinPause() } } while .now < end
  }

  /// Learns from what a wait for a handful has brought.
  private func learn(_ worker: PoolWorker, _ number: Int) {
    worker.tries = false
    worker.streams = number > 2
    worker.streak = 0
    worker.trial = worker.streams ? 4 : min(worker.trial * 2, 256)
  }

  // MARK: Taking back what others hold

  /// Puts back all that workers hold of lower levels, so that a new task comes before it.
  func recall(below level: Int, _ state: inout State) {
    for case .some(let worker) in state.workers where worker.level < level { recall(from: worker, &state) { $0 } }
  }

  /// Puts back what is stuck behind a long task: it is older than what waits in the queue.
  private func recallStuck(_ now: Deadline, _ state: inout State) {
    state.nextRecall = now.advanced(byNanoseconds: PoolCore.stuck)
    for case .some(let worker) in state.workers where now.nanoseconds(since: worker.refilled) > PoolCore.stuck {
      recall(from: worker, &state) { $0 }
    }
  }

  /// Puts back half of what somebody holds, for one who has nothing.
  private func recallShare(_ state: inout State) {
    for case .some(let worker) in state.workers {
      recall(from: worker, &state) { ($0 + 1) / 2 }
      if state.queue.count > 0 { return }
    }
  }

  /// Puts back everything that anybody holds.
  func recallAll(_ state: inout State) {
    for case .some(let worker) in state.workers { recall(from: worker, &state) { $0 } }
  }

  private func recall(from worker: PoolWorker, _ state: inout State, share: (Int) -> Int) {
    for index in worker.release(share: share).reversed() {
      state.queue.prepend(worker.batch.advanced(by: index).move(), level: worker.level)
    }
  }

  // MARK: Running

  private func runBatch(_ worker: PoolWorker, _ frame: PoolFrame) {
    worker.hasWorked = true
    while let entry = worker.claim() {
      switch entry {
      case .closure(let body):
        runClosure(body)
        worker.countCompleted()
      case .job(let job):
        guard job.claim(for: worker.record) else {
          worker.passed += 1
          continue
        }
        frame.job = job
        let failed = job.perform()
        frame.job = nil
        worker.countCompleted()
        // Who hears of this end and submits the next task finds this worker on its way to the queue, and calls no other.
        if worker.isEmptyHanded {
          worker.isFinishing = true
          finishing.add(1, ordering: .relaxed)
        }
        job.finish(failed: failed, on: worker.record)
      case .executorJob(let job, let executor):
        executor.runHere(job)
        worker.countCompleted()
      }
    }
  }

  // MARK: The end

  /// A worker is gone. Work may have come since it decided to go, also into the hands of others, when no other thread could
  /// be had.
  private func leave(_ worker: PoolWorker) {
    let (next, submitter, mourners, dead) = state.withLock {
      state -> (PoolRoster.Call, Waiter?, [Waiter], [PoolEntry]) in
      state.completed += worker.completed.load(ordering: .relaxed)
      state.workers[worker.place] = nil
      state.roster.leave(worker.place)
      let next = call(&state, work: state.waiting, growing: false)
      // Nobody comes for tasks that were cancelled since this one looked: they would hold a disposed pool, for ever.
      let dead = state.roster.threads == 0 ? state.queue.takeAll() : []
      return (next, invite(&state), endIfOver(&state), dead)
    }
    _ = consume dead
    submitter?.wake()
    followLater(next)
    for mourner in mourners { mourner.wake() }
  }
}
