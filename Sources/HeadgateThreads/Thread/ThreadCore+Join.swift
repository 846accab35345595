import CHeadgate

extension ThreadCore {
  /// What a join finds: its answer is decided, it must wait here, or it may wait in the system's join.
  private enum Look {
    case answer(JoinErrorCode?)
    case mustWait(Waiter)
    case mayWaitInSystem
  }

  /// Why a join has no result, and the cycle that it would have closed.
  @usableFromInline typealias Refusal = (code: JoinErrorCode, cycle: String?)

  /// Blocks until the thread has ended and its stack is released. Returns nil if the outcome belongs to the caller.
  @usableFromInline
  func join(until deadline: Deadline) -> Refusal? {
    if record.isCurrent { return (.joinedItself, nil) }
    let isEndless = deadline == .distantFuture
    let mayBlock = !WorkerThread.mustNotBlock || deadline <= .now
    // A joiner that has no deadline and cannot be cancelled can wait in the system's join directly. The ending thread
    // then needs no wake-up of ours. Two sleeps of the joiner cost half as much again as one.
    let look = look(mayBlock: mayBlock, inSystem: !ThreadRecord.current.isManaged && isEndless, { .ofThread() })
    if case .answer(let code) = look {
      guard let code else {
        joinSystemThread()
        return nil
      }
      return (code, nil)
    }
    if let cycle = WaitGraph.enter(self, counts: isEndless) {
      giveUp()
      return (.wouldDeadlock, cycle)
    }
    defer { WaitGraph.leave() }
    if case .mustWait(let waiter) = look, let code = settle(waiter.wait(until: deadline)) { return (code, nil) }
    joinSystemThread()
    return nil
  }

  /// Suspends the task until the thread has ended. It does not wait for the release of the stack, which would block.
  @usableFromInline
  nonisolated(nonsending) func join(until deadline: Deadline) async -> Refusal? {
    switch look(mayBlock: true, inSystem: false, { .ofTask() }) {
    case .answer(.some(let code)): return (code, nil)
    case .answer(nil), .mayWaitInSystem: break
    case .mustWait(let waiter):
      if let code = settle(await waiter.wait(until: deadline)) { return (code, nil) }
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

  /// After the wait. If the thread has ended by now, the join succeeds, however the wait ended.
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

  private func giveUp() {
    let waiter = state.withLock { state in
      state.claim = .open
      return state.joiner.take()
    }
    _ = consume waiter
  }

  private func joinSystemThread() {
    let (thread, isEnding) = state.withLock { ($0.thread, $0.phase == .ended) }
    // The thread only has to exit. A short spin may save a second sleep.
    for _ in 0..<(isEnding ? SpinBudget.threadExit : 0) {
      if headgate_thread_try_join(thread) != 0 { return }
      spinPause()
    }
    headgate_thread_join(thread)
  }
}

extension ThreadCore: WaitTarget {
  var performer: ThreadRecord.ID? { record.id }
  var waitName: String { "the end of \(record.title)" }
}
