// The end of a loop. Pending closures are notified that they will not be called. Jobs of Swift tasks cannot be notified
// and must run: on the loop's thread if they were accepted before, otherwise on the global executor. Actors' jobs run
// one at a time there too, since only the executor keeps two of them from running concurrently.
//
// Rejected: a serial dispatch queue for them. A foreign thread's loop ends in a destructor of that thread's variables,
// and libdispatch, used there on one of its own threads, was seen to free that thread's cache twice.

import CHeadgate
import Synchronization

/// An actor's job that arrived after the loop stopped serving its inbox. The executor must live until the job has run.
struct LoopOrphan: Sendable {
  let job: UnownedJob
  let executor: LoopSerialExecutor
}

extension LoopCore {
  /// Stops the loop: no further call starts. Can be called from any thread.
  func stop() {
    let mustFinish = update { state in
      guard state.phase == .open else { return (false, .awake) }
      // A loop that is not in use is finished here: its thread may never run it again.
      let mustFinish = !ownsThread && !state.isInUse
      state.phase = mustFinish ? .finishing : .stopping
      attention.store(true, ordering: .releasing)
      return (mustFinish, state.wake())
    }
    if mustFinish { finish() }
  }

  /// Performs the accepted work, accepts nothing more, and then stops. Called when the last handle is released.
  func stopWhenDone() {
    update { state in
      guard state.phase == .open, !state.drainsFirst else { return ((), .awake) }
      state.drainsFirst = true
      return ((), add(.entry(LoopNotice(Closure { [unowned(unsafe) self] in stop() })), to: &state))
    }
  }

  /// The remaining content of a stopped loop.
  private struct Leftovers: ~Copyable {
    var items: [LoopItem]
    let sources: [LoopSource]
    let watches: [LoopWatch]
    let timers: TimerQueue
    // Releasing it here closes its descriptors, even if handles keep the loop itself alive much longer.
    let poller: Poller?
  }

  /// Notifies everything that remains. Called by the one thread that has set the phase to `finishing`.
  func finish() {
    let leftovers = state.withLock { state -> Leftovers in
      var timers = TimerQueue()
      swap(&timers, &state.timers)
      let leftovers = Leftovers(
        items: state.inbox, sources: Array(state.sources.values), watches: state.watches.all, timers: timers,
        poller: state.poller)
      (state.inbox, state.sources) = ([], [:])
      if let poller = state.poller { state.watches.removeAll(from: poller) }
      state.poller = nil
      state.phase = .stopped
      // From here on actors' jobs queue up behind those of the inbox, which run below.
      state.servesOrphans = true
      return leftovers
    }
    tell(leftovers)
    HeadgateLog.note(.thread, "loop \"\(name)\": stopped")
    end()
  }

  /// Ends and releases all of it before joiners are told that the loop is finished.
  private func tell(_ leftovers: consuming Leftovers) {
    timerCalls.dispose()
    for source in leftovers.sources { source.handler.end().notice?.drop() }
    for watch in leftovers.watches { watch.handler.end().notice?.drop() }
    var untold = 0
    while let item = agenda.pointee.takeItem() { untold += leave(item) }
    for item in leftovers.items { untold += leave(item) }
    agenda.pointee = LoopAgenda()
    if untold > 0 {
      HeadgateLog.warn(.thread, "loop \"\(name)\": \(untold) calls had not started when it stopped; they are dropped")
    }
  }

  /// Ends one item. Returns 1 for a closure without an `onDrop`.
  private func leave(_ item: LoopItem) -> Int {
    switch item {
    case .closure: return 1
    case .entry(let entry): entry.drop()
    case .source: break
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
    (serial, task) = (nil, nil)
    owner.store(0, ordering: .releasing)
    thread.store(0, ordering: .releasing)
    let mustServe = state.withLock { state in
      state.servesOrphans = !state.orphans.isEmpty
      return state.servesOrphans
    }
    for joiner in ended.withLock({ $0.countDown(1) }) { joiner.wake() }
    if mustServe { serveOrphans() }
  }

  // MARK: Jobs after the stop

  /// Accepts an actor's job: into the inbox, or behind other late jobs.
  func accept(_ job: UnownedJob, for executor: LoopSerialExecutor) {
    let mustServe = update { state in
      guard state.phase == .stopped else { return (false, add(.serialJob(job), to: &state)) }
      state.orphans.append(LoopOrphan(job: job, executor: executor))
      defer { state.servesOrphans = true }
      return (!state.servesOrphans, .awake)
    }
    if mustServe { serveOrphans() }
  }

  /// Accepts a job of a task that prefers the loop.
  func accept(_ job: UnownedJob) {
    let isAccepted = update { state in
      state.phase == .stopped ? (false, .awake) : (true, add(.taskJob(job), to: &state))
    }
    if !isAccepted { job.runElsewhere() }
  }

  /// Runs late jobs one at a time on the global executor, in batches, so that other tasks get their turn.
  private func serveOrphans() {
    Task.detached { [self] in
      var orphans: [LoopOrphan] = []
      state.withLock { swap(&$0.orphans, &orphans) }
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
