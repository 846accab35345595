import HTTPTypes
import HeadgateThreads

/// The pure half of one operation: what may happen to a request between its submission and its end.
///
/// It ends once: whoever comes first of its response, a cancel, a limit on time and a fault decides the verdict. The
/// permit is a matter of its own: it goes back only when the exchange is over.
struct OperationState {
  /// Where the request stands.
  enum Stage {
    /// Submitted or waiting. -> starting, doomed, over
    case waiting
    /// Its permit came with next to nothing left of the deadline, and went on to the next. It was never sent, and ends
    /// when the deadline passes. -> over
    case doomed
    /// It has a permit, and the transport is being told. -> running, over
    case starting
    /// The exchange is under way. -> waiting (redirect), starting (redirect, credential), answering, intercepted, over
    case running(any ExchangeControl)
    /// The exchange is over, as it says here, while its consumer is asked for a credential. The permit is held. ->
    /// starting, intercepted, over
    case answering(DispatchError?)
    /// The exchange failed, the permit was given back, and the next attempt is due later. -> waiting, intercepted, over
    case resting
    /// Interceptors are at work, and it has no permit: see OperationState+Intercept.swift. -> waiting, running, over
    case intercepted
    /// The permit was given back, or never granted. Nothing follows.
    case over
  }

  /// What to do about a verdict, with no lock held.
  struct Consequences: ~Copyable {
    var withdraw: Ticket?
    var finish: Ticket?
    var cancel: (any ExchangeControl)?
    /// What interceptors are doing, to be cancelled.
    var work: Canceller?
    /// What is to be delivered now. Otherwise whoever is inside the sink does it on its way out.
    var outcome: Outcome?
  }

  /// What the caller is told, once. Handed on and never copied: it is large, and so is what it stands in.
  struct Outcome: ~Copyable {
    let error: DispatchError?
    let times: DispatchTimes
    /// When it was claimed.
    let at: Deadline
    /// To be cancelled before.
    let timers: OperationTimers
  }

  var stage = Stage.waiting
  private(set) var ticket: Ticket?
  var verdict: DispatchError?
  private var isInSink = false
  private var isDelivered = false
  var hasEndedWhole = false

  /// The request of the present hop, where that is not the one that was submitted, and the number of that hop. Never nil
  /// again once there was another: observers rely on that.
  var later: DispatchRequest?
  private(set) var hop = 0
  /// Its lane, which a short request may change while it runs.
  private(set) var lane: RequestLane
  /// The last head that the sink was told of.
  var head: ResponseHead?
  /// What came after the body.
  var trailers: HTTPFields?
  /// A head that asks for a credential, until the consumer has answered.
  var challenge: ResponseHead?
  /// The redirects that were followed.
  var redirects: [FollowedRedirect] = []
  /// How many hops were no redirects: the same request, with a credential.
  var resends = 0
  /// How many sockets its end-point tolerates.
  /// The next request of a redirect, from its head until the old exchange is over.
  var redirect: DispatchRequest?
  /// How long the request rests before that next one, where it is the same again: see OperationState+Retry.swift.
  var rest: Duration?
  /// How many attempts there were beyond the first.
  var retries = 0
  /// The request that follows is the same at once, on a connection of its own making: see OperationState+Repeat.swift.
  var isToBeRepeated = false
  /// The present exchange is such a repeat.
  private(set) var isRepeat = false
  /// How much of a redirect's body was passed over.
  var drained = 0
  /// See `interlude`, in OperationState+Intercept.swift.
  var interludeBox: InterludeBox?

  /// Time accounts, in nanoseconds. The waiting of all hops is added up, and so is the running.
  var waitingSince: Deadline
  var runningSince: Deadline = .distantPast
  var waited: Int64 = 0
  var ran: Int64 = 0
  private var timers = OperationTimers()
  /// A long request's head has come.
  var timeoutIsOver = false
  var lastActivity: Deadline = .distantPast
  private(set) var isPaused = false
  /// The exchange waits for a socket: see OperationState+Socket.swift.
  var isHeld = false
  /// How often the consumer had room again.
  private(set) var resumes = 0
  // A consumer had room again before the transport's control was known here.
  private var missedResume = false
  var times = ExchangeTimes()
  /// Where that is not what it was submitted with.
  var priority: RequestPriority?
  // From the submission to the end, in nanoseconds; below zero before.
  private var total: Int64 = -1

  private let submitted: Deadline
  /// When the request's deadline passes; nil when it has none.
  let deadline: Deadline?

  init(_ lane: RequestLane, submitted: Deadline, deadline: Deadline?) {
    self.lane = lane
    self.submitted = submitted
    self.deadline = deadline
    waitingSince = submitted
  }

  /// Takes the ticket out: the permit goes back.
  mutating func takeTicket() -> Ticket? { ticket.take() }

  var isDecided: Bool { verdict != nil || hasEndedWhole }

  /// Whether bytes could come now.
  var isListening: Bool {
    if case .running = stage { return !isPaused && !isHeld }
    return false
  }

  /// The gate has taken it. Returns the ticket back if it is to be withdrawn, because the verdict came before.
  mutating func accepted(_ ticket: Ticket) -> Ticket? {
    guard case .waiting = stage else { return nil }
    self.ticket = ticket
    return verdict == nil ? nil : ticket
  }

  /// It has a permit. Nil: it was decided before or comes too late, and the permit goes back.
  mutating func granted(_ ticket: Ticket, at now: Deadline) -> Launch? {
    self.ticket = ticket
    guard verdict == nil else {
      stage = .over
      return nil
    }
    if let deadline, now > lastStart(before: deadline) {
      stage = .doomed
      return nil
    }
    waited += now.nanoseconds(since: waitingSince)
    runningSince = now
    stage = .starting
    return launch
  }

  /// What the transport is to be told.
  private var launch: Launch {
    Launch(later: later, hop: hop, isLong: lane == .long, needsNewConnection: isRepeat)
  }

  /// One exchange to be started.
  struct Launch {
    /// The request, where it is not the one that was submitted.
    let later: DispatchRequest?
    let hop: Int
    let isLong: Bool
    let needsNewConnection: Bool
  }

  // MARK: Timers

  /// Takes a timer into keeping. Returns the one to cancel: this one, when the outcome is decided or the request has gone
  /// on to another hop meanwhile; or the one whose place it takes.
  mutating func keep(_ timer: TimerQueue.Key, as kind: OperationTimers.Kind, hop: Int) -> TimerQueue.Key? {
    guard !isDecided else { return timer }
    switch kind {
    case .timeout: guard hop == self.hop, !timeoutIsOver, !isHeld else { return timer }
    // A wake-up may come before it is kept, and a later rest have its own by then.
    case .rest: guard hop == self.hop else { return timer }
    case .deadline, .idle: break
    }
    return timers.set(timer, kind)
  }

  mutating func takeTimeout() -> TimerQueue.Key? { timers.set(nil, .timeout) }

  /// A request that has waited for all but a hundredth of its deadline (10 ms at most) could not end in time: it would
  /// only take the permit from one that can.
  private func lastStart(before deadline: Deadline) -> Deadline {
    let hundredth = deadline.nanoseconds(since: submitted) / 100
    return deadline.advanced(byNanoseconds: -max(0, min(hundredth, 10_000_000)))
  }

  /// The transport has taken the exchange. `unwanted`: it was decided meanwhile, and is to be cancelled.
  mutating func started(_ control: any ExchangeControl, hop: Int, at now: Deadline) -> Start {
    // The exchange may be over already, or may even have gone on to the next hop: then this control is of the past.
    guard hop == self.hop, case .starting = stage else { return .past }
    stage = .running(control)
    if lastActivity < now { lastActivity = now }
    guard verdict == nil else { return .unwanted }
    defer { missedResume = false }
    return .running(
      mustResume: missedResume, needsTimeout: timers.timeout == nil && !timeoutIsOver && !isHeld,
      needsIdle: timers.idle == nil,
      ran: ran)
  }

  /// What became of an exchange by the time the transport had taken it. Only one that runs needs timers: a transport
  /// that completes inside its start needs none.
  enum Start {
    case running(mustResume: Bool, needsTimeout: Bool, needsIdle: Bool, ran: Int64)
    case unwanted
    case past
  }

  /// A verdict from outside or from the sink. The first one counts; nil for all others.
  mutating func fail(_ error: DispatchError, phase: DispatchError.Phase?, at now: Deadline) -> Consequences? {
    guard !isDecided else { return nil }
    leaveHold(at: now)
    verdict = measured(error, phase, at: now)
    var consequences = Consequences()
    switch stage {
    case .waiting: consequences.withdraw = ticket
    case .running(let control): consequences.cancel = control
    case .answering:
      stage = .over
      ran += now.nanoseconds(since: runningSince)
      consequences.finish = ticket
    case .resting: stage = .over
    case .intercepted:
      stage = .over
      consequences.work = interlude?.work
    case .starting, .doomed, .over: break
    }
    consequences.outcome = claimOutcome(at: now)
    return consequences
  }

  /// It goes on in the long lane. Returns the timer that ends with the head, if that has come.
  mutating func becameLong() -> TimerQueue.Key? {
    lane = .long
    return head == nil ? nil : takeTimeoutOfLong()
  }

  /// The head of a long request has come: its time-out is over. Nil for a short one.
  mutating func takeTimeoutOfLong() -> TimerQueue.Key? {
    guard lane == .long else { return nil }
    timeoutIsOver = true
    return takeTimeout()
  }

  /// The sink is about to be called with so many bytes of the body, or with the head.
  mutating func enterSink(with bytes: Int, _ head: ResponseHead?, asks: Bool, at now: Deadline) -> Entry {
    if redirect != nil {
      drained += bytes
      return .redirect(drained: drained)
    }
    guard !isDecided else { return .unwanted }
    isInSink = true
    lastActivity = now
    if asks { challenge = head }
    guard let head, !asks else { return .enters(later, resumes: resumes, timeout: nil) }
    self.head = head
    return .enters(later, resumes: resumes, timeout: takeTimeoutOfLong())
  }

  /// Whether the sink is to be called.
  enum Entry {
    /// With the request, where it is not the one that was submitted, the count of resumes, for `leaveSink`, and the
    /// timer that ends with a long request's head.
    case enters(DispatchRequest?, resumes: Int, timeout: TimerQueue.Key?)
    /// The verdict is there: the rest is not wanted.
    case unwanted
    /// It is the body of a redirect, which nobody is told of.
    case redirect(drained: Int)
  }

  /// The sink has returned. True: a verdict came meanwhile, and `claimOutcome` follows.
  mutating func leaveSink(pausing: Bool, resumesBefore: Int) -> Bool {
    isInSink = false
    // A consumer that was faster than we are has resumed already what this would note as paused.
    isPaused = pausing && resumes == resumesBefore
    return isDecided
  }

  /// The consumer has room again. Returns the exchange to resume.
  mutating func resumed(at now: Deadline) -> (any ExchangeControl)? {
    resumes += 1
    isPaused = false
    lastActivity = now
    if case .starting = stage { missedResume = true }
    return control
  }

  /// The exchange under way.
  var control: (any ExchangeControl)? {
    if case .running(let control) = stage { return control }
    return nil
  }

  /// The exchange is over.
  mutating func ended(_ end: borrowing ExchangeEnd, of first: DispatchRequest, at now: Deadline) -> Ending {
    times = end.times
    leaveHold(at: now)
    if !isDecided {
      if let redirect { return Ending(next: redirect, rest: rest) }
      if challenge != nil {
        stage = .answering(end.failure)
        return Ending()
      }
      decide(by: end.failure, of: first, at: now)
    }
    return over(at: now)
  }

  /// The exchange's end is the request's.
  mutating func decide(by failure: DispatchError?, of first: DispatchRequest, at now: Deadline) {
    if let failure {
      verdict = measured(failure.at((later ?? first).endPoint), nil, at: now)
    } else {
      hasEndedWhole = true
    }
  }

  /// Nothing of the exchange follows.
  mutating func over(at now: Deadline) -> Ending {
    stage = .over
    ran += now.nanoseconds(since: runningSince)
    return Ending(ticket: ticket, outcome: claimOutcome(at: now))
  }

  /// What follows the end of an exchange: the next hop, or the permit's way back and perhaps the outcome's delivery.
  struct Ending: ~Copyable {
    var next: DispatchRequest?
    var rest: Duration?
    var ticket: Ticket?
    var outcome: Outcome?
  }

  /// The redirect's request becomes the present one: under the same permit, or waiting for that of another end-point.
  /// Nil: it was decided meanwhile, and the permit goes back.
  mutating func follow(_ next: DispatchRequest, after first: DispatchRequest, at now: Deadline) -> Hop? {
    guard !isDecided else { return nil }
    let stays = next.endPoint == (later ?? first).endPoint
    leaveHop(for: next, at: now)
    runningSince = now
    waitingSince = now
    stage = stays ? .starting : .waiting
    return stays ? .same(launch) : .other
  }

  /// One hop is over, and another follows.
  mutating func leaveHop(for next: DispatchRequest, at now: Deadline) {
    later = next
    redirect = nil
    drained = 0
    hop += 1
    ran += now.nanoseconds(since: runningSince)
    isPaused = false
    missedResume = false
    isRepeat = isToBeRepeated
    guard isToBeRepeated else { return }
    isToBeRepeated = false
    retries += 1
    resends += 1
  }

  /// Where a redirect leads.
  enum Hop {
    case same(Launch)
    case other
  }

  /// The outcome, for whoever asks first once there is one and the sink is free.
  mutating func claimOutcome(at now: Deadline) -> Outcome? {
    guard !isInSink, !isDelivered else { return nil }
    isDelivered = true
    defer { timers = OperationTimers() }
    total = now.nanoseconds(since: submitted)
    return Outcome(error: verdict, times: measuredTimes, at: now, timers: timers)
  }

  /// What took how long; nil before the end.
  var finalTimes: DispatchTimes? { total < 0 ? nil : measuredTimes }

  private var measuredTimes: DispatchTimes {
    DispatchTimes(
      queued: verdict?.waited ?? .nanoseconds(waited), total: .nanoseconds(total), exchange: times,
      attempts: retries + 1)
  }

  // The phase is asked of the transport before, outside the lock.
  private func measured(
    _ error: DispatchError, _ phase: DispatchError.Phase?, at now: Deadline
  ) -> DispatchError {
    var known = error.phase
    var (waited, ran) = (waited, ran)
    switch stage {
    case .waiting, .doomed:
      known = .waiting
      waited += now.nanoseconds(since: waitingSince)
    case .resting: known = .waiting
    case .intercepted: if known == .waiting { known = .intercepting }
    case .running, .answering:
      if known == .waiting { known = phase ?? .awaitingHead }
      ran += now.nanoseconds(since: runningSince)
    case .starting, .over:
      if known == .waiting { known = .connecting }
      ran += now.nanoseconds(since: runningSince)
    }
    return error.at(error.endPoint, phase: known, waited: .nanoseconds(waited), ran: .nanoseconds(ran))
  }
}
