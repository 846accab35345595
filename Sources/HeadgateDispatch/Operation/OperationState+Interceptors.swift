import HeadgateThreads

// A request and its interceptors. They work while it has no permit: before it is brought to the gate, for the first time or
// again, and after its exchange, on a response that is kept until they have looked at it.

/// What is known of a request that interceptors work on.
struct Interceptions: Sendable {
  /// The request as no interceptor has changed it: as it was submitted, as a redirect or a credential made it, or as an
  /// interceptor answered. Each preparation begins with it, so that none piles up on another, and nothing that was put in
  /// for one origin goes along to the next.
  var unprepared: DispatchRequest
  /// How often each interceptor had it sent again, by its place.
  var answers: [Int: Int] = [:]
  /// How often what was prepared was out of date by the time that there was a permit.
  var latePreparations = 0
}

/// What interceptors do.
enum InterceptorWork: Sendable {
  case preparation(GateApproach)
  /// They look at a response, or at a failure.
  case review(KeptResponse, ExchangeEnd)
}

/// How a request is brought to the gate.
struct GateApproach: Sendable {
  let reason: WaitingStart.Reason
  var patience = Scheduler<any GateClient>.Patience.waits
  var mayBeHeld = true
}

extension OperationState {
  /// Interceptors are next: once the gate expects the request back its permit goes back.
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

  /// It has its permit, and what was prepared is out of date: it is to be prepared anew.
  mutating func outdated(at now: Deadline) -> Action {
    switch stage {
    case .starting(let exchange):
      interceptions?.latePreparations += 1
      return yield(.preparation(.init(reason: .interceptor)), Self.unused(exchange.claim), at: now)
    case .closing(let claim):
      stage = .over
      return Action(released: Self.unused(claim), next: deliver())
    default: return Action()
    }
  }

  private static func unused(_ claim: Claim) -> Claim { claim.ticket.map { .unusedPermit($0) } ?? claim }

  /// It is prepared, and the driver brings it to the gate, which expects it until then. False: it was decided meanwhile.
  mutating func prepared(_ request: DispatchRequest, at now: Deadline) -> Bool {
    guard case .intercepted = stage else { return false }
    self.request = request
    stage = .waiting(nil)
    account.turn(to: .waiting, at: now)
    return true
  }

  /// The interceptor at a place wants it sent again. False: it was decided meanwhile.
  mutating func sendAgain(_ changed: DispatchRequest?, by place: Int) -> Bool {
    guard case .intercepted = stage, var interceptions else { return false }
    if let changed { interceptions.unprepared = changed }
    interceptions.answers[place, default: 0] += 1
    self.interceptions = interceptions
    request = interceptions.unprepared
    return true
  }

  /// A response that was kept is told now, as if it came: no interceptor wants the request sent again, or the gate closes.
  /// False: it was decided meanwhile.
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
