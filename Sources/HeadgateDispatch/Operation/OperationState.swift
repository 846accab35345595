import HTTPTypes
import HeadgateThreads

/// One request from its submission to its end, as a value. Events go in, and actions for the driver come out.
///
///     waiting ──▶ starting ──▶ running ──▶ over
///
/// | stage       | next stages                                                                                 |
/// |-------------|---------------------------------------------------------------------------------------------|
/// | waiting     | starting (a permit), expired, intercepted (to be prepared), over                            |
/// | expired     | over (the deadline passes)                                                                  |
/// | starting    | running (the transport has accepted it), renewing (prepared too long ago), closing; an exchange may end here |
/// | renewing    | starting (prepared again), intercepted (the permit is needed elsewhere), over                |
/// | running     | over (the response); starting (redirect, closed connection); waiting (redirect elsewhere); backing off (retry); yielding (interceptors continue); answering (a credential is requested); closing |
/// | answering   | over (no credential), starting (with one), yielding and intercepted (prepared with one)     |
/// | backing off | waiting (the next attempt), over                                                            |
/// | yielding    | intercepted (the gate expects it), running (the gate closes: the response is delivered), over |
/// | intercepted | waiting (prepared), running (the reviewed response is delivered), over                      |
/// | closing     | over (the exchange has ended)                                                               |
///
/// The outcome is decided once, by the first of these: the response, a cancellation, a time limit, a failure, or a
/// shutdown. The caller is told at once. The permit is returned only when the exchange has ended.
struct OperationState: ~Copyable {
  /// The stage of the request, with the data that exists only there.
  enum Stage {
    /// In the gate's queue, or without a ticket on its way there. A redirect that waits for another end-point's permit
    /// keeps its ticket.
    case waiting(Ticket?)
    /// Its permit came with almost nothing left of the deadline, and was passed on. It was never sent.
    case expired
    /// It has a permit, and the transport is being called.
    case starting(ExchangeState)
    /// Interceptors prepare it again, and it keeps its permit.
    case renewing(ExchangeState)
    /// The exchange runs.
    case running(ExchangeState, any ExchangeControl)
    /// The exchange has ended, perhaps with a failure, and the consumer is asked for a credential. The permit is held.
    case answering(ExchangeState, DispatchError?)
    /// The permit was returned, and the next attempt is due later.
    case backingOff
    /// Interceptors continue. The permit is held until the gate expects the request back.
    case yielding(Claim)
    /// Interceptors process it. It holds no permit, and the gate expects it.
    case intercepted
    /// It is decided, and its exchange has not ended yet.
    case closing(ExchangeState)
    /// The end.
    case over
  }

  /// What the gate counts the request as.
  enum Claim {
    case permit(Ticket)
    /// A permit under which nothing was sent, so no rate counts it.
    case unusedPermit(Ticket)
    case expectation

    var ticket: Ticket? {
      switch self {
      case .permit(let ticket), .unusedPermit(let ticket): ticket
      case .expectation: nil
      }
    }
  }

  /// What the driver does, with no lock held and in this order.
  struct Action {
    /// The timer to cancel.
    var timer: TimerQueue.Key?
    /// The ticket to withdraw from the queue.
    var withdrawn: Ticket?
    /// The exchange to cancel.
    var exchange: (any ExchangeControl)?
    /// Whether to cancel the interceptors' work.
    var cancelsWork = false
    /// The claim to return. That starts the next request, before the caller of this one is told.
    var released: Claim?
    var next: Next?
  }

  /// The next step.
  enum Next {
    /// Call the transport.
    case start(Launch)
    /// Exchange the permit for one of another end-point, or for a new one of the same end-point, where the start is
    /// counted.
    case move(Ticket, DispatchRequest, WaitingStart.Reason)
    /// Return the permit and rest.
    case backOff(Duration, returning: Claim)
    /// The backoff is over: submit the request to the gate, after its interceptors if there are any.
    case comeBack
    /// Tell the gate to expect the request, for this work of interceptors.
    case yield(InterceptorWork)
    /// Keep the permit, and have the request prepared again.
    case renew(number: Int)
    /// Return the permit, if there is one, and start the interceptors' work.
    case intercept(InterceptorWork, returning: Claim?)
    /// Skip the rest of the response.
    case resume
    /// Tell the caller.
    case deliver(Outcome)
  }

  /// The outcome for the caller, delivered once.
  struct Outcome {
    let error: DispatchError?
    let times: DispatchTimes
    /// The time of the decision.
    let at: Deadline
    /// The timers to cancel first.
    let timers: OperationTimers
  }

  /// The consumer is called by one thread at a time, and not after the end.
  private enum Turn { case free, inside, ended }

  var stage = Stage.waiting(nil)
  /// The current request: after redirects the last one, as prepared by interceptors.
  var request: DispatchRequest
  /// The interceptors' data. Nil without interceptors.
  var interceptions: Interceptions?
  /// The lane, which a short request may change while it runs.
  private(set) var lane: RequestLane
  /// The last start, if its weight was charged. Nil for a request without a weight.
  var weight: SentWeight?
  /// The priority, if changed after the submission.
  var priority: RequestPriority?

  /// The last head delivered to the consumer.
  var head: ResponseHead?
  /// The trailer fields.
  var trailers: HTTPFields?
  /// The phases of the last exchange.
  var times = ExchangeTimes()

  /// The outcome and its time. Nil before the decision.
  private var decision: (result: Result<Void, DispatchError>, at: Deadline)?
  private var turn = Turn.free
  var timers = OperationTimers()
  var account: TimeAccount

  var lastActivity: Deadline = .distantPast
  /// How often the consumer had room again.
  var resumes = 0
  /// The redirects that were followed.
  var redirects: [FollowedRedirect] = []
  /// How often the request was sent, not counting redirects and credentials.
  var attempts = 1
  /// The attempts that the end-point deferred by its pause. They don't count for the retry policy. Nil if there is none.
  var deferral: Deferral?
  /// The value of `attempts` at the last exchange that was sent and has ended.
  var sentAttempts = 0
  var earlier = EarlierAttempts.unsent
  /// The number of exchanges that have ended.
  var exchanges = 0
  /// Whether the next exchange repeats one that met a closed connection, and waits to be counted.
  var isRepeat = false
  private var submissions = 0
  private var timeoutStarts = 0
  /// The start of the last exchange.
  var began = Deadline.distantPast

  /// Whether the timeout ends with the head, in the short lane too.
  let timeoutEndsWithHead: Bool
  private let submitted: Deadline
  private let deadline: Deadline?

  init(
    _ request: DispatchRequest, _ lane: RequestLane, isIntercepted: Bool, submitted: Deadline, deadline: Deadline?,
    timeoutEndsWithHead: Bool = false
  ) {
    self.timeoutEndsWithHead = timeoutEndsWithHead
    self.request = request
    self.lane = lane
    self.submitted = submitted
    self.deadline = deadline
    interceptions = isIntercepted ? Interceptions(unprepared: request) : nil
    account = TimeAccount(since: submitted)
  }

  // MARK: The gate

  /// It is about to be submitted to the gate. Returns the number of this submission.
  mutating func nextSubmission() -> Int {
    submissions += 1
    return submissions
  }

  /// It waits in the queue. Returns its ticket if that must be withdrawn, because the request was decided on the way.
  ///
  /// - Parameter submission: The number of the submission. By now another attempt may have been submitted, by another
  ///   thread, and that one's ticket is kept.
  mutating func accepted(_ ticket: Ticket, of submission: Int) -> Ticket? {
    switch stage {
    case .waiting: if submission == submissions { stage = .waiting(ticket) }
    case .over: return ticket
    default: break
    }
    return nil
  }

  /// It has been granted a permit. Nil if it was decided before, or if the permit comes too late: the caller returns
  /// the permit.
  ///
  /// - Parameter isFirst: Whether nothing has been sent under this permit.
  mutating func granted(_ ticket: Ticket, isFirst: Bool = true, at now: Deadline) -> Launch? {
    guard case .waiting = stage else { return nil }
    // The ticket of this submission comes too late from now on.
    submissions += 1
    if let deadline, now >= deadline || now > lastStart(before: deadline) {
      stage = .expired
      return nil
    }
    account.turn(to: .running, at: now)
    defer { isRepeat = false }
    return launch(
      ExchangeState(number: exchanges, claim: .permit(ticket), isFirst: isFirst, isRepeat: isRepeat), at: now)
  }

  /// The gate tells of a wait that is over.
  mutating func waited(_ times: WaitTimes) {
    // An earlier decision has asked for it.
    guard decision == nil, case .waiting = stage else { return }
    account.add(times)
  }

  /// A wait at the gate that is not over.
  struct OpenWait {
    let ticket: Ticket
    /// The waits that were told before.
    let told: WaitTimes
    /// Its length so far, as the gate says.
    var times = WaitTimes()
  }

  /// The wait at the gate, to ask for its length. Nil without one.
  var openWait: OpenWait? {
    guard decision == nil, case .waiting(let ticket?) = stage else { return nil }
    return OpenWait(ticket: ticket, told: account.told)
  }

  /// A request that has waited for all but a hundredth of its deadline (10 ms at most) could not end in time, and would
  /// only take the permit from another request.
  private func lastStart(before deadline: Deadline) -> Deadline {
    let hundredth = deadline.nanoseconds(since: submitted) / 100
    return deadline.advanced(byNanoseconds: -max(0, min(hundredth, 10_000_000)))
  }

  /// It continues in the long lane. Returns the timer of the timeout, if the head has already ended the timeout.
  mutating func becameLong() -> TimerQueue.Key? {
    lane = .long
    guard var exchange, case .told = exchange.course else { return nil }
    exchange.isPastTimeout = true
    self.exchange = exchange
    return timers.timeout.take()
  }

  // MARK: The decision

  /// Ends the request for a reason outside the exchange: a cancellation, a time limit, an error of the consumer. Nil if
  /// it was decided before.
  ///
  /// - Parameters:
  ///   - phase: The phase of the exchange, as reported by the transport.
  ///   - wait: The wait that ends with it. If the gate has told of its end meanwhile, it is ignored.
  mutating func fail(
    _ error: DispatchError, phase: DispatchError.Phase?, after wait: OpenWait? = nil, at now: Deadline
  ) -> Action? {
    guard decision == nil else { return nil }
    leave(.all, at: now)
    if let wait, openWait?.ticket == wait.ticket, account.told == wait.told { account.add(wait.times) }
    decide(by: error, phase: phase, at: now)
    var action = Action()
    var last = Stage.over
    switch stage {
    case .waiting(let ticket): action.withdrawn = ticket
    case .starting(let exchange), .running(let exchange, _):
      action.exchange = control
      last = .closing(exchange)
    case .answering(let exchange, _): action.released = exchange.claim
    case .yielding(let claim): action.released = claim
    case .renewing(let exchange):
      action.cancelsWork = true
      action.released = exchange.claim(after: ExchangeEnd(wasSent: false))
    case .intercepted:
      action.cancelsWork = true
      action.released = .expectation
    case .expired, .backingOff, .closing, .over: break
    }
    stage = last
    action.next = deliver()
    return action
  }

  private func phase(
    of error: DispatchError, _ phase: DispatchError.Phase?, wasSent: Bool
  ) -> DispatchError.Phase {
    switch stage {
    case .waiting, .expired, .backingOff: .waiting
    case _ where error.phase != .waiting: error.phase
    case .intercepted, .yielding, .renewing: .intercepting
    // A transport that is still being called may have sent the request already, on its own thread.
    case .starting, .running, .answering: phase ?? (wasSent ? .awaitingHead : .waiting)
    case .closing, .over: .connecting
    }
  }

  /// Decides the outcome. A nil error means a complete response.
  ///
  /// - Parameter wasSent: Whether the current exchange, if there is one, may have been sent.
  mutating func decide(
    by error: DispatchError?, phase: DispatchError.Phase? = nil, wasSent: Bool = true, at now: Deadline
  ) {
    account.turn(to: .neither, at: now)
    let measured = error.map { error in
      let phase = self.phase(of: error, phase, wasSent: wasSent)
      return error.at(
        error.endPoint ?? request.endPoint, phase: phase, waited: .nanoseconds(account.waited(at: now)),
        waitTimes: account.causes(at: now), ran: .nanoseconds(account.ran(at: now)),
        attempts: phase == .waiting || !wasSent ? sentAttempts : attempts,
        wasAnswered: redirects.contains(where: \.isAnswer), earlier: earlier)
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
      exchange: times, waited: account.causes(at: end), attempts: attempts, earlier: earlier)
  }

  // MARK: The consumer

  /// The consumer is about to be called. Returns false after the decision: nothing more is delivered.
  mutating func enterConsumer() -> Bool {
    guard decision == nil else { return false }
    turn = .inside
    return true
  }

  /// The consumer has returned. Returns the outcome if it was decided during the call.
  ///
  /// - Parameters:
  ///   - isPausing: Whether the consumer has no room for more.
  ///   - before: The number of resumes before the call. If it has changed, the consumer has already resumed.
  mutating func leaveConsumer(isPausing: Bool, resumes before: Int) -> Next? {
    turn = .free
    let isPaused = isPausing && resumes == before
    exchange?.isPaused = isPaused
    return deliver()
  }

  // MARK: Timers

  /// Stores a timer. Returns the timer to cancel: the one it replaces, or this one if its purpose has passed.
  mutating func keep(_ timer: TimerQueue.Key, for purpose: OperationTimers.Purpose) -> TimerQueue.Key? {
    guard decision == nil else { return timer }
    switch purpose {
    case .deadline, .idle: break
    case .timeout(let number): guard number == timeoutStarts, exchange?.needsTimeout == true else { return timer }
    case .backOff(let attempts): guard isBackingOff, attempts == self.attempts else { return timer }
    case .renewal(let number): guard renewal?.number == number else { return timer }
    }
    return timers.keep(timer, for: purpose)
  }

  /// The timeout of the current exchange begins to run, or continues. Nil if it does not run, or already has a timer.
  mutating func startTimeout(of exchange: ExchangeState, at now: Deadline) -> TimeoutStart? {
    guard exchange.needsTimeout, timers.timeout == nil else { return nil }
    timeoutStarts += 1
    return TimeoutStart(number: timeoutStarts, ran: account.counted(at: now))
  }

  /// Whether the timeout runs, and has run for so many nanoseconds.
  func hasRun(_ timeout: Int64, at now: Deadline) -> Bool {
    exchange?.needsTimeout == true && account.counted(at: now) >= timeout
  }

  /// The backoff is over. Nil if the request was decided.
  mutating func woke(at now: Deadline) -> Next? {
    guard isBackingOff else { return nil }
    timers.backoff = nil
    stage = .waiting(nil)
    if interceptions == nil { account.turn(to: .waiting, at: now) }
    return .comeBack
  }

  /// How long the exchange has been silent. The clock stops while the consumer pauses the transfer, while the request
  /// waits, and while the request's body has no data.
  ///
  /// - Parameters:
  ///   - isHeld: Whether the body's producer keeps the server waiting.
  ///   - lastSent: The time at which data was last sent.
  mutating func silence(isHeld: Bool, lastSent: Deadline, at now: Deadline) -> Int64 {
    lastActivity = !isListening || isHeld ? now : max(lastActivity, lastSent)
    return now.nanoseconds(since: lastActivity)
  }

  // MARK: Queries

  var isDecided: Bool { decision != nil }

  /// The error of the outcome. Nil before the decision, and after a complete response.
  var verdict: DispatchError? { if case .failure(let error)? = decision?.result { error } else { nil } }

  /// The time spent in each phase. Nil before the caller is told.
  var finalTimes: DispatchTimes? { turn == .ended ? decision.map { measuredTimes($0.at) } : nil }

  /// Whether it waits for something other than the network.
  var isWaiting: Bool {
    switch stage {
    case .waiting, .backingOff, .intercepted: true
    default: false
    }
  }

  /// Whether interceptors process it.
  var isIntercepted: Bool { if case .intercepted = stage { true } else { false } }

  /// Whether it waits between two attempts.
  var isBackingOff: Bool { if case .backingOff = stage { true } else { false } }

  /// The exchange for which interceptors prepare it again while it keeps its permit.
  var renewal: ExchangeState? { if case .renewing(let exchange) = stage { exchange } else { nil } }

  /// The ticket that the gate knows it by.
  var ticket: Ticket? {
    switch stage {
    case .waiting(let ticket): ticket
    case .yielding(let claim): claim.ticket
    case .renewing(let exchange): exchange.claim.ticket
    case .starting, .running, .answering: exchange?.claim.ticket
    case .expired, .backingOff, .intercepted, .closing, .over: nil
    }
  }

  /// The state shown by its handle.
  var handleState: URLDispatchOperation.State {
    if isDecided { return verdict.map { $0.code == .cancelled ? .cancelled : .failed } ?? .finished }
    return switch stage {
    case .waiting, .expired, .backingOff, .intercepted: .waiting
    case .starting, .renewing, .running, .answering, .yielding, .closing, .over: .running
    }
  }
}
