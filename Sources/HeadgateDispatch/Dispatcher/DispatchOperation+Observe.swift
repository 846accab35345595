import HTTPTypes
import HeadgateThreads

// What a request's observers and the log are told of its way. Each of these costs a test for nil and a load of a word when
// there are neither.

extension DispatchOperation {
  /// It is about to be brought to the gate, or to another end-point's lane.
  func observeWaiting(_ reason: WaitingStart.Reason, at moment: Deadline) {
    if let observation { observation.add(.waits(endPoint, reason), at: moment) }
    HeadgateLog.note(.dispatcher, "\(name) waits for a permit of \(endPoint) (\(reason))")
  }

  /// It gives its permit back, and the next attempt is due later.
  func observeResting(_ wait: Duration, at moment: Deadline) {
    if let observation { observation.add(.rests(endPoint, wait), at: moment) }
    HeadgateLog.note(.dispatcher, "\(name) rests for \(wait.words) before it is sent again")
  }

  /// The transport is about to be told to send it.
  func observeSending(_ launch: OperationState.Launch, at moment: Deadline) {
    if let observation {
      let observed = observation.observed(launch.later ?? request)
      observation.add(.sends(observed, resends: launch.hop, limit: launch.maxSockets), at: moment)
    }
    HeadgateLog.note(.dispatcher, "\(name) starts" + (launch.hop == 0 ? "" : ", sent \(launch.hop) times before"))
  }

  /// A head has come, be it that of a redirect.
  func observeHead(_ head: ResponseHead) {
    if let observation { observation.add(.head(head.statusCode), at: core.now) }
  }

  /// The transport is done with the exchange.
  func observeExchangeEnd(_ end: borrowing ExchangeEnd) {
    guard let observation else { return }
    // What the dispatcher itself ended has the request's error, and not that of a transport which does as it is told.
    let verdict = state.withLock { $0.verdict }
    observation.add(.exchangeOver(verdict ?? end.failure, end.times), at: core.now)
  }

  /// The outcome is decided, and the caller is about to be told.
  func observeEnd(_ outcome: OperationState.Outcome) {
    if let observation { observation.add(.over(outcome.error, outcome.times), at: core.now) }
    HeadgateLog.note(.dispatcher, "\(name) \(words(for: outcome))")
  }

  /// For the log: no query, no header fields.
  private var name: String {
    let request = state.withLock { $0.later } ?? request
    return "\(request.method.rawValue) \(RedactedURL.withoutQuery(request.url))"
  }

  private func words(for outcome: OperationState.Outcome) -> String {
    let (total, queued) = (Duration.seconds(outcome.times.total).words, Duration.seconds(outcome.times.queued).words)
    let status = state.withLock { $0.head }.map { " with status \($0.statusCode)" } ?? ""
    // An error's detail may have parts of a URL: it is the caller's alone.
    return (outcome.error.map { "failed: \($0.code.words) \($0.phase.words)" } ?? "ended\(status)")
      + " after \(total), \(queued) of it in the queue"
  }
}
