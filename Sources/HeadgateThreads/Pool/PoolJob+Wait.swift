extension PoolJob {
  /// Blocks until the job has ended: nil, or why the wait ended without that, and after how long.
  @usableFromInline
  final func waitForEnd(_ deadline: Deadline) -> (code: PoolTaskErrorCode, waited: Duration)? {
    do throws(WaitError) {
      try blockUntilEnd(deadline)
      return nil
    } catch {
      return (PoolTaskErrorCode(error), error.waited)
    }
  }

  /// Blocks the calling thread until the job has ended; runs it here if this is a thread of its pool and it waits there.
  final func blockUntilEnd(_ deadline: Deadline) throws(WaitError) {
    let frame = PoolFrame.current
    if let frame, let worker = frame.worker(of: core) {
      if core.help(self, on: worker) { return }
    } else if lookFor(SpinBudget.task, deadline) {
      return
    }
    let started = Deadline.now
    func failure(_ code: WaitError.Code) -> WaitError {
      WaitError(code, operation: "wait for a task of the pool \"\(core.name)\"", waited: .now - started)
    }
    guard deadline > started else { throw failure(.timedOut) }
    guard !WorkerThread.mustNotBlock else { throw failure(.onCooperativeThread) }

    let job = frame?.job
    if let job, !PoolWaits.begin(job, for: self) { throw failure(.wouldDeadlock) }
    defer { if let job { PoolWaits.end(job) } }
    let waiter = Waiter.ofThread()
    guard add(waiter) else { return }
    switch waiter.wait(until: deadline) {
    case .woken, .pending: return
    case .timedOut:
      remove(waiter)
      throw failure(.timedOut)
    case .cancelled:
      remove(waiter)
      throw failure(.cancelled)
    }
  }

  /// Suspends the current task until the job has ended, or the task is cancelled.
  final func suspendUntilEnd() async -> Waiter.Outcome {
    let waiter = Waiter.ofTask()
    guard add(waiter) else { return .woken }
    let outcome = await waiter.wait(until: .distantFuture)
    if outcome != .woken { remove(waiter) }
    return outcome
  }

  /// Looks for the end for a moment: a short task is over before a sleeper would have fallen asleep.
  private func lookFor(_ nanoseconds: Int64, _ deadline: Deadline) -> Bool {
    guard nanoseconds > 0, deadline != .distantPast else { return hasEnded }
    let end = min(deadline, Deadline.now.advanced(byNanoseconds: nanoseconds))
    repeat {
      for _ in 0..<8 {
        if hasEnded { return true }
        spinPause()
      }
    } while .now < end
    return hasEnded
  }
}
