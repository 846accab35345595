import HTTPTypes
import HeadgateThreads

// Reports to the observers of a request and to the log. Without either, each method only loads one bit.

extension DispatchOperation {
  /// The request is about to be submitted to the gate, or moved to another end-point's lane.
  func observeWaiting(_ request: DispatchRequest, _ reason: WaitingStart.Reason, at moment: Deadline) {
    guard isWatched else { return }
    observation?.add(.waits(request.endPoint, reason), at: moment)
    log(request, "waits for a permit of \(request.endPoint) (\(reason))")
  }

  /// The gate accepted the request, but did not start it at once.
  func observeReason(_ ticket: Ticket) {
    guard isWatched, let reason = core.gate.waitReason(of: ticket, asNext: true) else { return }
    observation?.add(.waitsFor(reason), at: core.now)
    log(present, "waits for: \(reason)")
  }

  /// The permit is returned, and the next attempt is due later.
  func observeBackoff(_ wait: Duration, at moment: Deadline) {
    guard isWatched else { return }
    let request = present
    observation?.add(.backsOff(request.endPoint, wait), at: moment)
    log(request, "backs off for \(wait.words) before it is sent again")
  }

  /// Interceptors take over the request.
  func observeIntercepting(_ work: InterceptorWork, at moment: Deadline) {
    guard isWatched else { return }
    let reason: InterceptingStart.Reason =
      switch work {
      case .preparation: .preparation
      case .review(let kept, _): kept.response.head == nil ? .failure : .response
      }
    let request = present
    observation?.add(.intercepts(request.endPoint, reason), at: moment)
    log(request, "goes to its interceptors (\(reason))")
  }

  /// The transport is about to send the request.
  func observeSending(_ launch: Launch, at moment: Deadline) {
    guard isWatched else { return }
    let resends = launch.number
    if let observation {
      let request = observation.observed(launch.request)
      let limit = core.gate.sockets.limit(of: launch.request.endPoint)
      observation.add(.sends(request, resends: resends, limit: limit), at: moment)
    }
    log(launch.request, resends > 0 ? "starts, resend \(resends)" : "starts")
  }

  /// The transport has ended the exchange.
  func observeExchangeEnd(_ end: ExchangeEnd, at moment: Deadline) {
    guard let observation else { return }
    // An exchange that the dispatcher ended gets the request's error rather than the transport's.
    let verdict = state.withLock { $0.verdict }
    observation.add(.exchangeOver(verdict ?? end.failure, end.times), at: moment)
  }

  /// The outcome is decided, and about to be delivered to the caller.
  func observeEnd(_ outcome: OperationState.Outcome) {
    guard isWatched else { return }
    let (error, times) = (outcome.error, outcome.times)
    observation?.add(.over(error, times), at: outcome.at)
    guard HeadgateLog.isEnabled(.dispatcher) else { return }
    let (request, status) = state.withLock { ($0.request, $0.head?.statusCode) }
    // The error's detail may contain parts of a URL, so only the caller gets it.
    let how =
      error.map { "failed: \($0.code.words) \($0.phase.words)" } ?? "ended"
      + (status.map { " with status \($0)" } ?? "")
    let (total, queued) = (times.total.words, times.queued.words)
    log(request, "\(how) after \(total), \(queued) of it in the queue")
  }

  /// The current request.
  private var present: DispatchRequest { state.withLock { $0.request } }

  /// The request's end-point, or one of its scopes, pauses.
  func observePause(_ pause: EndPointPause?) {
    guard let pause, !core.observers.isEmpty else { return }
    DeliveryFrame.mark(core.gateIdentity) {
      for observer in core.observers { observer.endPointPaused(pause) }
    }
  }

  func log(_ request: DispatchRequest, _ what: @autoclosure () -> String) {
    HeadgateLog.note(.dispatcher, "\(request.method.rawValue) \(RedactedURL.withoutQuery(request.url)) \(what())")
  }
}
