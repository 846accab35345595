import HTTPTypes
import HeadgateFlow
import HeadgateThreads

// Events of the transport. A response is delivered to the consumer, withheld for interceptors, or skipped because
// another exchange follows.

extension DispatchOperation: ExchangeEvents {
  func received(_ head: ResponseHead) -> BodyFlow {
    observation?.add(.head(head.statusCode), at: core.now)
    noteHead(head)
    settleWeight(by: head)
    return followed(head) ?? told(head)
  }

  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    download?.came(bytes.count)
    return receive(.bytes(bytes))
  }

  func received(trailers: HTTPFields) { _ = receive(.trailers(trailers)) }

  func ended(_ end: ExchangeEnd) {
    let now = core.now
    var end = end
    let cut = state.withLock { $0.cut }
    if cut.fault != nil || cut.isEnough { end = ExchangeEnd(failure: cut.fault, times: end.times) }
    // The gate is told first, so that observers learn of a pause before the exchange that caused it ends.
    if end.failure != nil { noteEnd(end) }
    observeExchangeEnd(end, at: now)
    if end.failure == nil { noteAnswer() }
    var course: ExchangeState.Course?
    if let failure = end.failure {
      course = whatFollows(failure, of: &end)
    } else if sink.lacksRest {
      course = rest()
    }
    // Observers and interceptors take time, so the clock is read again. Otherwise that time would count as the next
    // exchange's.
    settle(end, course, at: isWatched || interceptors != nil ? core.now : now)
  }

  func settle(_ end: ExchangeEnd, _ course: ExchangeState.Course? = nil, at now: Deadline) {
    perform(state.withLock { $0.ended(end, course, at: now) }, at: now)
  }

  func connectionMultiplexes(_ multiplexes: Bool) { core.gate.note(multiplexes: multiplexes, at: endPoint) }

  func socketWaitStarted() { waitStarted(for: .socket) }
  func socketWaitEnded() { waitEnded(for: .socket) }

  func waitStarted(for reason: ExchangeState.Holds) {
    let now = core.now
    if let timeout = state.withLock({ $0.waitStarted(for: reason, at: now) }) { core.cancel(timeout) }
  }

  func waitEnded(for reason: ExchangeState.Holds) {
    let now = core.now
    download?.turns()
    if let timeout = state.withLock({ $0.waitEnded(for: reason, at: now) }) { armTimeout(timeout, from: now) }
  }

  func receivedActivity() {
    guard idleLimit != nil else { return }
    let now = core.now
    state.withLock { $0.lastActivity = max($0.lastActivity, now) }
  }

  // MARK: The consumer

  /// Delivers a head that is not processed in another way.
  func told(_ head: ResponseHead) -> BodyFlow { receive(.head(head, asks: sink.asks(about: head))) }

  private func receive(_ delivery: OperationState.Delivery) -> BodyFlow {
    // The clock is not read for a request without an idle limit.
    let now = idleLimit == nil ? .distantPast : core.now
    switch state.withLock({ $0.received(delivery, at: now) }) {
    case .abort: return .abort
    case .passOver(let bytes): return Self.flow(passingOver: bytes)
    case .keep(let kept): return keep(delivery, in: kept)
    case .tell(let request, let redirects, let resumes, let timeout):
      if let timeout { core.cancel(timeout) }
      return call(resumes: resumes) { () throws(DispatchError) in try pass(delivery, request, redirects) }
    }
  }

  /// Passes a part of the response to the sink.
  private func pass(
    _ delivery: OperationState.Delivery, _ request: DispatchRequest, _ redirects: [FollowedRedirect]
  ) throws(DispatchError) -> BodyFlow {
    switch delivery {
    case .head(var head, let asks):
      head.redirects = redirects
      if let download, !asks { try download.take(head, hasBody: head.bringsBody(to: request.method)) }
      return try sink.received(head, url: request.url, of: self)
    case .bytes(let bytes):
      try download?.take(bytes.count)
      return try sink.received(bytes, of: self)
    case .trailers(let fields):
      sink.received(trailers: fields)
      return .more
    }
  }

  /// Makes a call to the sink, which the state already records.
  private func call(resumes: Int, _ body: () throws(DispatchError) -> BodyFlow) -> BodyFlow {
    let flow: BodyFlow
    do throws(DispatchError) {
      flow = try DeliveryFrame.mark(core.gateIdentity, body)
    } catch {
      fail(error)
      flow = .abort
    }
    if flow == .abort { state.withLock { $0.hasEnough() } }
    let isPausing = flow == .pause
    if let outcome = state.withLock({ $0.leaveConsumer(isPausing: isPausing, resumes: resumes) }) {
      perform(outcome, at: core.now)
    }
    return flow
  }

  /// The consumer has room again.
  func resume() {
    let now = core.now
    state.withLock { $0.resumed(at: now) }?.resume()
  }

  /// The consumer's answer to a response that asked for a credential. Has no effect if the request has been decided.
  func answer(_ consequence: AuthenticationAnswer.Consequence) {
    let now = core.now
    switch consequence {
    case .cancel: cancel()
    case .proceed: perform(state.withLock { $0.proceed(at: now) }, at: now)
    case .resend(let name, let value):
      guard var next = state.withLock({ $0.sent })?.unprepared else { return }
      if let body = next.body, !body.isReplayable {
        return fail(DispatchError(.bodyNotReplayable, phase: .awaitingHead, detail: "for a credential"))
      }
      next.headerFields[name] = value
      perform(state.withLock { [next] in $0.resend(with: next, at: now) }, at: now)
    }
  }

  // MARK: After a head

  // A short body that is skipped is read to its end, so that the connection can be reused.
  private static func flow(passingOver bytes: Int) -> BodyFlow { bytes > 65536 ? .abort : .more }

  /// Plans what follows a head that is not delivered, and returns what happens to its body. Nil if the head is
  /// delivered.
  private func followed(_ head: ResponseHead) -> BodyFlow? {
    let isRedirect = Redirect.isRedirect(head.statusCode)
    // A server that refuses all requests for a while has not refused the range.
    let declines = sink.declines(head) && head.outcome(by: core.rateLimitFields) == .answered
    let isMisdirected = head.statusCode == 421
    guard isRedirect || declines || isMisdirected || request.fields.mayRetry || interceptors != nil,
      let sent = state.withLock({ $0.sent }),
      sent.exchange.isUntold
    else { return nil }
    if isRedirect, let flow = redirected(head, sent) { return flow }
    if declines, let next = startAnew(sent.unprepared, declining: true) { return passOver(head, for: .range(next)) }
    if isMisdirected, sent.exchange.isOpen, sent.request.hasReplayableBody, mayBeRepeated(sent, request.fields.retry) {
      return passOver(head, for: .repeated(sent.request))
    }
    let isUnprocessed = RetryPolicy.unprocessedCodes.contains(head.statusCode)
    if let policy = request.fields.retry, policy.statusCodes.contains(head.statusCode), sent.exchange.isOpen,
      case .follows(let wait, let isDeferred) = retry(
        sent, policy, isUnprocessed: isUnprocessed,
        asked: policy.ignoresRetryAfter ? nil : core.rateLimitFields.wait(of: head),
        defers: head.outcome(by: core.rateLimitFields).defers)
    {
      return passOver(
        head, for: .retry(sent.unprepared, after: wait, isUnprocessed: isUnprocessed, isDeferred: isDeferred))
    }
    guard interceptors != nil else { return nil }
    let kept = kept(InterceptedResponse(request: sent.request, head: head, error: nil), sent)
    let isPlanned = state.withLock { $0.plan(kept.map { .kept($0) } ?? .open) }
    return kept != nil && isPlanned ? .more : nil
  }

  private func redirected(_ head: ResponseHead, _ sent: OperationState.Sent) -> BodyFlow? {
    do throws(DispatchError) {
      // A policy may contain a closure of the caller.
      let next = try DeliveryFrame.mark(core.gateIdentity) { () throws(DispatchError) in
        try Redirect.next(after: sent.unprepared, sentTo: sent.request, by: head, redirects: sent.redirects)
      }
      guard let next else { return nil }
      return passOver(
        head, for: .redirect(next, FollowedRedirect(url: sent.request.url, statusCode: head.statusCode)))
    } catch {
      fail(error)
      return .abort
    }
  }

  private func passOver(_ head: ResponseHead, for next: FollowUp) -> BodyFlow {
    guard state.withLock({ $0.plan(.followed(next)) }) else { return .abort }
    return Self.flow(passingOver: head.declaredLength ?? 0)
  }

  // MARK: After a failure

  /// What happens after a failed exchange, if that does not end the request. Adds to the failure why no attempt follows,
  /// if only the budget prevents one.
  private func whatFollows(_ failure: DispatchError, of end: inout ExchangeEnd) -> ExchangeState.Course? {
    guard let sent = state.withLock({ $0.sent }) else { return nil }
    let policy = request.fields.retry
    if sent.exchange.isOpen, end.connectionWasStale, failure.code == .connectionLost, sent.request.mayBeRepeated,
      mayBeRepeated(sent, policy)
    {
      return .followed(.repeated(sent.request))
    }
    var failure = failure
    if let policy, failure.isPassing, sent.exchange.isOpen || sent.exchange.isTold && sink.mayStartAnew() {
      let isUnprocessed = !end.wasSent || failure.isBeforeSending
      switch retry(sent, policy, isUnprocessed: isUnprocessed, asked: nil) {
      case .follows(let wait, _):
        let next = sent.exchange.isOpen ? sent.unprepared : startAnew(sent.unprepared, declining: false)
        return next.map { .followed(.retry($0, after: wait)) }
      case .lacksBudget(let why):
        failure = failure.adding(why)
        end = ExchangeEnd(
          failure: failure, times: end.times, connectionWasStale: end.connectionWasStale, wasSent: end.wasSent)
      case .ends: break
      }
    }
    guard interceptors != nil, sent.exchange.isOpen else { return nil }
    return kept(InterceptedResponse(request: sent.request, head: nil, error: failure), sent).map { .kept($0) }
  }

  /// What follows a complete response that lacks the rest of its body.
  func rest() -> ExchangeState.Course? {
    guard let sent = state.withLock({ $0.sent }), sent.exchange.isTold else { return nil }
    return startAnew(sent.unprepared, declining: false).map { .followed(.range($0)) }
  }

  /// Tells the sink that another request follows, and returns that. Nil if the request was decided in the meantime.
  ///
  /// After redirects it goes to the first URL again, since the last one may be valid for a short time only. A request that
  /// may have an effect does not: that URL has processed it.
  private func startAnew(_ unprepared: DispatchRequest, declining isDeclined: Bool) -> DispatchRequest? {
    let returns = request.method == .get || request.method == .head
    guard let wasRedirected = state.withLock({ $0.voidResponse(forgettingRedirects: returns) }) else { return nil }
    var next = wasRedirected && returns ? request : unprepared
    _ = call(resumes: 0) {
      next = sink.startAnew(next, declining: isDeclined, of: self)
      return .more
    }
    return next
  }

  /// Whether the request may be sent again at once on a new connection, because its connection was closed, or leads to
  /// another server (421). Only once in a row: otherwise a server that does so each time would cause a loop. Takes
  /// nothing from the retry budget, which protects overloaded servers: this one has processed nothing.
  private func mayBeRepeated(_ sent: OperationState.Sent, _ policy: RetryPolicy?) -> Bool {
    !sent.exchange.isRepeat && sent.counted < policy?.attempts ?? .max
  }

  /// What a policy says after an attempt.
  private enum Verdict {
    case follows(after: Duration, isDeferred: Bool)
    case ends
    /// Another attempt would follow, but the budget has none left. In words for people.
    case lacksBudget(String)
  }

  /// The next attempt according to the request's policy. Takes from the budget only if there is one.
  ///
  /// - Parameter defers: Whether the response asks all requests to come back later, and not only this one.
  private func retry(
    _ sent: OperationState.Sent, _ policy: RetryPolicy, isUnprocessed: Bool, asked: Duration?, defers: Bool = false
  ) -> Verdict {
    guard !isClosing, policy.mayRepeat(sent.unprepared, isUnprocessed: isUnprocessed) else { return .ends }
    var random = SystemRandom()
    let asleep = endPointSleeps
    let isDeferred = defers && policy.attempts > 1 && asleep.map { mayDefer(sent, for: $0) } ?? false
    guard
      let wait = policy.wait(
        after: isDeferred ? 1 : sent.counted, asked: asked, asleep: asleep, left: deadline.map { $0 - core.now },
        using: &random)
    else { return .ends }
    // The end of a pause paces all waiting requests. The budget is for end-points without that protection.
    if asleep == nil, let why = emptyBudget(policy, sent) {
      if isWatched { log(sent.request, "gets \(why)") }
      return .lacksBudget(why)
    }
    return .follows(after: wait, isDeferred: isDeferred)
  }

  /// Whether a refusal uses up no attempt. The patience with the end-point bounds how long, and not only for the end-point
  /// itself: it may refuse this one request, and answer others.
  private func mayDefer(_ sent: OperationState.Sent, for pause: Duration) -> Bool {
    guard let patience = core.gate.limits.pauses?.patience else { return false }
    let now = core.now
    return now - (sent.deferral?.since ?? now) + pause <= patience
  }

  /// Takes a retry from the policy's budget. If none is left, returns what to say about that.
  private func emptyBudget(_ policy: RetryPolicy, _ sent: OperationState.Sent) -> String? {
    switch policy.budget {
    case .none: return nil
    case .shared(let budget):
      return budget.withdraw() ? nil : "no retry: the shared retry budget is used up; raise its ratio or limit"
    case .endPoint:
      let endPoint = sent.request.endPoint
      if core.retries.withLock({ $0.takeRetry(at: endPoint, isFirst: sent.counted == 1) }) { return nil }
      return "no retry: the retry budget of \(endPoint) is used up; it grows as the server answers, "
        + "and `RetryPolicy.budget` can remove it"
    }
  }

  /// The end-point has answered completely. That allows another retry, unless the answer itself is a reason for one.
  private func noteAnswer() {
    guard let policy = request.fields.retry, case .endPoint = policy.budget,
      let (endPoint, status) = state.withLock({ $0.answer }), !policy.statusCodes.contains(status)
    else { return }
    core.retries.withLock { $0.answered(endPoint) }
  }
}
