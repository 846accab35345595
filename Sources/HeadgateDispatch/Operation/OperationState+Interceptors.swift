import HeadgateThreads

// A request and its interceptors. They work before it is submitted to the gate, initially or again, and after its
// exchange, on a response that is withheld until they have reviewed it. Meanwhile it holds no permit, unless what they
// prepared is outdated when it gets its permit.

/// The data of a request with interceptors.
struct Interceptions: Sendable {
  /// The request without changes by interceptors: as submitted, redirected, given a credential, or replaced by an
  /// interceptor's answer. Each preparation starts with it, so changes don't accumulate, and a field set for one origin
  /// is not passed on to the next.
  var unprepared: DispatchRequest
  /// How often each interceptor had it sent again, by the interceptor's index.
  var answers: [Int: Int] = [:]
  /// How often it returned its permit because it was outdated.
  var returns = 0
}

/// The work of interceptors.
enum InterceptorWork: Sendable {
  case preparation(GateApproach)
  /// They review a response or a failure.
  case review(KeptResponse, ExchangeEnd)
}

/// How a request is submitted to the gate.
struct GateApproach: Sendable {
  let reason: WaitingStart.Reason
  var patience = Patience.waits
  var mayBeHeld = true
}

extension OperationState {
  /// Interceptors continue. The permit is returned once the gate expects the request back.
  mutating func yield(_ work: InterceptorWork, _ claim: Claim, at now: Deadline) -> Action {
    account.turn(to: .neither, at: now)
    let timeout = timers.timeout.take()
    switch claim {
    case .permit, .unusedPermit:
      stage = .yielding(claim)
      return Action(timer: timeout, next: .yield(work))
    case .expectation:
      stage = .intercepted
      return Action(timer: timeout, next: .intercept(work, returning: nil))
    }
  }

  /// The gate expects the request.
  mutating func expected(for work: InterceptorWork, at now: Deadline) -> Action {
    let claim: Claim?
    switch stage {
    case .waiting(nil): claim = nil
    case .yielding(let held): claim = held
    default: return Action(released: .expectation)
    }
    account.turn(to: .neither, at: now)
    stage = .intercepted
    return Action(next: .intercept(work, returning: claim))
  }

  /// The response is delivered. Returns the timeout if the consumer is still asked for a credential.
  mutating func answering(at now: Deadline) -> TimeoutStart? {
    guard case .answering(let exchange, _) = stage, !isDecided else { return nil }
    return startTimeout(of: exchange, at: now)
  }

  /// It has its permit, but the prepared request is outdated and must be prepared again.
  mutating func outdated(at now: Deadline) -> Action {
    switch stage {
    case .starting(let exchange):
      account.turn(to: .neither, at: now)
      stage = .renewing(exchange)
      return Action(timer: timers.timeout.take(), next: .renew(number: exchange.number))
    case .closing(let exchange):
      stage = .over
      return Action(released: exchange.claim(after: ExchangeEnd(wasSent: false)), next: deliver())
    default: return Action()
    }
  }

  /// What follows a preparation.
  enum Prepared {
    /// The driver submits the request to the gate, which expects it until then.
    case submit
    /// It has its permit, and starts. The timer was that of the permit.
    case start(Launch, timer: TimerQueue.Key?)
  }

  /// It is prepared. Nil if it was decided.
  mutating func prepared(_ request: DispatchRequest, at now: Deadline) -> Prepared? {
    switch stage {
    case .intercepted:
      self.request = request
      stage = .waiting(nil)
      account.turn(to: .waiting, at: now)
      return .submit
    case .renewing(let exchange):
      self.request = request
      account.turn(to: .running, at: now)
      return .start(launch(exchange, at: now), timer: timers.backoff.take())
    default: return nil
    }
  }

  /// It returns its permit, and continues to be prepared. The gate expects it already. Nil if it has started, or was
  /// decided.
  mutating func givePermitBack() -> (claim: Claim, timer: TimerQueue.Key?)? {
    guard case .renewing(let exchange) = stage else { return nil }
    interceptions?.returns += 1
    stage = .intercepted
    return (exchange.claim(after: ExchangeEnd(wasSent: false)), timers.backoff.take())
  }

  /// The interceptor at an index wants the request sent again. Returns false if it was decided.
  mutating func resend(_ changed: DispatchRequest?, by place: Int) -> Bool {
    guard case .intercepted = stage, var interceptions else { return false }
    if let changed { interceptions.unprepared = changed }
    interceptions.answers[place, default: 0] += 1
    self.interceptions = interceptions
    request = interceptions.unprepared
    return true
  }

  /// A withheld response is delivered now, as if it had just arrived: no interceptor wants the request sent again, or
  /// the gate closes. Returns false if the request was decided.
  mutating func tell(_ kept: KeptResponse, at now: Deadline) -> Bool {
    let claim: Claim
    switch stage {
    case .yielding(let held): claim = held
    case .intercepted: claim = .expectation
    default: return false
    }
    account.turn(to: .running, at: now)
    stage = .running(ExchangeState(number: exchanges, claim: claim), kept)
    return true
  }
}
