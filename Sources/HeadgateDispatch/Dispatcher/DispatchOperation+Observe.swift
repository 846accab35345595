import HTTPTypes
import HeadgateThreads

// What a request's observers and the log are told of its way. Where there are neither, each of these costs the load of a
// bit; what they do otherwise stands in functions of its own, so that it is not in the way.

extension DispatchOperation {
  /// It is about to be brought to the gate, or to another end-point's lane.
  @inline(__always)
  func observeWaiting(_ reason: WaitingStart.Reason, at moment: Deadline) {
    if isWatched { tellWaiting(reason, at: moment) }
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
    if isWatched { tellSending(launch.later, resends: launch.hop, limit: launch.maxSockets, at: moment) }
  }

  /// A head has come, be it that of a redirect.
  @inline(__always)
  func observeHead(_ head: borrowing ResponseHead) {
    if isWatched { tellHead(head.statusCode) }
  }

  /// The transport is done with the exchange.
  @inline(__always)
  func observeExchangeEnd(_ end: borrowing ExchangeEnd) {
    if isWatched { tellExchangeEnd(end.failure, end.times) }
  }

  /// The outcome is decided, and the caller is about to be told.
  @inline(__always)
  func observeEnd(_ outcome: borrowing OperationState.Outcome) {
    if isWatched { tellEnd(outcome.error, outcome.times) }
  }
}

extension DispatchOperation {
  @inline(never)
  private func tellWaiting(_ reason: WaitingStart.Reason, at moment: Deadline) {
    observation?.add(.waits(endPoint, reason), at: moment)
    log("waits for a permit of \(endPoint) (\(reason))")
  }

  @inline(never)
  private func tellResting(_ wait: Duration, at moment: Deadline) {
    observation?.add(.rests(endPoint, wait), at: moment)
    log("rests for \(wait.words) before it is sent again")
  }

  @inline(never)
  private func tellIntercepting(_ reason: InterceptingStart.Reason, at moment: Deadline) {
    observation?.add(.intercepts(endPoint, reason), at: moment)
    log("goes to its interceptors (\(reason))")
  }

  @inline(never)
  private func tellSending(_ later: DispatchRequest?, resends: Int, limit: Int, at moment: Deadline) {
    if let observation {
      let observed = observation.observed(later ?? request)
      observation.add(.sends(observed, resends: resends, limit: limit), at: moment)
    }
    log("starts" + (resends == 0 ? "" : ", sent \(resends) times before"))
  }

  @inline(never)
  private func tellHead(_ statusCode: Int) { observation?.add(.head(statusCode), at: core.now) }

  @inline(never)
  private func tellExchangeEnd(_ failure: DispatchError?, _ times: ExchangeTimes) {
    guard let observation else { return }
    // What the dispatcher itself ended has the request's error, and not that of a transport which does as it is told.
    let verdict = state.withLock { $0.verdict }
    observation.add(.exchangeOver(verdict ?? failure, times), at: core.now)
  }

  @inline(never)
  private func tellEnd(_ error: DispatchError?, _ times: DispatchTimes) {
    observation?.add(.over(error, times), at: core.now)
    log(ending(error, times))
  }

  private func ending(_ error: DispatchError?, _ times: DispatchTimes) -> String {
    let (total, queued) = (Duration.seconds(times.total).words, Duration.seconds(times.queued).words)
    let status = state.withLock { $0.head }.map { " with status \($0.statusCode)" } ?? ""
    // An error's detail may have parts of a URL: it is the caller's alone.
    let end = error.map { "failed: \($0.code.words) \($0.phase.words)" } ?? "ended\(status)"
    return "\(end) after \(total), \(queued) of it in the queue"
  }

  /// One line, with no query and no header fields.
  private func log(_ what: @autoclosure () -> String) {
    HeadgateLog.note(.dispatcher, line(what()))
  }

  private func line(_ what: String) -> String {
    let request = state.withLock { $0.later } ?? request
    // Put together in one piece of memory: a source that is on writes several lines for each request.
    let (method, address) = (request.method.rawValue, RedactedURL.withoutQuery(request.url))
    var line = ""
    line.reserveCapacity(method.utf8.count + address.utf8.count + what.utf8.count + 2)
    line += method
    line += " "
    line += address
    line += " "
    line += what
    return line
  }
}
