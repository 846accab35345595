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

  /// The wait for the end, as errors name it.
  var waitForEnd: String { "wait for the end of the pool \"\(name)\"" }
}
