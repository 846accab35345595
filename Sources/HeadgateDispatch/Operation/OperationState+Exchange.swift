import HTTPTypes
import HeadgateThreads

// An exchange under way: the transport's reports, and what follows it.

extension OperationState {
  /// The exchange that starts, runs, or waits for an answer. Setting it has no effect if there is none.
  var exchange: ExchangeState? {
    get {
      switch stage {
      case .starting(let exchange), .running(let exchange, _), .answering(let exchange, _): exchange
      default: nil
      }
    }
    set {
      guard let newValue else { return }
      switch stage {
      case .starting: stage = .starting(newValue)
      case .running(_, let control): stage = .running(newValue, control)
      case .answering(_, let failure): stage = .answering(newValue, failure)
      default: break
      }
    }
  }

  /// Why the current exchange was cut off, whatever the transport reports: it was given up, or its consumer needs no more.
  var cut: (fault: DispatchError?, isEnough: Bool) {
    switch stage {
    case .starting(let exchange), .running(let exchange, _): (exchange.fault, exchange.isEnough)
    default: (nil, false)
    }
  }

  /// The consumer needs no more of the response.
  mutating func hasEnough() { exchange?.isEnough = true }

  /// The transport's control of the current exchange.
  var control: (any ExchangeControl)? { if case .running(_, let control) = stage { control } else { nil } }

  /// Whether data could arrive now.
  var isListening: Bool {
    // A withheld response has arrived completely.
    guard case .running(let exchange, let control) = stage, !(control is KeptResponse) else { return false }
    return !exchange.isPaused && !exchange.isHeld
  }

  mutating func launch(
    _ exchange: ExchangeState, resending reason: WaitingStart.Reason? = nil, at now: Deadline
  ) -> Launch {
    began = now
    stage = .starting(exchange)
    return Launch(
      request: request, number: exchange.number, isLong: lane == .long, needsNewConnection: exchange.isRepeat,
      interceptions: interceptions, resending: reason)
  }

  // MARK: Running

  /// The state of an exchange when the transport has accepted it.
  enum Start {
    /// It runs. An exchange that ends inside its start needs no timers.
    case running(mustResume: Bool, timeout: TimeoutStart?, needsIdle: Bool)
    /// The request was decided in the meantime: the exchange must be cancelled.
    case unwanted
    /// It has ended, and the next exchange may already run.
    case past
  }

  /// The transport has accepted the exchange.
  mutating func started(_ control: any ExchangeControl, number: Int, at now: Deadline) -> Start {
    if case .closing = stage { return .unwanted }
    guard case .starting(var exchange) = stage, exchange.number == number else { return .past }
    let mustResume = exchange.missedResume
    exchange.missedResume = false
    stage = .running(exchange, control)
    lastActivity = max(lastActivity, now)
    return .running(mustResume: mustResume, timeout: startTimeout(of: exchange, at: now), needsIdle: timers.idle == nil)
  }

  /// A part of a response.
  enum Delivery {
    /// A head. `asks`: it asks the consumer for a credential.
    case head(ResponseHead, asks: Bool)
    /// A piece of the body, valid until it has been passed on.
    case bytes(UnsafeRawBufferPointer)
    case trailers(HTTPFields)
  }

  /// What happens to a part of a response.
  enum Reception {
    /// The consumer is called, with the current request and the redirects that led to it.
    case tell(DispatchRequest, [FollowedRedirect], resumes: Int, timeout: TimerQueue.Key?)
    case keep(KeptResponse)
    /// It is skipped. The value is the number of bytes skipped so far.
    case passOver(Int)
    /// The request was decided: the rest is not wanted.
    case abort
  }

  /// The transport delivers a part of the response.
  mutating func received(_ delivery: Delivery, at now: Deadline) -> Reception {
    guard var exchange, exchange.fault == nil, !isDecided else { return .abort }
    defer { self.exchange = exchange }
    lastActivity = max(lastActivity, now)
    var timeout: TimerQueue.Key?
    switch (exchange.course, delivery) {
    case (.followed(let next, let passed), _):
      let skipped = if case .bytes(let bytes) = delivery { passed + bytes.count } else { passed }
      exchange.course = .followed(next, passedOver: skipped)
      return .passOver(skipped)
    case (.kept(let kept), .bytes), (.kept(let kept), .trailers): return .keep(kept)
    case (_, .head(let head, asks: true)): exchange.course = .asked(head)
    case (_, .head(let head, asks: false)): timeout = tell(head, &exchange)
    case (_, .trailers(let fields)): trailers = fields
    case (_, .bytes): break
    }
    return enterConsumer() ? .tell(request, redirects, resumes: resumes, timeout: timeout) : .abort
  }

  /// The head is delivered as that of the response. Returns the timer of the timeout, if the head ends the timeout.
  private mutating func tell(_ head: ResponseHead, _ exchange: inout ExchangeState) -> TimerQueue.Key? {
    self.head = head
    self.head?.redirects = redirects
    exchange.course = .told
    guard lane == .long || timeoutEndsWithHead else { return nil }
    exchange.isPastTimeout = true
    return timers.timeout.take()
  }

  /// The consumer has room again. Returns the exchange to resume.
  mutating func resumed(at now: Deadline) -> (any ExchangeControl)? {
    resumes += 1
    lastActivity = now
    exchange?.isPaused = false
    if case .starting(var exchange) = stage {
      exchange.missedResume = true
      stage = .starting(exchange)
    }
    return control
  }

  /// The exchange waits. Returns the timer of the timeout, which stops.
  mutating func waitStarted(for reason: ExchangeState.Holds, at now: Deadline) -> TimerQueue.Key? {
    switch stage {
    case .starting, .running: break
    default: return nil
    }
    guard let exchange else { return nil }
    self.exchange?.holds.insert(reason)
    guard !exchange.isHeld else { return nil }
    account.turn(to: .waiting, because: reason.kind, at: now)
    return timers.timeout.take()
  }

  /// Ends waits for these reasons. Returns true if the exchange continues.
  @discardableResult
  mutating func leave(_ reasons: ExchangeState.Holds, at now: Deadline) -> Bool {
    // An exchange that is held waits. Checked first, because reading the state of an exchange copies it.
    guard account.kind == .waiting, let exchange, !exchange.holds.isDisjoint(with: reasons) else { return false }
    self.exchange?.holds.subtract(reasons)
    guard exchange.holds.isSubset(of: reasons) else {
      account.turn(to: .waiting, because: exchange.holds.subtracting(reasons).kind, at: now)
      return false
    }
    account.turn(to: .running, at: now)
    lastActivity = now
    return true
  }

  /// The exchange continues. Returns the timeout if it must be armed again. An exchange that is being started arms it
  /// itself.
  mutating func waitEnded(for reason: ExchangeState.Holds, at now: Deadline) -> TimeoutStart? {
    guard leave(reason, at: now), case .running(let exchange, _) = stage else { return nil }
    return startTimeout(of: exchange, at: now)
  }

  /// Gives up the exchange with this number, but not the request. Returns the control to cancel, once. Nil if that
  /// exchange is no longer running.
  mutating func giveUpExchange(_ number: Int?, because fault: DispatchError) -> (any ExchangeControl)? {
    guard case .running(var exchange, let control) = stage, exchange.number == number, exchange.fault == nil else {
      return nil
    }
    exchange.fault = fault
    stage = .running(exchange, control)
    // It has fired. The next attempt has its own timer.
    timers.idle = nil
    return control
  }

  // MARK: Plans

  /// The data for deciding what follows an exchange.
  struct Sent {
    let request: DispatchRequest
    /// The request without changes by interceptors.
    let unprepared: DispatchRequest
    let interceptions: Interceptions?
    let exchange: ExchangeState
    /// The number of redirects that led to it.
    let redirects: Int
    let attempts: Int
    let deferral: Deferral?

    /// The attempts that count for the retry policy.
    var counted: Int { attempts - (deferral?.count ?? 0) }
  }

  /// Attempts that an end-point refused because it pauses.
  struct Deferral {
    let count: Int
    /// The time of the first of them.
    let since: Deadline
  }

  /// The request as it was sent. Nil after the decision.
  var sent: Sent? {
    guard let exchange, !isDecided else { return nil }
    return Sent(
      request: request, unprepared: interceptions?.unprepared ?? request, interceptions: interceptions,
      exchange: exchange, redirects: redirects.count, attempts: attempts, deferral: deferral)
  }

  /// The end-point that has answered, and the status. Nil if there is no response, or if the same request follows it.
  var answer: (endPoint: EndPoint, status: Int)? {
    let status: Int? =
      switch exchange?.course {
      case .told: head?.statusCode
      case .asked(let head): head.statusCode
      case .kept(let kept): kept.response.statusCode
      case .followed(.redirect(_, let redirect), _): redirect.statusCode
      case .open, .followed, nil: nil
      }
    return status.map { (request.endPoint, $0) }
  }

  /// Plans what happens to the response. Returns false if the request was decided, or if the consumer has received
  /// something.
  mutating func plan(_ course: ExchangeState.Course) -> Bool {
    guard let exchange, exchange.isUntold, !isDecided else { return false }
    self.exchange?.course = course
    return true
  }

  /// The consumer is called to discard the response, if it has received one. Returns whether redirects led to it, and nil
  /// if the request was decided.
  mutating func voidResponse(forgettingRedirects: Bool) -> Bool? {
    guard let exchange, exchange.isTold || exchange.isUntold, enterConsumer() else { return nil }
    let wasRedirected = !redirects.isEmpty
    if forgettingRedirects { redirects = [] }
    self.exchange?.course = .open
    (head, trailers) = (nil, nil)
    return wasRedirected
  }

  // MARK: The end

  /// The exchange has ended.
  ///
  /// - Parameter course: What happens after its failure, if that does not end the request.
  mutating func ended(_ end: ExchangeEnd, _ course: ExchangeState.Course? = nil, at now: Deadline) -> Action {
    times = end.times
    switch stage {
    case .starting, .running: break
    case .closing(let exchange):
      stage = .over
      return Action(released: exchange.claim(after: end), next: deliver())
    default: return Action()
    }
    leave(.all, at: now)
    guard var exchange else { return Action() }
    if exchange.isPastTimeout { account.beginTimeoutAnew(at: now) }
    exchange.claim = exchange.claim(after: end)
    if exchange.claim.ticket != nil { exchanges += 1 }
    if end.wasSent { sentAttempts = attempts }
    if let course { exchange.course = course }
    switch exchange.course {
    case .open, .told: return conclude(exchange, end.failure, wasSent: end.wasSent, at: now)
    case .asked:
      stage = .answering(exchange, end.failure)
      return Action()
    case .kept(let kept): return yield(.review(kept, end), exchange.claim, at: now)
    case .followed(let next, _):
      // If it was planned at a head, the server has answered, even if the body broke off or was skipped. What it has not
      // processed had no effect.
      if next.isAnotherAttempt, end.wasSent, !(course == nil && next.isUnprocessed) {
        earlier = max(earlier, EarlierAttempts(course == nil ? nil : end.failure))
      }
      return follow(next, exchange, at: now)
    }
  }

  /// The request ends with this exchange.
  private mutating func conclude(
    _ exchange: ExchangeState, _ failure: DispatchError?, wasSent: Bool = true, at now: Deadline
  ) -> Action {
    decide(by: failure, wasSent: wasSent, at: now)
    stage = .over
    return Action(released: exchange.claim, next: deliver())
  }

  private mutating func follow(_ next: FollowUp, _ exchange: ExchangeState, at now: Deadline) -> Action {
    (head, trailers) = (nil, nil)
    switch next {
    case .redirect(let request, let redirect):
      redirects.append(redirect)
      return goOn(with: request, .redirect, exchange, at: now)
    case .credential(let request): return goOn(with: request, .credential, exchange, at: now)
    case .range(let request): return goOn(with: request, .range, exchange, at: now)
    case .repeated(let request):
      // Sent as it was prepared.
      attempts += 1
      return start(request, exchange, isRepeat: true, resending: .retry, at: now)
    case .retry(let request, let wait, _, let isDeferred):
      attempts += 1
      if isDeferred { deferral = Deferral(count: (deferral?.count ?? 0) + 1, since: deferral?.since ?? now) }
      self.request = request
      interceptions?.unprepared = request
      account.turn(to: .neither, at: now)
      stage = .backingOff
      return Action(timer: timers.timeout.take(), next: .backOff(wait, returning: exchange.claim))
    }
  }

  /// Replaces the request with the next one.
  private mutating func goOn(
    with next: DispatchRequest, _ reason: WaitingStart.Reason, _ exchange: ExchangeState, at now: Deadline
  ) -> Action {
    if interceptions != nil {
      request = next
      interceptions?.unprepared = next
      return yield(.preparation(.init(reason: reason)), exchange.claim, at: now)
    }
    guard next.endPoint != request.endPoint, case .permit(let ticket) = exchange.claim else {
      return start(next, exchange, resending: reason, at: now)
    }
    request = next
    account.turn(to: .waiting, at: now)
    stage = .waiting(ticket)
    return Action(timer: timers.timeout.take(), next: .move(ticket, next, reason))
  }

  /// The request was about to be sent again to the same end-point, but each start is counted there, so it waits for its
  /// turn.
  mutating func waitsAgain(_ reason: WaitingStart.Reason, at now: Deadline) -> Action {
    switch stage {
    case .starting(let exchange):
      guard case .permit(let ticket) = exchange.claim else { return Action() }
      account.turn(to: .waiting, at: now)
      isRepeat = exchange.isRepeat
      stage = .waiting(ticket)
      return Action(timer: timers.timeout.take(), next: .move(ticket, request, reason))
    case .closing(let exchange):
      stage = .over
      return Action(released: exchange.claim, next: deliver())
    default: return Action()
    }
  }

  /// The next exchange, under the permit of the last one.
  private mutating func start(
    _ next: DispatchRequest, _ last: ExchangeState, isRepeat: Bool = false, resending: WaitingStart.Reason? = nil,
    at now: Deadline
  ) -> Action {
    request = next
    let exchange = ExchangeState(number: exchanges, claim: last.claim, isRepeat: isRepeat)
    return Action(next: .start(launch(exchange, resending: resending, at: now)))
  }

  // MARK: Credentials

  /// The consumer gives no credential, so the response that asked for one is delivered.
  mutating func proceed(at now: Deadline) -> Action {
    guard var exchange, case .asked(let asking) = exchange.course, !isDecided else { return Action() }
    let timeout = tell(asking, &exchange)
    self.exchange = exchange
    guard case .answering(_, let failure) = stage else { return Action(timer: timeout) }
    var action = conclude(exchange, failure, at: now)
    action.timer = timeout
    return action
  }

  /// The consumer gives a credential. The request is sent again with it as soon as the exchange has ended.
  mutating func resend(with credential: DispatchRequest, at now: Deadline) -> Action {
    guard let exchange, case .asked = exchange.course, !isDecided else { return Action() }
    if case .answering = stage { return follow(.credential(credential), exchange, at: now) }
    self.exchange?.course = .followed(.credential(credential))
    return Action(next: .resume)
  }
}
