import Synchronization

extension PoolCore {
  /// Ends the pool: at once (`now`), with its waiting tasks told that they won't run, or when they have all run.
  func dispose(now: Bool) {
    let (woken, dropped, submitters) = state.withLock { state in
      let isFirst = !state.isDisposed
      state.isDisposed = true
      // Each gets the place that it waits for, and finds the pool closed.
      var submitters: [Waiter] = []
      while let waiter = state.submitters.claimFirst() {
        state.invited += 1
        submitters.append(waiter)
      }
      var dropped: [PoolEntry] = []
      if now {
        recallAll(&state)
        while let entry = state.queue.popFirst() { dropped.append(entry) }
      }
      var woken: [Parker] = []
      if isFirst {
        for place in state.roster.drain() {
          if let parker = state.workers[place]?.parker { woken.append(parker) }
        }
        signal.store(true, ordering: .releasing)
      }
      state.disposers += 1
      return (woken, dropped, submitters)
    }
    discard(dropped, .disposed)
    for submitter in submitters { submitter.wake() }
    for parker in woken { parker.unpark() }
    let mourners = state.withLock { state in
      state.disposers -= 1
      return endIfOver(&state)
    }
    for mourner in mourners { mourner.wake() }
  }

  /// Notes the end if this is it, under the lock, and returns who waits for it.
  func endIfOver(_ state: inout State) -> [Waiter] {
    guard state.isDisposed, state.disposers == 0, state.roster.threads == 0, state.queue.count == 0 else { return [] }
    state.hasEnded = true
    var mourners: [Waiter] = []
    while let mourner = state.mourners.claimFirst() { mourners.append(mourner) }
    return mourners
  }

  // MARK: Waiting for the end

  /// Blocks the calling thread until every task and thread has ended.
  func blockUntilEnd(_ deadline: Deadline) throws(WaitError) {
    if state.withLock({ $0.hasEnded }) { return }
    let started = Deadline.now
    func failure(_ code: WaitError.Code) -> WaitError {
      WaitError(code, operation: "wait for the end of the pool \"\(name)\"", waited: .now - started)
    }
    guard PoolFrame.current?.worker(of: self) == nil else { throw failure(.wouldDeadlock) }
    guard deadline > started else { throw failure(.timedOut) }
    guard !WorkerThread.mustNotBlock else { throw failure(.onCooperativeThread) }
    let waiter = Waiter.ofThread()
    guard add(waiter) else { return }
    let outcome = waiter.wait(until: deadline)
    guard outcome != .woken else { return }
    state.withLock { _ = $0.mourners.remove(waiter) }
    throw failure(outcome == .timedOut ? .timedOut : .cancelled)
  }

  /// Suspends the current task until every task and thread of the pool has ended.
  func suspendUntilEnd(_ deadline: Deadline) async throws(WaitError) {
    let started = Deadline.now
    let waiter = Waiter.ofTask()
    guard add(waiter) else { return }
    let outcome = await waiter.wait(until: deadline)
    guard outcome != .woken else { return }
    state.withLock { _ = $0.mourners.remove(waiter) }
    throw WaitError(
      outcome == .timedOut ? .timedOut : .cancelled, operation: "wait for the end of the pool \"\(name)\"",
      waited: .now - started)
  }

  private func add(_ waiter: Waiter) -> Bool {
    state.withLock { state in
      if !state.hasEnded { state.mourners.append(waiter) }
      return !state.hasEnded
    }
  }
}
