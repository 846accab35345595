import HeadgateThreads

// Reports the outcome of exchanges to the gate: whether the end-point refuses, can't be reached, or has recovered. This
// happens while the request still holds its permit.

extension DispatchOperation {
  /// A head has arrived. A response that says nothing about the end-point's state is reported only if the gate is on
  /// its guard.
  func noteHead(_ head: ResponseHead) {
    guard core.gate.hearsOutcomes else { return }
    // Most heads can tell neither, and parsing all of their fields costs more than the rest of the request.
    let hasNews = head.mayRefuse || head.mayTellQuotas
    guard hasNews || core.gate.isOnGuard, let (ticket, began) = state.withLock({ $0.sentUnder }) else { return }
    let fields = hasNews ? QuotaFields.read(head.headerFields) : QuotaFields()
    observePause(
      core.gate.note(
        .answered(status: head.statusCode, wait: head.mayRefuse ? fields.wait : nil), of: ticket, startedAt: began))
    guard let (remaining, reset) = fields.binding else { return }
    let longest = core.gate.limits.pauses?.maxPause ?? .zero
    core.gate.note(.quota(remaining: remaining, until: core.now + min(reset, longest)), of: ticket, startedAt: began)
  }

  /// Settles the request's weight from the head, if the caller provided a closure for that.
  func settleWeight(by head: ResponseHead) {
    guard request.fields.hasWeights || interceptors != nil else { return }
    let (start, settlement) = state.withLock { ($0.weighedStart, $0.request.settlement) }
    guard let start, let settlement else { return }
    if let weights = DeliveryFrame.mark(core.gateIdentity, { settlement(head) }) {
      _ = start.settle(weights, at: core.gate)
    }
  }

  /// The charge of the last start, to be settled later. Nil for a request without a weight.
  var sentWeight: SentWeight? {
    guard request.fields.hasWeights || interceptors != nil else { return nil }
    return state.withLock { $0.weighedStart }.map { SentWeight(core.gate, $0) }
  }

  /// An exchange has ended, perhaps because the request ran out of time.
  func noteEnd(_ end: ExchangeEnd) {
    guard core.gate.hearsOutcomes, !end.connectionWasStale else { return }
    let (verdict, sent) = state.withLock { ($0.verdict, $0.sentUnder) }
    guard let sent, (verdict ?? end.failure)?.isFailureToReach ?? false else { return }
    observePause(core.gate.note(.failedToReach, of: sent.ticket, startedAt: sent.began))
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
    if case .closing(.permit(let ticket)) = stage { return (ticket, began) }
    guard case .permit(let ticket)? = exchange?.claim else { return nil }
    return (ticket, began)
  }
}

extension ResponseHead {
  /// Whether its status may pause the whole end-point.
  var mayRefuse: Bool { statusCode == 429 || statusCode == 503 || statusCode == 403 }
}

extension DispatchError {
  /// No name, no connection, no handshake, or no first byte: the end-point was not reached.
  var isFailureToReach: Bool {
    switch code {
    case .nameNotResolved, .connectFailed, .connectTimedOut, .tlsFailed: true
    case .connectionLost, .idleTimedOut, .timedOut:
      [.name, .connecting, .securing, .awaitingHead].contains(phase)
    default: false
    }
  }
}
