// What waits for the time, and what servers have said.

import HeadgateFlow
import HeadgateThreads
import Logging
import Synchronization

extension EndPointGate {
  /// Arms or cancels the gate's one timer, if it has to be. With no lock held.
  func setAlarm() {
    switch state.withLock({ $0.alarm.order(for: $0.scheduler.wakeAt) }) {
    case nil: break
    case .cancel(let timer)?: timer.cancel()
    case .arm(let moment, let number)?:
      let timer = timers.schedule(at: moment) { [weak self] in self?.ring(number) }
      state.withLock { $0.alarm.keep(timer, number: number) }?.cancel()
    }
  }

  private func ring(_ number: UInt64) {
    guard state.withLock({ $0.alarm.rings(number: number) }) else { return }
    let moment = timers.now
    perform { $0.wake(at: moment) }
  }

  /// Whether what becomes of exchanges matters to any limit: if not, `note` need not be called.
  package var hearsOutcomes: Bool { hearing.load(ordering: .relaxed) }

  /// Whether it matters that an end-point is well.
  var isOnGuard: Bool { guarding.load(ordering: .relaxed) }

  /// For how long nothing starts for a request like this one, which holds a permit; nil: its end-point and its scopes are
  /// awake.
  func sleepLeft(of ticket: Ticket) -> Duration? {
    let now = timers.now
    return state.withLock { $0.scheduler.sleepReason(of: ticket, at: now) }?.remaining
  }

  /// What an exchange has told of its end-point. Requests that wait there and would end within a pause end now.
  ///
  /// - Parameters:
  ///   - outcome: What became of it.
  ///   - ticket: Of the request, which still holds its permit.
  ///   - start: When the exchange started.
  /// - Returns: The pause that began by it, or became longer; nil: nothing new sleeps.
  @discardableResult
  package func note(_ outcome: ExchangeOutcome, of ticket: Ticket, startedAt start: Deadline) -> EndPointPause? {
    if outcome.isTrouble { guarding.store(true, ordering: .relaxed) } else if !isOnGuard { return nil }
    let now = timers.now
    let (sleep, clients, learned) = perform {
      scheduler -> (Scheduler<any GateClient>.Sleep?, [any GateClient], [LearnedChange]) in
      var random = SystemRandom()
      let sleep = scheduler.note(outcome, of: ticket, startedAt: start, at: now, using: &random)
      let clients = sleep.map { scheduler.waitingItems(at: $0.endPoint, $0.scope) } ?? []
      return (sleep, clients, scheduler.takeLearnedChanges())
    }
    tell(learned)
    guard let sleep else { return nil }
    let whose = sleep.scope.map { "\($0) at \(sleep.endPoint)" } ?? "\(sleep.endPoint)"
    logger.info("\(whose): \(sleep.reason)\(sleep.isGivenUp ? "; what waits for it ends" : "")")
    for client in clients { client.sleeps(sleep.reason, isGivenUp: sleep.isGivenUp) }
    return EndPointPause(sleep.endPoint, sleep.scope, sleep.reason, isGivenUp: sleep.isGivenUp, at: now)
  }

  /// A bare permit goes back to the gate: what it was given for was not refused, as far as the gate hears.
  func learnEnd(of ticket: Ticket) {
    guard isOnGuard else { return }
    tell(
      perform { scheduler in
        scheduler.learnEnd(of: ticket)
        return scheduler.takeLearnedChanges()
      })
  }

  private func tell(_ changes: [LearnedChange]) {
    // Refusals are news; that limits rise as long as nothing is refused is not.
    for change in changes { logger.log(level: change.isRefusal ? .info : .debug, "\(change)") }
  }

  /// What end-points have taught by their refusals, to be given to another gate or process: see ``AdaptivePolicy/remembered``.
  /// Empty unless ``GateLimits/adaptive`` is set. O(n) in the end-points that are remembered.
  public var learned: LearnedLimits {
    let (now, seconds) = (timers.now, LearnedLimits.now)
    return state.withLock { $0.scheduler.learned(at: now, seconds: seconds) }
  }

  /// What a request waits for; nil for one that does not wait. O(n) in all that runs or waits.
  func waitReason(of ticket: Ticket) -> WaitReason? {
    let now = timers.now
    return state.withLock { $0.scheduler.waitReason(of: ticket, at: now) }
  }

  /// The same as if it were the next in its line. O(1).
  func waitReasonOfNext(_ ticket: Ticket) -> WaitReason? {
    let now = timers.now
    return state.withLock { $0.scheduler.waitReasonOfNext(ticket, at: now) }
  }

  /// What a request really weighed. False: it has no weight that is still counted.
  func settle(_ ticket: Ticket, _ actual: [String: Int]) -> Bool { perform { $0.settleWeight(ticket, actual) } }
}
