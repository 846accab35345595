import HeadgateThreads

// Reports the outcome of exchanges to the gate: whether the end-point refuses, can't be reached, or has recovered. This
// happens while the request still holds its permit.

extension DispatchOperation {
  /// A head has arrived. A response that says nothing about the end-point's state is reported only if the gate is on
  /// its guard.
  func noteHead(_ head: ResponseHead) {
    guard core.gate.hearsOutcomes else { return }
    // Most heads can tell neither, and parsing all of their fields costs more than the rest of the request.
    let hasNews =
      head.mayRefuse || head.mayTellQuotas || core.unusualQuotaNames.contains { head[$0] != nil }
    guard hasNews || core.gate.isOnGuard, let (ticket, began) = state.withLock({ $0.sentUnder }) else { return }
    guard hasNews else { return observePause(core.gate.note(.answered, of: ticket, startedAt: began)) }
    let news = head.news(by: core.rateLimitFields, at: core.now)
    if let quota = news.quota {
      core.gate.note(quota, of: ticket, startedAt: began, isKept: news.isQuotaKept)
    }
    observePause(core.gate.note(news.outcome, of: ticket, startedAt: began))
  }

  /// Settles the request's weight from the head, if the caller provided a closure for that.
  func settleWeight(by head: ResponseHead) {
    guard request.fields.hasWeights || interceptors != nil else { return }
    let (weight, settlement) = state.withLock { ($0.weight, $0.request.settlement) }
    guard let weight, let settlement else { return }
    if let weights = DeliveryFrame.mark(core.gateIdentity, { settlement(head) }) { _ = weight.settle(weights) }
  }

  /// The charge of the last start, to be settled later. Nil for a request without a weight.
  var sentWeight: SentWeight? {
    guard request.fields.hasWeights || interceptors != nil else { return nil }
    return state.withLock { $0.weight }
  }

  /// An exchange has ended, perhaps because the request ran out of time.
  func noteEnd(_ end: ExchangeEnd) {
    guard core.gate.hearsOutcomes, !end.connectionWasStale else { return }
    let (verdict, sent) = state.withLock { ($0.verdict, $0.sentUnder) }
    guard let sent, let error = verdict ?? end.failure, error.isFailureToReach else { return }
    let reason = error.detail.isEmpty ? error.code.words : error.detail
    observePause(core.gate.note(.unreachable(because: reason), of: sent.ticket, startedAt: sent.began))
  }

  /// How long the end-point or a scope of the request is paused. Nil if neither is.
  var endPointSleeps: Duration? {
    guard core.gate.hearsOutcomes, let (ticket, _) = state.withLock({ $0.sentUnder }) else { return nil }
    return core.gate.sleepLeft(of: ticket)
  }
}

extension OperationState {
  /// The permit of the current exchange, and the time at which it started. Nil without an exchange.
  var sentUnder: (ticket: Ticket, began: Deadline)? {
    let sent: ExchangeState? = if case .closing(let exchange) = stage { exchange } else { exchange }
    guard case .permit(let ticket)? = sent?.claim else { return nil }
    return (ticket, began)
  }
}

/// What a head says to the gate.
struct HeadNews {
  /// What is left of a quota. To be reported first, because an answer without a report ends a quota whose time has
  /// passed. Nil if the head says nothing that counts.
  var quota: ExchangeOutcome?
  /// Whether later processes should know of the quota: see `EndPointGate.note`.
  var isQuotaKept = true
  let outcome: ExchangeOutcome
}

extension Permit {
  /// Reports a response's head to the gate, which hears the same as from a dispatcher.
  ///
  /// - Parameters:
  ///   - head: The head.
  ///   - table: The fields in which servers state waits and quotas.
  package func report(_ head: ResponseHead, by table: RateLimitFields) {
    guard gate.hearsOutcomes else { return }
    let news = head.news(by: table, at: gate.timers.now)
    if let quota = news.quota { note(quota, isKept: news.isQuotaKept) }
    note(news.outcome)
  }
}

extension ResponseHead {
  /// What its status and its fields say to the gate. O(bytes).
  func news(by table: RateLimitFields, at now: Deadline) -> HeadNews {
    let fields = QuotaFields.read(headerFields, by: table)
    var news = HeadNews(outcome: outcome(wait: fields.wait))
    // A refusal that says that requests are left was not caused by this quota.
    if let (remaining, reset) = fields.binding, remaining <= 0 || !mayRefuse {
      news.quota = .quota(remaining: remaining, until: now + reset)
      news.isQuotaKept = news.outcome == .answered || fields.wait ?? .zero < reset
    }
    return news
  }

  /// What its status says to the gate, which knows nothing of statuses.
  ///
  /// - Parameter wait: The wait that its fields request. Without one, 403 is an answer like any other: it says that the
  ///   sender lacks a right, not that it sends too much.
  func outcome(wait: Duration?) -> ExchangeOutcome {
    switch statusCode {
    case 429: .refused(wait: wait, status: 429)
    case 403 where wait.map { $0 > .zero } ?? false: .refused(wait: wait, status: 403)
    case 503: .unavailable(wait: wait, status: 503)
    default: .answered
    }
  }

  /// The same, with the wait that its fields request. Those of most heads are not read.
  func outcome(by table: RateLimitFields) -> ExchangeOutcome {
    mayRefuse ? outcome(wait: QuotaFields.read(headerFields, by: table).wait) : .answered
  }

  /// Whether its outcome depends on the wait that it requests.
  var mayRefuse: Bool { statusCode == 429 || statusCode == 503 || statusCode == 403 }
}

extension DispatchError {
  /// No name, or no connection.
  private var isUnconnected: Bool { [.nameNotResolved, .connectFailed, .connectTimedOut].contains(code) }
  private var isCutOff: Bool { [.connectionLost, .idleTimedOut].contains(code) }

  /// No name, no connection, no handshake, or no first byte: the end-point was not reached.
  var isFailureToReach: Bool {
    isUnconnected || code == .tlsFailed
      || (isCutOff || code == .timedOut) && [.name, .connecting, .securing, .awaitingHead].contains(phase)
  }

  /// Whether it may have passed by the next attempt.
  var isPassing: Bool { isUnconnected || isCutOff }

  /// Whether nothing was sent before it. A transport need not report the phase, and `waiting` is its default.
  var isBeforeSending: Bool { isUnconnected || isCutOff && phase != .waiting && phase.isBeforeSending }
}
