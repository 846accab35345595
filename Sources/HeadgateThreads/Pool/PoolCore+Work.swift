import Synchronization

extension PoolCore {
  /// A job whose body has ended but whose waiters have not been notified.
  private struct Ended: ~Copyable {
    let job: PoolJob
    let failed: Bool
  }

  /// The body of a pool's thread.
  func work(_ worker: PoolWorker) {
    worker.begin(stackSize: settings.stackSize)
    settings.threadStarted?()
    let frame = PoolFrame(self, worker: worker)
    frame.use { run(worker, frame) }
    settings.threadEnded?()
    HeadgateLog.note(.threadPool, "pool \"\(name)\" ends a thread")
    leave(worker)
  }

  private func run(_ worker: PoolWorker, _ frame: PoolFrame) {
    var ended: Ended?
    while true {
      // This comes before the last task's end is announced. A waiter that then submits its next task finds this worker
      // searching, so no other thread is started.
      let (step, call) = look(worker)
      if case .wake = call { followLater(call) }
      // May run code of the program: a deinitializer, or what waited. The worker just woken does not depend on it.
      if let ended = ended.take() { ended.job.finish(failed: ended.failed, on: worker.record) }
      // The announcement does not wait for the start of a thread.
      if case .start = call { followLater(call) }
      switch consume step {
      case .run(let entry): ended = run(entry, worker, frame)
      case .linger: linger(worker)
      case .sleep(let deadline): _ = worker.parker.park(until: deadline)
      case .end: return
      }
    }
  }

  // MARK: Looking for work

  /// Decides the worker's next step, and which other worker to call.
  private func look(_ worker: PoolWorker) -> (PoolState.Step, PoolRoster.Call) {
    if worker.isWorking, !mustAsk.load(ordering: .relaxed), let entry = outlet.take() {
      worker.taken += 1
      return (.run(entry), .nothing)
    }
    let now = Deadline.now
    let (step, call, admission) = state.withLock { state in
      let (step, call) = state.look(worker, at: now, lingers: settings.lingers && SpinBudget.linger > 0)
      // A task left the queue or this worker became free; either one makes room.
      return (step, call, state.admit())
    }
    follow(admission)
    return (step, call)
  }

  /// Stays awake for a moment, so that tasks in quick succession need no wake-up.
  private func linger(_ worker: PoolWorker) {
    let end = Deadline.now.advanced(byNanoseconds: SpinBudget.linger)
    repeat {
      for _ in 0..<16 {
        if outlet.levels.load(ordering: .acquiring) != 0 { return worker.streams ? gather() : () }
        spinPause()
      }
    } while .now < end
  }

  /// Lets a few tasks of a stream accumulate, so that worker and submitter contend for the lock much less often.
  private func gather() {
    let end = Deadline.now.advanced(byNanoseconds: SpinBudget.gather)
    repeat { for _ in 0..<8 { spinPause() } } while .now < end
  }

  // MARK: Running

  private func run(_ entry: consuming PoolEntry, _ worker: PoolWorker, _ frame: PoolFrame) -> Ended? {
    // A body may have cancelled its own thread, which belongs to the pool and is reused.
    if worker.record.isCancelled { worker.record.clearCancellation() }
    switch consume entry {
    case .closure(let body): runClosure(body)
    case .executorJob(let job, let executor): executor.runHere(job)
    case .job(let job):
      guard job.claim(for: worker.record) else {
        outlet.stale.subtract(1, ordering: .relaxed)
        return nil
      }
      frame.job = job
      let failed = job.perform()
      frame.job = nil
      worker.countCompleted()
      return Ended(job: job, failed: failed)
    }
    worker.countCompleted()
    return nil
  }

  func runClosure(_ body: Closure) {
    do {
      try withAutoreleasePool { try body() }
    } catch {
      if let failed = settings.taskFailed {
        failed(error)
      } else {
        HeadgateLog.warn(.threadPool, "a task of the pool \"\(name)\" failed: \(error)")
      }
    }
  }

  // MARK: The end

  /// Removes a worker that has ended. Work may have arrived since it decided to end.
  private func leave(_ worker: PoolWorker) {
    let (next, admission, isOver) = state.withLock { state in
      let next = state.leave(worker)
      updateMustAsk(state)
      return (next, state.admit(), state.isOver)
    }
    follow(admission)
    followLater(next)
    tell(isOver: isOver)
  }
}
