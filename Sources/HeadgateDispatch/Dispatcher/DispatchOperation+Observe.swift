import HTTPTypes
import HeadgateThreads

// What a request's observers and the log are told of its way. Where there are neither, each of these costs the load of a
// bit; what they do otherwise stands in functions of its own, so that it is not in the way.

extension DispatchOperation {
  /// It is about to be brought to the gate, or to another end-point's lane.
  @inline(__always)
  func observeWaiting(_ request: DispatchRequest, _ reason: WaitingStart.Reason, at moment: Deadline) {
    if isWatched { tellWaiting(request, reason, at: moment) }
  }

  /// It gives its permit back, and the next attempt is due later.
  @inline(__always)
  func observeResting(_ wait: Duration, at moment: Deadline) {
    if isWatched { tellResting(wait, at: moment) }
  }

  /// It goes over into the hands of its interceptors.
  @inline(__always)
  func observeIntercepting(_ reason: InterceptingStart.Reason, at moment: Deadline) {
    if isWatched { tellIntercepting(reason, at: moment) }
  }

  /// The transport is about to be told to send it.
  @inline(__always)
  func observeSending(_ launch: borrowing OperationState.Launch, at moment: Deadline) {
    if isWatched { tellSending(launch.later, hop: launch.hop, at: moment) }
  }

  /// A head has come, be it that of a redirect.
  @inline(__always)
  func observeHead(_ head: borrowing ResponseHead) {
    if isWatched { tellHead(head.statusCode) }
  }

  /// The transport is done with the exchange.
  @inline(__always)
  func observeExchangeEnd(_ end: borrowing ExchangeEnd, at moment: Deadline) {
    if isWatched { tellExchangeEnd(end.failure, end.times, at: moment) }
  }

  /// The outcome is decided, and the caller is about to be told.
  @inline(__always)
  func observeEnd(_ outcome: borrowing OperationState.Outcome) {
    if isWatched { tellEnd(outcome) }
  }
}

extension DispatchOperation {
  @inline(never)
  private func tellWaiting(_ request: DispatchRequest, _ reason: WaitingStart.Reason, at moment: Deadline) {
    tell(.waits(request.endPoint, reason), at: moment)
    log(request) { text in
      text.add(words: "waits for a permit of ")
      text.add(request.endPoint)
      text.add(words: " (")
      text.add(reason.description)
      text.add(words: ")")
    }
  }

  @inline(never)
  private func tellResting(_ wait: Duration, at moment: Deadline) {
    let request = present
    tell(.rests(request.endPoint, wait), at: moment)
    log(request) { text in
      text.add(words: "rests for ")
      text.add(wait.words)
      text.add(words: " before it is sent again")
    }
  }

  @inline(never)
  private func tellIntercepting(_ reason: InterceptingStart.Reason, at moment: Deadline) {
    let request = present
    tell(.intercepts(request.endPoint, reason), at: moment)
    log(request) { text in
      text.add(words: "goes to its interceptors (")
      text.add(reason.description)
      text.add(words: ")")
    }
  }

  @inline(never)
  private func tellSending(_ later: DispatchRequest?, hop: Int, at moment: Deadline) {
    let letBe = kind == .intercepted ? state.withLock { $0.interlude?.letBe ?? 0 } : 0
    let resends = hop - letBe
    let limit = core.gate.sockets.limit(of: (later ?? request).endPoint)
    tell(.sends(later.flatMap { observed($0) }, resends: resends, limit: limit), at: moment)
    log(later ?? request) { text in
      text.add(words: "starts")
      guard resends > 0 else { return }
      text.add(words: ", sent ")
      text.add(resends)
      text.add(words: " times before")
    }
  }

  @inline(never)
  private func tellHead(_ statusCode: Int) { tell(.head(statusCode), at: core.now) }

  @inline(never)
  private func tellExchangeEnd(_ failure: DispatchError?, _ times: ExchangeTimes, at moment: Deadline) {
    guard isObserved else { return }
    // What the dispatcher itself ended has the request's error, and not that of a transport which does as it is told.
    let verdict = state.withLock { $0.verdict }
    tell(.exchangeOver(verdict ?? failure, times), at: moment)
  }

  @inline(never)
  private func tellEnd(_ outcome: borrowing OperationState.Outcome) {
    tell(.over(outcome.error, outcome.times), at: outcome.at)
    guard HeadgateLog.isEnabled(.dispatcher) else { return }
    let (later, status) = state.withLock { ($0.later, $0.head?.statusCode) }
    log(later ?? request) { text in
      if let error = outcome.error {
        // An error's detail may have parts of a URL: it is the caller's alone.
        text.add(words: "failed: ")
        text.add(error.code.words)
        text.add(words: " ")
        text.add(error.phase.words)
      } else {
        text.add(words: "ended")
        if let status {
          text.add(words: " with status ")
          text.add(status)
        }
      }
      text.add(words: " after ")
      text.add(outcome.times.total)
      text.add(words: ", ")
      text.add(outcome.times.queued)
      text.add(words: " of it in the queue")
    }
  }

  /// The request as it is now.
  private var present: DispatchRequest { state.withLock { $0.later } ?? request }

  /// One line, with no query and no header fields.
  @inline(__always)
  private func log(_ request: DispatchRequest, _ what: (inout LineText) -> Void) {
    HeadgateLog.note(
      .dispatcher,
      LineText.make { text in
        text.add(request.method.rawValue)
        text.add(words: " ")
        text.add(url: request.url)
        text.add(words: " ")
        what(&text)
      })
  }
}
