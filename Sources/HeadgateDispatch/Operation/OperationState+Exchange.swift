import HTTPTypes
import HeadgateThreads

// An exchange under way: what the transport tells of it, and what it is followed by.

/// One exchange of a request.
struct ExchangeState {
  /// How many there were before.
  let number: Int
  /// What the gate counts the request for: a permit; for a response that interceptors have seen and that is told now, that
  /// it is expected.
  let claim: OperationState.Claim
  /// It repeats one that met a closed connection.
  var isRepeat = false
  /// What is made of the response.
  var course = Course.open
  var isPaused = false
  /// What it waits for.
  var holds: Holds = []
  /// It is past the head of a long request, with which the time-out ends.
  var isPastTimeout = false
  /// The consumer had room again before the transport's control was known.
  var missedResume = false
  /// Why it was given up: it is cancelled, and that is its failure whatever the transport says.
  var fault: DispatchError?

  /// Nothing is made of a response yet.
  var isOpen: Bool {
    if case .open = course { return true }
    return false
  }

  /// The consumer is told of the response.
  var isTold: Bool {
    if case .told = course { return true }
    return false
  }

  /// The consumer was told of nothing, no other exchange is to follow, and it goes on.
  var isUntold: Bool {
    guard fault == nil else { return false }
    return switch course {
    case .open, .kept: true
    case .told, .asked, .followed: false
    }
  }

  var isHeld: Bool { !holds.isEmpty }

  var needsTimeout: Bool { !isPastTimeout && !isHeld }

  /// Why an exchange waits: then it does not run, and its time-out rests.
  struct Holds: OptionSet {
    let rawValue: UInt8

    /// The transport has no socket for it.
    static let socket = Holds(rawValue: 1)
    /// The bodies that are gathered take too much memory.
    static let memory = Holds(rawValue: 2)
  }

  /// What is made of its response. What hardly any request needs is indirect: each event copies the state of the exchange.
  enum Course {
    /// It has yet to come.
    case open
    /// The consumer is told of it.
    case told
    /// The consumer is asked for a credential.
    indirect case asked(ResponseHead)
    /// Interceptors will look at it.
    case kept(KeptResponse)
    /// It is passed over, so many bytes of it by now, and another exchange follows.
    indirect case followed(FollowUp, passedOver: Int = 0)
  }
}

/// What an exchange is followed by.
enum FollowUp {
  case redirect(DispatchRequest, FollowedRedirect)
  /// The same with a credential.
  case credential(DispatchRequest)
  /// The same at once, on a connection of its own making.
  case repeated(DispatchRequest)
  /// The same after a rest.
  case retry(DispatchRequest, after: Duration)
}

/// One exchange to be started.
struct Launch {
  let request: DispatchRequest
  let number: Int
  let isLong: Bool
  let needsNewConnection: Bool
  /// What interceptors know of it.
  let interceptions: Interceptions?
  /// Why it is sent again to its own end-point, under the permit of the last exchange; nil for others, and for one that
  /// repeats an exchange that no server has seen.
  var resending: WaitingStart.Reason?
}

extension OperationState {
  /// The exchange that starts, runs, or has ended with a question. Setting it does nothing where there is none.
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

  /// Why the exchange under way was given up; nil where it was not.
  var fault: DispatchError? {
    if case .running(let exchange, _) = stage { return exchange.fault }
    return nil
  }

  /// The transport's hold on the exchange under way.
  var control: (any ExchangeControl)? {
    if case .running(_, let control) = stage { return control }
    return nil
  }

  /// Whether bytes could come now.
  var isListening: Bool {
    // A response that was kept has come already.
    guard case .running(let exchange, let control) = stage, !(control is KeptResponse) else { return false }
    return !exchange.isPaused && !exchange.isHeld
  }

  mutating func launch(_ exchange: ExchangeState, at now: Deadline) -> Launch {
    began = now
    stage = .starting(exchange)
    return Launch(
      request: request, number: exchange.number, isLong: lane == .long, needsNewConnection: exchange.isRepeat,
      interceptions: interceptions)
  }

  // MARK: Under way

  /// What became of an exchange by the time that the transport had taken it.
  enum Start {
    /// It runs. One that ends inside its start needs no timers.
    case running(mustResume: Bool, ran: Int64, needsTimeout: Bool, needsIdle: Bool)
    /// It was decided meanwhile, and is to be cancelled.
    case unwanted
    /// It has ended, and perhaps the next one runs.
    case past
  }

  /// The transport has taken the exchange.
  mutating func started(_ control: any ExchangeControl, number: Int, at now: Deadline) -> Start {
    if case .closing = stage { return .unwanted }
    guard case .starting(var exchange) = stage, exchange.number == number else { return .past }
    let mustResume = exchange.missedResume
    exchange.missedResume = false
    stage = .running(exchange, control)
    lastActivity = max(lastActivity, now)
    return .running(
      mustResume: mustResume, ran: account.counted(at: now),
      needsTimeout: exchange.needsTimeout && timers.timeout == nil, needsIdle: timers.idle == nil)
  }

  /// What the transport brings.
  enum Delivery {
    /// A head; `asks`: it asks the consumer for a credential.
    case head(ResponseHead, asks: Bool)
    case bytes(Int)
    case trailers(HTTPFields)
  }

  /// What becomes of a delivery.
  enum Reception {
    /// The consumer is called, with the present request and the redirects that led to it.
    case tell(DispatchRequest, [FollowedRedirect], resumes: Int, timeout: TimerQueue.Key?)
    case keep(KeptResponse)
    /// It is passed over, like so many bytes before.
    case passOver(Int)
    /// It was decided: the rest is not wanted.
    case abort
  }

  /// The transport brings a part of the response.
  mutating func received(_ delivery: Delivery, at now: Deadline) -> Reception {
    guard var exchange, exchange.fault == nil, !isDecided else { return .abort }
    defer { self.exchange = exchange }
    lastActivity = max(lastActivity, now)
    var timeout: TimerQueue.Key?
    switch (exchange.course, delivery) {
    case (.followed(let next, let passed), _):
      var bytes = 0
      if case .bytes(let count) = delivery { bytes = count }
      exchange.course = .followed(next, passedOver: passed + bytes)
      return .passOver(passed + bytes)
    case (.kept(let kept), .bytes), (.kept(let kept), .trailers): return .keep(kept)
    case (_, .head(let head, asks: true)): exchange.course = .asked(head)
    case (_, .head(let head, asks: false)): timeout = tell(head, &exchange)
    case (_, .trailers(let fields)): trailers = fields
    case (_, .bytes): break
    }
    return enterConsumer() ? .tell(request, redirects, resumes: resumes, timeout: timeout) : .abort
  }

  /// A head is the response's. Returns the time-out, if it is over.
  private mutating func tell(_ head: ResponseHead, _ exchange: inout ExchangeState) -> TimerQueue.Key? {
    self.head = head
    self.head?.redirects = redirects
    exchange.course = .told
    guard lane == .long else { return nil }
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

  /// The exchange waits. Returns the time-out.
  mutating func held(for reason: ExchangeState.Holds, at now: Deadline) -> TimerQueue.Key? {
    switch stage {
    case .starting, .running: break
    default: return nil
    }
    guard let exchange else { return nil }
    self.exchange?.holds.insert(reason)
    guard !exchange.isHeld else { return nil }
    account.turn(to: .waiting, at: now)
    return timers.timeout.take()
  }

  /// It waits no longer for these. True if it goes on therefore.
  @discardableResult
  mutating func leave(_ reasons: ExchangeState.Holds, at now: Deadline) -> Bool {
    guard let exchange, !exchange.holds.isDisjoint(with: reasons) else { return false }
    self.exchange?.holds.subtract(reasons)
    guard exchange.holds.isSubset(of: reasons) else { return false }
    account.turn(to: .running, at: now)
    lastActivity = now
    return true
  }

  /// It goes on with the exchange. Returns its number and the time that the request has run, when the time-out is to be armed
  /// again. One that is being started arms it itself.
  mutating func wentOn(from reason: ExchangeState.Holds, at now: Deadline) -> (number: Int, ran: Int64)? {
    guard leave(reason, at: now), case .running(let exchange, _) = stage, exchange.needsTimeout else { return nil }
    return (exchange.number, account.counted(at: now))
  }

  /// The exchange of this number is given up, and the request is not. Returns what is to be cancelled, once; nil when that
  /// exchange is under way no more.
  mutating func giveUpExchange(_ number: Int?, because fault: DispatchError) -> (any ExchangeControl)? {
    guard case .running(var exchange, let control) = stage, exchange.number == number, exchange.fault == nil else {
      return nil
    }
    exchange.fault = fault
    stage = .running(exchange, control)
    // It has fired: the next attempt has one of its own.
    timers.idle = nil
    return control
  }

  // MARK: Plans

  /// What there is to know for those who decide what an exchange is followed by.
  struct Sent {
    let request: DispatchRequest
    /// As no interceptor has changed it.
    let unprepared: DispatchRequest
    let interceptions: Interceptions?
    let exchange: ExchangeState
    /// How many redirects led to it.
    let redirects: Int
    let attempts: Int
  }

  /// The request as it was sent; nil once it is decided.
  var sent: Sent? {
    guard let exchange, !isDecided else { return nil }
    return Sent(
      request: request, unprepared: interceptions?.unprepared ?? request, interceptions: interceptions,
      exchange: exchange, redirects: redirects.count, attempts: attempts)
  }

  /// Plans what is made of the response. False: it was decided meanwhile, or the consumer knows of it.
  mutating func plan(_ course: ExchangeState.Course) -> Bool {
    guard let exchange, exchange.isUntold, !isDecided else { return false }
    self.exchange?.course = course
    return true
  }

  /// The consumer is called, to forget the response that it was told of. False: it was decided meanwhile.
  mutating func voidResponse() -> Bool {
    guard let exchange, exchange.isTold, enterConsumer() else { return false }
    self.exchange?.course = .open
    (head, trailers) = (nil, nil)
    return true
  }

  // MARK: The end

  /// The exchange has ended.
  ///
  /// - Parameter course: What is made of its failure, if that is not the request's.
  mutating func ended(_ end: ExchangeEnd, _ course: ExchangeState.Course? = nil, at now: Deadline) -> Action {
    times = end.times
    switch stage {
    case .starting, .running: break
    case .closing(let claim):
      stage = .over
      return Action(released: claim, next: deliver())
    default: return Action()
    }
    leave([.socket, .memory], at: now)
    guard var exchange else { return Action() }
    if exchange.isPastTimeout { account.beginTimeoutAnew(at: now) }
    if case .permit = exchange.claim {
      exchanges += 1
      sentAttempts = attempts
    }
    if let course { exchange.course = course }
    switch exchange.course {
    case .open, .told: return conclude(exchange, end.failure, at: now)
    case .asked:
      stage = .answering(exchange, end.failure)
      return Action()
    case .kept(let kept): return yield(.review(kept, end), exchange.claim, at: now)
    case .followed(let next, _): return follow(next, exchange, at: now)
    }
  }

  /// The exchange's end is the request's.
  private mutating func conclude(_ exchange: ExchangeState, _ failure: DispatchError?, at now: Deadline) -> Action {
    decide(by: failure, at: now)
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
    case .repeated(let request):
      // Sent as it was prepared.
      attempts += 1
      return start(request, exchange, isRepeat: true, at: now)
    case .retry(let request, let wait):
      attempts += 1
      self.request = request
      interceptions?.unprepared = request
      account.turn(to: .neither, at: now)
      stage = .resting
      return Action(timer: timers.timeout.take(), next: .rest(wait, returning: exchange.claim))
    }
  }

  /// Another request takes the place of the present one.
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

  /// It was to be sent again to its own end-point, where each start is counted: it waits for its turn there.
  mutating func waitsAgain(_ reason: WaitingStart.Reason, at now: Deadline) -> Action {
    switch stage {
    case .starting(let exchange):
      guard case .permit(let ticket) = exchange.claim else { return Action() }
      account.turn(to: .waiting, at: now)
      stage = .waiting(ticket)
      return Action(timer: timers.timeout.take(), next: .move(ticket, request, reason))
    case .closing(let claim):
      stage = .over
      return Action(released: claim, next: deliver())
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
    var launch = launch(exchange, at: now)
    launch.resending = resending
    return Action(next: .start(launch))
  }

  // MARK: Credentials

  /// The consumer gives no credential: the response that asks is the request's.
  mutating func proceed(at now: Deadline) -> Action {
    guard var exchange, case .asked(let asking) = exchange.course, !isDecided else { return Action() }
    let timeout = tell(asking, &exchange)
    self.exchange = exchange
    guard case .answering(_, let failure) = stage else { return Action(timer: timeout) }
    var action = conclude(exchange, failure, at: now)
    action.timer = timeout
    return action
  }

  /// The consumer gives a credential: the request is sent again with it, as soon as the exchange has ended.
  mutating func sendAgain(with credential: DispatchRequest, at now: Deadline) -> Action {
    guard let exchange, case .asked = exchange.course, !isDecided else { return Action() }
    if case .answering = stage { return follow(.credential(credential), exchange, at: now) }
    self.exchange?.course = .followed(.credential(credential))
    return Action(next: .resume)
  }
}
