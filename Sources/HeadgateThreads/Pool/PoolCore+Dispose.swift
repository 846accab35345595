import Synchronization

extension PoolCore {
  /// Disposes of the pool: at once (`now`), dropping the queued tasks, or after all of them have run.
  func dispose(now: Bool) {
    let (woken, dropped, submitters) = state.withLock { state in
      let isFirst = !state.isDisposed
      state.isDisposed = true
      let submitters = state.refuseAll()
      var dropped: [PoolEntry] = []
      while now, let entry = state.queue.take() { dropped.append(entry) }
      let woken = isFirst ? state.parkers(of: state.roster.drain()) : []
      state.disposers += 1
      return (woken, dropped, submitters)
    }
    discard(dropped, .disposed)
    for submitter in submitters { submitter.wake() }
    for parker in woken { parker.unpark() }
    tell(
      isOver: state.withLock { state in
        state.disposers -= 1
        return state.isOver
      })
  }

  /// If the pool has ended, releases the threads and tasks that wait for its end.
  func tell(isOver: Bool) {
    guard isOver else { return }
    for waiter in ended.withLock({ $0.countDown(1) }) { waiter.wake() }
  }

  // MARK: Waiting for the end

  /// Blocks the calling thread until every task and thread has ended.
  func blockUntilEnd(_ deadline: Deadline) throws(WaitError) {
    if ended.tryPass() { return }
    guard PoolFrame.current?.worker(of: self) == nil else {
      throw WaitError(.wouldDeadlock, operation: waitForEnd)
    }
    try ended.pass(waitForEnd, until: deadline)
  }

  /// Suspends the current task until every task and thread of the pool has ended.
  nonisolated(nonsending) func suspendUntilEnd(_ deadline: Deadline) async throws {
    try await ended.pass(waitForEnd, until: deadline)
  }

  private var waitForEnd: String { "wait for the end of the pool \"\(name)\"" }
}
