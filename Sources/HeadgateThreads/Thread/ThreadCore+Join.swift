import CHeadgate

extension ThreadCore {
  /// What a joiner finds: an answer, that it must wait here, or that it may wait in the system at once.
  private enum Look {
    case answer(JoinErrorCode?)
    case mustWait(Waiter)
    case mayWaitInSystem
  }

  /// Blocks until the thread has ended, and its stack is gone. Nil: its outcome belongs to the caller.
  @usableFromInline
  func join(until deadline: Deadline) -> JoinErrorCode? {
    if record.isCurrent { return .joinedItself }
    let waiting = ThreadRecord.current
    let isEndless = deadline == .distantFuture
    let mayBlock = !WorkerThread.mustNotBlock || deadline <= .now
    // Nothing can end the wait of a thread that can't be cancelled but what it waits for. So it goes straight to the
    // system, and the ending thread needs no wake-up of ours: two sleeps of the joiner cost a half more than one.
    switch look(mayBlock: mayBlock, inSystem: isEndless && !waiting.isManaged, { .ofThread() }) {
    case .answer(.some(let code)): return code
    case .answer(nil), .mayWaitInSystem: break
    case .mustWait(let waiter):
      if isEndless, !JoinGraph.enter(waiting, waitsFor: record) { return giveUp(.wouldDeadlock) }
      let outcome = waiter.wait(until: deadline)
      if isEndless { JoinGraph.leave(waiting) }
      if let code = settle(outcome) { return code }
    }
    joinSystemThread()
    return nil
  }

  /// Suspends the task until the thread has ended. Its stack may outlive that by a moment: waiting for it would block.
  @usableFromInline
  func join(until deadline: Deadline) async -> JoinErrorCode? {
    switch look(mayBlock: true, inSystem: false, { .ofTask() }) {
    case .answer(.some(let code)): return code
    case .answer(nil), .mayWaitInSystem: break
    case .mustWait(let waiter):
      if let code = settle(await waiter.wait(until: deadline)) { return code }
    }
    headgate_thread_detach(state.withLock { $0.thread })
    return nil
  }

  private func look(mayBlock: Bool, inSystem: Bool, _ makeWaiter: () -> Waiter) -> Look {
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
          if inSystem {
            state.claim = .joined
            return .mayWaitInSystem
          }
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

  private func joinSystemThread() {
    let (thread, isEnding) = state.withLock { ($0.thread, $0.phase == .ended) }
    // A thread that has nothing left to do but to exit: looking for that a moment may save another sleep.
    for _ in 0..<(isEnding ? SpinBudget.threadExit : 0) {
      if headgate_thread_try_join(thread) != 0 { return }
      spinPause()
    }
    headgate_thread_join(thread)
  }
}
