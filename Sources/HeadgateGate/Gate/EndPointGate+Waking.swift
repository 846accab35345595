// Timed waits of the gate, and the reports of servers.

import HeadgateFlow
import HeadgateThreads
import Logging
import Synchronization

extension EndPointGate {
  /// Arms or cancels the gate's only timer if necessary. Call it with no lock held.
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

  /// Whether any limit depends on the outcome of exchanges. If not, `note` need not be called.
  package var hearsOutcomes: Bool { hearing.load(ordering: .relaxed) }

  /// Whether successful exchanges are reported too.
  package var isOnGuard: Bool { guarding.load(ordering: .relaxed) }

  /// Keeps `isOnGuard` up to date, after each event. Call it with the lock held.
  func updateGuard(_ isOnGuard: Bool) {
    // Nearly always it is, and a write would make other threads read again what lies beside it.
    if self.isOnGuard != isOnGuard { guarding.store(isOnGuard, ordering: .relaxed) }
  }

  /// The time for which no request like this one may start; it holds a permit. Nil if neither its end-point nor its
  /// scopes are paused.
  package func sleepLeft(of ticket: Ticket) -> Duration? {
    let now = timers.now
    return state.withLock { $0.scheduler.sleepReason(of: ticket, at: now) }?.remaining
  }

  /// Reports the outcome of an exchange. Waiting requests whose deadline falls within the resulting pause end now.
  ///
  /// - Parameters:
  ///   - outcome: The outcome.
  ///   - ticket: The ticket of the request, which still holds its permit.
  ///   - start: The start of the exchange.
  ///   - isKept: Whether other programs and later processes should know of it. False if another outcome of the same response says as much.
  /// - Returns: The pause that began or was extended. Nil if there is none.
  @discardableResult
  package func note(
    _ outcome: ExchangeOutcome, of ticket: Ticket, startedAt start: Deadline, isKept: Bool = true
  ) -> EndPointPause? {
    guard outcome.isTrouble || isOnGuard else { return nil }
    let now = timers.now
    let isKept = isKept && (memory != nil || shared != nil)
    let (pause, clients, learned, news) = perform {
      scheduler -> (EndPointPause?, [any GateClient], [LearnedChange], EndPointNews.Report?) in
      var random = SystemRandom()
      let heard = outcome.isQuota ? outcome.within(scheduler.limits.pauses?.maxPause ?? .zero, of: now) : outcome
      let pause = scheduler.note(heard, of: ticket, startedAt: start, at: now, using: &random)
      let clients = pause.map { scheduler.waitingItems(at: $0.endPoint, $0.scope) } ?? []
      let news = isKept ? scheduler.news(of: outcome, of: ticket, pause, startedAt: start) : nil
      return (pause, clients, scheduler.takeLearnedChanges(), news)
    }
    // Before anyone learns of the outcome.
    if let news {
      remember(news)
      share(news)
    }
    tell(learned)
    guard let pause else { return nil }
    let whose = pause.scope.map { "\($0) at \(pause.endPoint)" } ?? "\(pause.endPoint)"
    let cut = Self.cut(outcome, to: pause.reason)
    let end = pause.failsWaitingRequests ? "; its waiting requests end" : ""
    logger.info("\(whose): \(pause.reason.wordsWithoutScope)\(cut)\(end)")
    for client in clients { client.paused(pause.reason, failsWaitingRequests: pause.failsWaitingRequests) }
    bringBack(from: pause.endPoint)
    return pause
  }

  /// Says that a pause is shorter than the server requested.
  private static func cut(_ outcome: ExchangeOutcome, to reason: WaitReason) -> String {
    guard let wait = outcome.wait, let left = reason.remaining, wait > left else { return "" }
    return ", the longest that is configured; the server requested \(wait.words)"
  }

  private func tell(_ changes: [LearnedChange]) {
    // Refusals are logged as news; a limit that rises because there were no refusals is not.
    for change in changes { logger.log(level: change.isRefusal ? .info : .debug, "\(change)") }
  }

  /// The limits learned from refusals, to be passed to another gate or process. See ``AdaptivePolicy/remembered``.
  /// Empty unless ``GateLimits/adaptive`` is set. O(n) in the end-points with a learned limit.
  public var learned: LearnedLimits {
    let (now, seconds) = (timers.now, LearnedLimits.now)
    return state.withLock { $0.scheduler.learned(at: now, seconds: seconds) }
  }

  /// The reason why a request waits, at the gate or for the coordinator. Nil if it does not wait. See ``Scheduler/waitReason(of:asNext:at:)``.
  package func waitReason(of ticket: Ticket, asNext: Bool = false) -> WaitReason? {
    let now = timers.now
    if shared?.waitsSince(ticket) != nil { return WaitReason(.shared, at: now) }
    return state.withLock { $0.scheduler.waitReason(of: ticket, asNext: asNext, at: now) }
  }

  /// How long a request waits already, at the gate or for the coordinator, since ``GateClient/waited(_:)`` told of its last
  /// wait. O(1).
  package func waits(of ticket: Ticket, at now: Deadline) -> WaitTimes {
    guard let since = shared?.waitsSince(ticket) else {
      return state.withLock { $0.scheduler.waits(of: ticket, at: now) }
    }
    return Self.sharedWait(since: since, at: now)
  }

  /// Corrects the weight of a request. Returns false if it has no weight that is still counted.
  package func settle(_ ticket: Ticket, _ actual: [String: Int]) -> Bool { perform { $0.settleWeight(ticket, actual) } }
}
