import HTTPTypes
import HeadgateThreads

/// One request from its submission to its end, as a value: an event goes in, and what the driver does comes out.
///
///     waiting ──▶ starting ──▶ running ──▶ over
///
/// | stage       | goes on to                                                                                  |
/// |-------------|---------------------------------------------------------------------------------------------|
/// | waiting     | starting (a permit), expired, intercepted (to be prepared), over                            |
/// | expired     | over (the deadline passes)                                                                  |
/// | starting    | running (the transport has taken it), yielding (prepared too long ago), closing; an exchange may end here |
/// | running     | over (the response); starting (redirect, closed connection); waiting (redirect elsewhere); resting (retry); yielding (interceptors are next); answering (a credential is asked for); closing |
/// | answering   | over (no credential), starting (with one), yielding and intercepted (prepared with one)     |
/// | resting     | waiting (the next attempt), over                                                            |
/// | yielding    | intercepted (the gate expects it), running (the gate closes: the response is told), over    |
/// | intercepted | waiting (prepared), running (the response that they have seen is told), over                |
/// | closing     | over (the exchange has ended)                                                               |
///
/// It is decided once: by its response, a cancel, a limit on time, a fault, or a shutdown, whichever comes first. That
/// decides what the caller is told, at once. The permit goes back when the exchange has ended, and only then.
struct OperationState {
  /// Where the request stands, with all that holds there only.
  enum Stage {
    /// In the gate's queue; without a ticket on its way there. A redirect that waits for another end-point's permit keeps
    /// its ticket.
    case waiting(Ticket?)
    /// Its permit came with next to nothing left of the deadline, and went on to the next request. It was never sent.
    case expired
    /// It has a permit, and the transport is being told.
    case starting(ExchangeState)
    /// The exchange is under way.
    case running(ExchangeState, any ExchangeControl)
    /// The exchange has ended, perhaps with a failure, and its consumer is asked for a credential. The permit is held.
    case answering(ExchangeState, DispatchError?)
    /// The permit was given back, and the next attempt is due later.
    case resting
    /// Interceptors are next. The permit is held until the gate expects the request back.
    case yielding(Claim)
    /// Interceptors work on it. It holds no permit, and the gate expects it.
    case intercepted
    /// It is decided, and its exchange has yet to end.
    case closing(Claim)
    /// Nothing follows.
    case over
  }

  /// What the gate counts the request for.
  enum Claim {
    case permit(Ticket)
    /// A permit under which nothing was sent: no rate is to count it.
    case unusedPermit(Ticket)
    case expectation

    var ticket: Ticket? {
      switch self {
      case .permit(let ticket), .unusedPermit(let ticket): ticket
      case .expectation: nil
      }
    }
  }

  /// What the driver does with no lock held, in this order.
  struct Action {
    /// Taken back.
    var timer: TimerQueue.Key?
    /// Taken out of the queue.
    var withdrawn: Ticket?
    /// Cancelled.
    var exchange: (any ExchangeControl)?
    /// Whether the interceptors' work is cancelled.
    var cancelsWork = false
    /// Given back: the next request starts here and now, before the caller of this one is told.
    var released: Claim?
    var next: Next?
  }

  /// What follows.
  enum Next {
    /// The transport is told.
    case start(Launch)
    /// The permit is exchanged for one of another end-point, or of its own, where it is counted once more.
    case move(Ticket, DispatchRequest, WaitingStart.Reason)
    /// The permit goes back, and the request rests.
    case rest(Duration, returning: Claim)
    /// The rest is over: the request is brought to the gate, after its interceptors if there are any.
    case comeBack
    /// The gate is told to expect it, for this work of interceptors.
    case yield(InterceptorWork)
    /// The permit goes back, if there is one, and interceptors work.
    case intercept(InterceptorWork, returning: Claim?)
    /// The rest of the response is passed over.
    case resume
    /// The caller is told.
    case deliver(Outcome)
  }

  /// What the caller is told, once.
  struct Outcome {
    let error: DispatchError?
    let times: DispatchTimes
    /// When it was decided.
    let at: Deadline
    /// To be taken back before.
    let timers: OperationTimers
  }

  /// The consumer is called by one thread at a time, and not after the end.
  private enum Turn { case free, inside, ended }

  var stage = Stage.waiting(nil)
  /// The present request: after redirects the last one, as interceptors have prepared it.
  var request: DispatchRequest
  /// What interceptors have to do with it; nil where there are none.
  var interceptions: Interceptions?
  /// Its lane, which a short request may change while it runs.
  private(set) var lane: RequestLane
  /// By what its weight is known to the gate, since it last started; nil for one without.
  private(set) var weighedTicket: Ticket?
  /// Where that is not what it was submitted with.
  var priority: RequestPriority?

  /// The head that the consumer was told of last.
  var head: ResponseHead?
  /// What came after the body.
  var trailers: HTTPFields?
  /// What took how long in the last exchange.
  var times = ExchangeTimes()

  /// How it ended, and when; nil before.
  private var decision: (result: Result<Void, DispatchError>, at: Deadline)?
  private var turn = Turn.free
  var timers = OperationTimers()
  var account: TimeAccount

  var lastActivity: Deadline = .distantPast
  /// How often the consumer had room again.
  var resumes = 0
  /// Redirects that were followed.
  var redirects: [FollowedRedirect] = []
  /// How often it was sent for its own sake: redirects and credentials don't count.
  var attempts = 1
  /// The same of those exchanges that have ended.
  var sentAttempts = 0
  /// Exchanges that have ended.
  var exchanges = 0
  /// When the last exchange started.
  var began = Deadline.distantPast

  private let submitted: Deadline
  private let deadline: Deadline?

  init(_ request: DispatchRequest, _ lane: RequestLane, isIntercepted: Bool, submitted: Deadline, deadline: Deadline?) {
    self.request = request
    self.lane = lane
    self.submitted = submitted
    self.deadline = deadline
    interceptions = isIntercepted ? Interceptions(unprepared: request) : nil
    account = TimeAccount(since: submitted)
  }

  // MARK: The gate

  /// It stands in the queue. Returns its ticket if it is to be withdrawn, because it was decided on the way.
  mutating func accepted(_ ticket: Ticket) -> Ticket? {
    switch stage {
    case .waiting: stage = .waiting(ticket)
    case .over: return ticket
    default: break
    }
    return nil
  }

  /// It has a permit. Nil: it was decided before or comes too late, and the permit goes back.
  mutating func granted(_ ticket: Ticket, at now: Deadline) -> Launch? {
    guard case .waiting = stage else { return nil }
    if let deadline, now > lastStart(before: deadline) {
      stage = .expired
      return nil
    }
    account.turn(to: .running, at: now)
    if request.fields.hasWeights { weighedTicket = ticket }
    return launch(ExchangeState(number: exchanges, claim: .permit(ticket)), at: now)
  }

  /// A request that has waited for all but a hundredth of its deadline (10 ms at most) could not end in time: it would
  /// only take the permit from one that can.
  private func lastStart(before deadline: Deadline) -> Deadline {
    let hundredth = deadline.nanoseconds(since: submitted) / 100
    return deadline.advanced(byNanoseconds: -max(0, min(hundredth, 10_000_000)))
  }

  /// It goes on in the long lane. Returns the time-out, if that ended with the head.
  mutating func becameLong() -> TimerQueue.Key? {
    lane = .long
    guard var exchange, case .told = exchange.course else { return nil }
    exchange.isPastTimeout = true
    self.exchange = exchange
    return timers.timeout.take()
  }

  // MARK: The decision

  /// It ends from outside: a cancel, a limit on time, a fault of the consumer. Nil: it was decided before.
  ///
  /// - Parameter phase: How far the exchange has come, by what the transport says.
  mutating func fail(_ error: DispatchError, phase: DispatchError.Phase?, at now: Deadline) -> Action? {
    guard decision == nil else { return nil }
    leave([.socket, .memory], at: now)
    decide(by: error, phase: phase, at: now)
    var action = Action()
    switch stage {
    case .waiting(let ticket): action.withdrawn = ticket
    case .starting(let exchange):
      stage = .closing(exchange.claim)
      action.next = deliver()
      return action
    case .running(let exchange, let control):
      stage = .closing(exchange.claim)
      action.exchange = control
      action.next = deliver()
      return action
    case .answering(let exchange, _): action.released = exchange.claim
    case .yielding(let claim): action.released = claim
    case .intercepted:
      action.cancelsWork = true
      action.released = .expectation
    case .expired, .resting, .closing, .over: break
    }
    stage = .over
    action.next = deliver()
    return action
  }

  private func phase(of error: DispatchError, _ phase: DispatchError.Phase?) -> DispatchError.Phase {
    switch stage {
    case .waiting, .expired, .resting: .waiting
    case _ where error.phase != .waiting: error.phase
    case .intercepted, .yielding: .intercepting
    case .running, .answering: phase ?? .awaitingHead
    case .starting, .closing, .over: .connecting
    }
  }

  /// Decides how it ends; nil: its response was whole.
  mutating func decide(by error: DispatchError?, phase: DispatchError.Phase? = nil, at now: Deadline) {
    account.turn(to: .neither, at: now)
    let measured = error.map { error in
      let phase = self.phase(of: error, phase)
      return error.at(
        error.endPoint ?? request.endPoint, phase: phase, waited: .nanoseconds(account.waited(at: now)),
        ran: .nanoseconds(account.ran(at: now)), attempts: phase == .waiting ? sentAttempts : attempts)
    }
    decision = (measured.map { .failure($0) } ?? .success(()), now)
  }

  /// The outcome, once it is decided and the consumer is not being called.
  mutating func deliver() -> Next? {
    guard let decision, turn == .free else { return nil }
    turn = .ended
    defer { timers = OperationTimers() }
    return .deliver(Outcome(error: verdict, times: measuredTimes(decision.at), at: decision.at, timers: timers))
  }

  private func measuredTimes(_ end: Deadline) -> DispatchTimes {
    DispatchTimes(
      queued: .nanoseconds(account.waited(at: end)), total: .nanoseconds(end.nanoseconds(since: submitted)),
      exchange: times, attempts: attempts)
  }

  // MARK: The consumer

  /// The consumer is called. False: it is decided, and nothing more is told.
  mutating func enterConsumer() -> Bool {
    guard decision == nil else { return false }
    turn = .inside
    return true
  }

  /// The consumer has returned. Returns the outcome, if it was decided meanwhile.
  ///
  /// - Parameters:
  ///   - isPausing: Whether it has no room for more.
  ///   - before: The count of resumes when it was called: a consumer that was faster has resumed already.
  mutating func leaveConsumer(isPausing: Bool, resumes before: Int) -> Next? {
    turn = .free
    let isPaused = isPausing && resumes == before
    exchange?.isPaused = isPaused
    return deliver()
  }

  // MARK: Timers

  /// Takes a timer into keeping. Returns the one to take back: the one whose place it takes; or this one, when what it was
  /// armed for is over by now.
  mutating func keep(_ timer: TimerQueue.Key, for purpose: OperationTimers.Purpose) -> TimerQueue.Key? {
    guard decision == nil else { return timer }
    switch purpose {
    case .deadline, .idle: break
    case .timeout(let number):
      guard let exchange, exchange.number == number, exchange.needsTimeout else { return timer }
    case .rest(let attempts): guard isResting, attempts == self.attempts else { return timer }
    }
    return timers.keep(timer, for: purpose)
  }

  /// The rest is over. Nil: it was decided meanwhile.
  mutating func woke(at now: Deadline) -> Next? {
    guard isResting else { return nil }
    timers.rest = nil
    stage = .waiting(nil)
    if interceptions == nil { account.turn(to: .waiting, at: now) }
    return .comeBack
  }

  /// How long nothing came. That time rests while the consumer holds the transfer, while the request waits, and while its
  /// own body is not there.
  ///
  /// - Parameters:
  ///   - isHeld: Whether the body's producer keeps the server waiting.
  ///   - lastSent: When something was sent last.
  mutating func silence(isHeld: Bool, lastSent: Deadline, at now: Deadline) -> Int64 {
    lastActivity = !isListening || isHeld ? now : max(lastActivity, lastSent)
    return now.nanoseconds(since: lastActivity)
  }

  // MARK: Questions

  var isDecided: Bool { decision != nil }

  /// Why it did not come to its end; nil before, and where its response was whole.
  var verdict: DispatchError? {
    if case .failure(let error)? = decision?.result { return error }
    return nil
  }

  /// What took how long; nil before the caller is told.
  var finalTimes: DispatchTimes? { turn == .ended ? decision.map { measuredTimes($0.at) } : nil }

  /// Whether it waits for something else than the network.
  var isWaiting: Bool {
    switch stage {
    case .waiting, .resting, .intercepted: true
    default: false
    }
  }

  /// Whether it rests between two attempts.
  var isResting: Bool {
    if case .resting = stage { return true }
    return false
  }

  /// By what the gate knows it.
  var ticket: Ticket? {
    switch stage {
    case .waiting(let ticket): return ticket
    case .yielding(let claim): return claim.ticket
    case .starting, .running, .answering: return exchange?.claim.ticket
    case .expired, .resting, .intercepted, .closing, .over: return nil
    }
  }

  /// Where it stands, in the words of its handle.
  var handleState: URLDispatchOperation.State {
    switch decision?.result {
    case .success?: return .finished
    case .failure(let error)?: return error.code == .cancelled ? .cancelled : .failed
    case nil: break
    }
    switch stage {
    case .waiting, .expired, .resting, .intercepted: return .waiting
    case .starting, .running, .answering, .yielding, .closing, .over: return .running
    }
  }
}
