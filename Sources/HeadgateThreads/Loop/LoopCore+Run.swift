import Synchronization

extension LoopCore {
  /// Performs turns until the run is asked to end, the limit passes or, for `once`, something was performed. On the
  /// loop's thread.
  func run(once: Bool = false, until limit: Deadline) -> LoopRunEnd {
    let isOpen = state.withLock { state in
      guard state.phase == .open else { return false }
      state.depth += 1
      return true
    }
    guard isOpen else { return .stopped }
    let end = turns(once, until: limit)
    leaveRun()
    return end
  }

  private func turns(_ once: Bool, until limit: Deadline) -> LoopRunEnd {
    var hasWorked = false
    while true {
      if attention.load(ordering: .acquiring), let end = heed() { return end }
      if !ownsThread, record?.isCancelled == true { return .cancelled }
      hasWorked = turn(until: limit, lingers: hasWorked && SpinBudget.loop > 0, chains: !once)
      if once, hasWorked { return .performed }
      if limit != .distantFuture, !attention.load(ordering: .acquiring), clock() >= limit { return .timedOut }
    }
  }

  /// Why the innermost run must end; nil if the request concerned another run.
  private func heed() -> LoopRunEnd? {
    state.withLock { state in
      if state.phase != .open { return .stopped }
      guard state.endsRun else { return nil }
      state.endsRun = false
      attention.store(false, ordering: .releasing)
      return .ended
    }
  }

  private func leaveRun() {
    state.withLock { state in
      state.depth -= 1
      // A request that came too late for this run must not end the enclosing run.
      if state.endsRun {
        state.endsRun = false
        if state.phase == .open { attention.store(false, ordering: .releasing) }
      }
    }
    finishIfDue()
  }

  /// Finishes a stopped loop once all of its runs and direct calls have ended, even if it was stopped before its first
  /// run.
  func finishIfDue() {
    let isMine = state.withLock { state in
      guard !state.isInUse, state.phase == .stopping else { return false }
      state.phase = .finishing
      return true
    }
    if isMine { finish() }
  }

  /// Asks the innermost run to end.
  func endRun() -> Bool {
    update { state in
      guard state.phase == .open, state.depth > (ownsThread ? 1 : 0) else { return (false, .awake) }
      state.endsRun = true
      attention.store(true, ordering: .releasing)
      return (true, state.wake())
    }
  }
}
