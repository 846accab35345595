// The end of a loop. Closures are told that they are not called; jobs of Swift's tasks can't be told and must run: on
// the loop's thread if they were there before, else on the global executor. Those of actors one after another also
// there, since the executor is all that keeps two of them from running at once.

import CHeadgate
import Synchronization

/// A job of an actor that came when the loop served nobody any more. The executor has to live until it has run.
struct LoopOrphan: Sendable {
  let job: UnownedJob
  let executor: LoopSerialExecutor
}

extension LoopCore {
  /// Stops the loop: nothing starts any more. From any thread.
  func stop() {
    let (mustFinish, sleep) = state.withLock { state -> (Bool, Sleep) in
      guard state.phase == .open else { return (false, .awake) }
      // A loop that nobody runs at the moment is finished here: its thread may never come back to it.
      let mustFinish = !ownsThread && state.depth == 0
      state.phase = mustFinish ? .finishing : .stopping
      attention.store(true, ordering: .releasing)
      return (mustFinish, state.wake())
    }
    wake(from: sleep)
    if mustFinish { finish() }
  }

  /// Does what has been accepted, takes nothing more, then stops: the last handle is gone.
  func stopWhenDone() {
    let sleep = state.withLock { state -> Sleep in
      guard state.phase == .open, !state.drainsFirst else { return .awake }
      state.drainsFirst = true
      state.inbox.append(.entry(LoopNotice(LoopClosure { [unowned(unsafe) self] in stop() })))
      return state.wake()
    }
    wake(from: sleep)
  }

  /// What a stopped loop has left.
  private struct Leftovers: ~Copyable {
    var items: [LoopItem]
    let signalled: [LoopSource?]
    let sources: [LoopSource]
    let watches: [LoopWatch]
    let timers: TimerQueue
    // Closes its descriptors when it goes, while handles may keep the loop itself for long.
    let poller: Poller?
  }

  /// Tells all that is left how it ends. By the one thread that has set the phase to `finishing`.
  func finish() {
    let leftovers = state.withLock { state -> Leftovers in
      var timers = TimerQueue()
      swap(&timers, &state.timers)
      let leftovers = Leftovers(
        items: state.inbox, signalled: state.signalled, sources: Array(state.sources.values),
        watches: state.watches.all, timers: timers, poller: state.poller)
      (state.inbox, state.signalled, state.sources) = ([], [], [:])
      if let poller = state.poller { state.watches.removeAll(from: poller) }
      state.poller = nil
      state.phase = .stopped
      // From here on actors' jobs queue up behind those of the inbox, which are run below.
      state.servesOrphans = true
      return leftovers
    }
    tell(leftovers)
    HeadgateLog.note(.thread, "loop \"\(name)\": stopped")
    end()
  }

  /// Ends all of it, and lets go of it before anybody hears that the loop is finished.
  private func tell(_ leftovers: consuming Leftovers) {
    timerCalls.dispose()
    for source in leftovers.sources { source.handler.end().notice?.leaveUndone() }
    for watch in leftovers.watches { watch.handler.end().notice?.leaveUndone() }
    var untold = 0
    while let item = agenda.pointee.takeItem() { untold += leave(item) }
    for item in leftovers.items { untold += leave(item) }
    agenda.pointee = LoopAgenda()
    if untold > 0 {
      HeadgateLog.warn(.thread, "loop \"\(name)\": \(untold) calls had not started when it stopped: cancelled")
    }
  }

  /// Ends one item. Returns 1 for a closure that nobody is told of.
  private func leave(_ item: LoopItem) -> Int {
    switch item {
    case .closure: return 1
    case .entry(let entry): entry.leaveUndone()
    case .serialJob(let job):
      guard let serial else { break }
      guard isCurrent else {
        state.withLock { $0.orphans.append(LoopOrphan(job: job, executor: serial)) }
        break
      }
      serial.runHere(job)
    case .taskJob(let job): job.runElsewhere()
    }
    return 0
  }

  private func end() {
    releaseExecutors()
    owner.store(0, ordering: .releasing)
    let (mustServe, joiners) = state.withLock { state -> (Bool, [Waiter]) in
      state.servesOrphans = !state.orphans.isEmpty
      state.isFinished = true
      var joiners: [Waiter] = []
      while let joiner = state.joiners.claimFirst() { joiners.append(joiner) }
      return (state.servesOrphans, joiners)
    }
    for joiner in joiners { joiner.wake() }
    if mustServe { serveOrphans() }
  }

  // MARK: Jobs after the stop

  /// Takes an actor's job: into the inbox, or behind the other late ones.
  func accept(_ job: UnownedJob, for executor: LoopSerialExecutor) {
    let (sleep, mustServe) = state.withLock { state -> (Sleep, Bool) in
      guard state.phase == .stopped else {
        state.inbox.append(.serialJob(job))
        if state.inbox.count == 1 { hasNews.store(true, ordering: .relaxed) }
        return (state.wake(), false)
      }
      state.orphans.append(LoopOrphan(job: job, executor: executor))
      defer { state.servesOrphans = true }
      return (.awake, !state.servesOrphans)
    }
    wake(from: sleep)
    if mustServe { serveOrphans() }
  }

  /// Takes a job of a task that prefers the loop.
  func accept(_ job: UnownedJob) {
    let (sleep, isLate) = state.withLock { state -> (Sleep, Bool) in
      guard state.phase != .stopped else { return (.awake, true) }
      state.inbox.append(.taskJob(job))
      if state.inbox.count == 1 { hasNews.store(true, ordering: .relaxed) }
      return (state.wake(), false)
    }
    wake(from: sleep)
    if isLate { job.runElsewhere() }
  }

  /// Runs the late jobs one after another on the global executor, a batch at a time, so that other tasks get their
  /// turn.
  private func serveOrphans() {
    Task.detached { [self] in
      let orphans = state.withLock { state in
        defer { state.orphans = [] }
        return state.orphans
      }
      owner.store(headgate_thread_number(), ordering: .releasing)
      for orphan in orphans { orphan.executor.runHere(orphan.job) }
      owner.store(0, ordering: .releasing)
      let isMore = state.withLock { state in
        state.servesOrphans = !state.orphans.isEmpty
        return state.servesOrphans
      }
      if isMore { serveOrphans() }
    }
  }
}
