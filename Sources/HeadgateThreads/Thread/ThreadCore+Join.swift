import CHeadgate

extension ThreadCore {
  /// What a joiner finds: an answer, or that it must wait.
  private enum Look {
    case answer(JoinErrorCode?)
    case mustWait(Waiter)
  }

  /// Blocks until the thread has ended, and its stack is gone. Nil: its outcome belongs to the caller.
  func join(until deadline: Deadline) -> JoinErrorCode? {
    if record.isCurrent { return .joinedItself }
    let mayBlock = !WorkerThread.mustNotBlock || deadline <= .now
    switch look(mayBlock: mayBlock, { .ofThread() }) {
    case .answer(.some(let code)): return code
    case .answer(nil): break
    case .mustWait(let waiter):
      var outcome = Waiter.Outcome.pending
      let waiting = ThreadRecord.current
      let isEndless = deadline == .distantFuture
      if isEndless, !JoinGraph.enter(waiting, waitsFor: record) {
        return giveUp(.wouldDeadlock)
      }
      outcome = waiter.wait(until: deadline)
      if isEndless { JoinGraph.leave(waiting) }
      if let code = settle(outcome) { return code }
    }
    joinSystemThread()
    return nil
  }

  /// Suspends the task until the thread has ended. Its stack may outlive that by a moment: waiting for it would block.
  func join(until deadline: Deadline) async -> JoinErrorCode? {
    switch look(mayBlock: true, { .ofTask() }) {
    case .answer(.some(let code)): return code
    case .answer(nil): break
    case .mustWait(let waiter):
      if let code = settle(await waiter.wait(until: deadline)) { return code }
    }
    headgate_thread_detach(state.withLock { $0.thread })
    return nil
  }

  private func look(mayBlock: Bool, _ makeWaiter: () -> Waiter) -> Look {
    state.withLock { state in
      switch state.claim {
      case .joining, .joined: return .answer(.alreadyJoined)
      case .detached: return .answer(.detached)
      case .open:
        switch state.phase {
        case .notStarted, .starting: return .answer(.notStarted)
        case .ended:
          state.claim = .joined
          return .answer(nil)
        case .running, .bodyEnded:
          guard mayBlock else { return .answer(.onCooperativeThread) }
          let waiter = makeWaiter()
          state.claim = .joining
          state.joiner = waiter
          return .mustWait(waiter)
        }
      }
    }
  }

  /// After the wait: the thread's end counts, if it has come by now, however the wait ended.
  private func settle(_ outcome: Waiter.Outcome) -> JoinErrorCode? {
    let (code, waiter) = state.withLock { state -> (JoinErrorCode?, Waiter?) in
      let waiter = state.joiner.take()
      guard state.phase == .ended else {
        state.claim = .open
        return (outcome == .cancelled ? .cancelled : .timedOut, waiter)
      }
      state.claim = .joined
      return (nil, waiter)
    }
    _ = consume waiter
    return code
  }

  private func giveUp(_ code: JoinErrorCode) -> JoinErrorCode {
    let waiter = state.withLock { state in
      state.claim = .open
      return state.joiner.take()
    }
    _ = consume waiter
    return code
  }

  /// The thread has nothing left to do but to exit. Looking for that a moment saves the second sleep, which would make a
  /// join a third dearer than `pthread_join` alone.
  private func joinSystemThread() {
    let thread = state.withLock { $0.thread }
    for _ in 0..<SpinBudget.threadExit {
      if headgate_thread_try_join(thread) != 0 { return }
      headgate_pause()
    }
    headgate_thread_join(thread)
  }
}
