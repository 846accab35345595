import CHeadgate

extension ThreadCore {
  /// Why a join has no result, and the cycle that it would have closed.
  @usableFromInline typealias Refusal = (code: JoinErrorCode, cycle: String?)

  /// Blocks until the thread has ended and its stack is released. Returns nil if the outcome belongs to the caller.
  @usableFromInline
  func join(until deadline: Deadline) -> Refusal? {
    if record.isCurrent { return (.joinedItself, nil) }
    if let code = claimEnd() { return (code, nil) }
    let refusal = block(until: deadline)
    if refusal != nil { giveUpEnd() }
    return refusal
  }

  private func block(until deadline: Deadline) -> Refusal? {
    if !ended.tryPass() {
      let isEndless = deadline == .distantFuture
      if let cycle = WaitGraph.enter([self], counts: isEndless) { return (.wouldDeadlock, cycle) }
      defer { WaitGraph.leave() }
      // A joiner that has no deadline and cannot be cancelled can wait in the system's join directly. The ending thread
      // then needs no wake-up of ours. Two sleeps of the joiner cost half as much again as one.
      if isEndless, !ThreadRecord.current.isManaged, !WorkerThread.mustNotBlock {
        joinSystemThread()
        return nil
      }
      do throws(WaitError) { try ended.pass("join", until: deadline) } catch { return (JoinErrorCode(error), nil) }
    }
    joinSystemThread()
    return nil
  }

  /// Suspends the task until the thread has ended. It does not wait for the release of the stack, which would block.
  @usableFromInline
  nonisolated(nonsending) func join(until deadline: Deadline) async -> Refusal? {
    if let code = claimEnd() { return (code, nil) }
    do {
      try await ended.pass("join", until: deadline)
    } catch {
      giveUpEnd()
      return (error is CancellationError ? .cancelled : .timedOut, nil)
    }
    headgate_thread_detach(state.withLock { $0.thread })
    return nil
  }

  /// Claims the thread's end for the caller. Returns the reason if it cannot be joined.
  private func claimEnd() -> JoinErrorCode? {
    state.withLock { state in
      switch state.claim {
      case .joined: return .alreadyJoined
      case .detached: return .detached
      case .open:
        if state.phase == .notStarted || state.phase == .starting { return .notStarted }
        state.claim = .joined
        return nil
      }
    }
  }

  private func giveUpEnd() { state.withLock { $0.claim = .open } }

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

extension JoinErrorCode {
  fileprivate init(_ error: WaitError) {
    switch error.code {
    case .cancelled: self = .cancelled
    case .onCooperativeThread: self = .onCooperativeThread
    default: self = .timedOut
    }
  }
}

extension ThreadCore: WaitTarget {
  var performer: ThreadRecord.ID? { record.id }
  var waitName: String { "the end of \(record.title)" }
}
