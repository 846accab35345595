import HTTPTypes
import HeadgateThreads

// What a request's observers and the log are told of its way. Where there are neither, each of these is the load of a bit.

extension DispatchOperation {
  /// It is about to be brought to the gate, or to another end-point's lane.
  func observeWaiting(_ request: DispatchRequest, _ reason: WaitingStart.Reason, at moment: Deadline) {
    guard isWatched else { return }
    observation?.add(.waits(request.endPoint, reason), at: moment)
    log(request, "waits for a permit of \(request.endPoint) (\(reason))")
  }

  /// It was taken by the gate, and has not started at once.
  func observeReason(_ ticket: Ticket) {
    guard isWatched, let reason = core.gate.waitReasonOfNext(ticket) else { return }
    observation?.add(.waitsFor(reason), at: core.now)
    log(present, "waits for: \(reason)")
  }

  /// It gives its permit back, and the next attempt is due later.
  func observeResting(_ wait: Duration, at moment: Deadline) {
    guard isWatched else { return }
    let request = present
    observation?.add(.rests(request.endPoint, wait), at: moment)
    log(request, "rests for \(wait.words) before it is sent again")
  }

  /// It goes over into the hands of its interceptors.
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

  /// The transport is about to be told to send it.
  func observeSending(_ launch: Launch, at moment: Deadline) {
    guard isWatched else { return }
    let resends = launch.number
    if let observation {
      let request = observation.observed(launch.request)
      let limit = core.gate.sockets.limit(of: launch.request.endPoint)
      observation.add(.sends(request, resends: resends, limit: limit), at: moment)
    }
    log(launch.request, resends > 0 ? "starts, sent \(resends) times before" : "starts")
  }

  /// A head has come, be it that of a redirect.
  func observeHead(_ head: ResponseHead) {
    observation?.add(.head(head.statusCode), at: core.now)
  }

  /// The transport is done with the exchange.
  func observeExchangeEnd(_ end: ExchangeEnd, at moment: Deadline) {
    guard let observation else { return }
    // What the dispatcher itself ended has the request's error, and not that of a transport which does as it is told.
    let verdict = state.withLock { $0.verdict }
    observation.add(.exchangeOver(verdict ?? end.failure, end.times), at: moment)
  }

  /// The outcome is decided, and the caller is about to be told.
  func observeEnd(_ outcome: OperationState.Outcome) {
    guard isWatched else { return }
    let (error, times) = (outcome.error, outcome.times)
    observation?.add(.over(error, times), at: outcome.at)
    guard HeadgateLog.isEnabled(.dispatcher) else { return }
    let (request, status) = state.withLock { ($0.request, $0.head?.statusCode) }
    // An error's detail may have parts of a URL: it is the caller's alone.
    let how =
      error.map { "failed: \($0.code.words) \($0.phase.words)" } ?? "ended"
      + (status.map { " with status \($0)" } ?? "")
    let (total, queued) = (times.total.words, times.queued.words)
    log(request, "\(how) after \(total), \(queued) of it in the queue")
  }

  /// The request as it is now.
  private var present: DispatchRequest { state.withLock { $0.request } }

  /// One line, with no query and no header fields.
  /// Its end-point, or a scope of it, pauses.
  func observePause(_ pause: EndPointPause?) {
    guard let pause, !core.observers.isEmpty else { return }
    DeliveryFrame.mark(core.gateIdentity) {
      for observer in core.observers { observer.endPointPaused(pause) }
    }
  }

  private func log(_ request: DispatchRequest, _ what: @autoclosure () -> String) {
    HeadgateLog.note(.dispatcher, "\(request.method.rawValue) \(RedactedURL.withoutQuery(request.url)) \(what())")
  }
}
