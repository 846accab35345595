// A turn: check for work, wait if there is none, then do a bounded share of each kind of work, so that a flood of one
// kind does not starve another. The order is: due timers, ready descriptors, sent items and signalled sources.

import CHeadgate
import Synchronization

extension LoopCore {
  /// The maximum number of items, and of timers, per turn.
  static var share: Int { 256 }

  private enum Step {
    /// With the poller, if descriptors are watched.
    case work(Poller?)
    case idle
    case sleep(until: Deadline, Poller?)
    case attention
  }

  /// Takes over new work, and decides under one acquisition of the lock whether to work, sleep or return.
  private func look(until limit: Deadline, maySleep: Bool) -> Step {
    let now = clock()
    return state.withLock { state -> Step in
      state.sleep = .awake
      guard state.phase == .open, !state.endsRun else { return .attention }
      if agenda.pointee.isBatchDone, !state.inbox.isEmpty { agenda.pointee.refill(from: &state.inbox) }
      hasNews.store(false, ordering: .relaxed)
      let next = state.timers.nextDeadline ?? .distantFuture
      agenda.pointee.hasDueTimers = next <= now
      let poller = state.watches.isEmpty ? nil : state.poller
      state.wait += 1
      if agenda.pointee.events.isEmpty { agenda.pointee.wait = state.wait }
      if agenda.pointee.hasWork || limit <= now { return .work(poller) }
      guard maySleep else { return .idle }
      state.sleep = poller == nil ? .parked : .polling
      state.sleepsUntil = min(limit, next)
      return .sleep(until: state.sleepsUntil, poller)
    }
  }

  /// Waits until there is work, at most until `limit`, and does a share of it. Returns false if nothing was done.
  ///
  /// - Parameters:
  ///   - lingers: Whether to spin briefly before sleeping, because there was work just now.
  ///   - chains: Whether items that arrive during the turn belong to it, within its share. An actor's next job then
  ///     needs no check of the clock and the timers.
  func turn(until limit: Deadline, lingers: Bool, chains: Bool) -> Bool {
    var maySleep = !lingers
    while true {
      switch look(until: limit, maySleep: maySleep) {
      case .attention: return false
      case .work(let poller):
        listen(poller, until: .distantPast)
        return agenda.pointee.hasWork && work(chains)
      case .idle:
        linger()
        maySleep = true
      case .sleep(let deadline, let poller):
        if poller == nil { record?.park(until: deadline) } else { listen(poller, until: deadline) }
        if record?.isCancelled == true, !ownsThread {
          state.withLock { $0.sleep = .awake }
          return false
        }
      }
    }
  }

  /// Adds the poller's events to the agenda, for `work`.
  private func listen(_ poller: Poller?, until deadline: Deadline) {
    guard let poller, agenda.pointee.events.isEmpty else { return }
    poller.wait(until: deadline, into: &agenda.pointee.events)
  }

  private func linger() {
    for _ in 0..<SpinBudget.loop {
      if hasNews.load(ordering: .relaxed) { return }
      spinPause()
    }
  }

  private var isInterrupted: Bool { attention.load(ordering: .relaxed) }

  private func work(_ chains: Bool) -> Bool {
    withAutoreleasePool {
      let timers = performTimers()
      let descriptors = performDescriptors()
      return performItems(chains) || timers || descriptors
    }
  }

  private func performTimers() -> Bool {
    guard agenda.pointee.hasDueTimers else { return false }
    agenda.pointee.hasDueTimers = false
    var left = Self.share
    // One time for the whole turn: a timer that sets itself again for "now" is called in the next turn.
    let now = clock()
    while left > 0, !isInterrupted, let action = state.withLock({ $0.timers.popDue(at: now) }) {
      left -= 1
      action()
    }
    return left < Self.share
  }

  private func performDescriptors() -> Bool {
    guard !agenda.pointee.events.isEmpty else { return false }
    // Moved to a local copy, because a nested run polls again. Events lost to an interruption are reported again by the
    // poller.
    let events = agenda.pointee.events
    let wait = agenda.pointee.wait
    agenda.pointee.events.removeAll()
    var isHandled = false
    for event in events where !isInterrupted {
      let (reader, writer) = state.withLock { $0.watches.watchers(of: event, before: wait) }
      if let reader, !isInterrupted { isHandled = reader.performOnLoop() || isHandled }
      if let writer, !isInterrupted { isHandled = writer.performOnLoop() || isHandled }
    }
    return isHandled
  }

  private func performItems(_ chains: Bool) -> Bool {
    var (chains, left) = (chains, Self.share)
    while left > 0, !isInterrupted {
      guard let item = agenda.pointee.takeItem() else {
        if chains, refill() { continue }
        break
      }
      left -= 1
      switch item {
      case .closure(let closure): call(closure)
      case .entry(let entry): entry.perform(on: self)
      case .source(let source):
        source.performOnLoop()
        // A handler that signals its own source is called once in a turn, so that timers and descriptors have theirs.
        chains = false
      case .serialJob(let job): serial?.runHere(job)
      case .taskJob(let job): task?.runHere(job)
      }
    }
    return left < Self.share
  }

  private func refill() -> Bool {
    state.withLock { state in
      guard state.phase == .open, !state.inbox.isEmpty else { return false }
      agenda.pointee.refill(from: &state.inbox)
      return true
    }
  }

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
