import HeadgateThreads

/// Whether an end-point takes requests at all: its pauses after refusals, its sleeps when it can't be reached, and the way
/// back. A value with no clock and no chance of its own.
///
///     healthy ──refused, or failures in a row──▶ asleep until `notBefore` ──▶ one probe
///        ▲                                          ▲                          │ answered: 2, 4, 8 … at once
///        └───────── as many at once as `ceiling` ───┼──────────────────────────┘
///                                                   └── the probe, or a later one, is refused or fails
///
/// A server that refuses again after a pause counts, most likely. From then on starts keep a ``distance``: see
/// ``RecoveryPace``.
///
/// The driver asks ``room(at:)`` and ``earliest`` before it starts a request, tells ``started(at:)`` when it does, and
/// ``ended(_:)`` when that one has ended in whatever way: a probe that is cancelled makes room for another one.
struct EndPointHealth: Sendable {
  /// Why it sleeps, or slept last.
  enum Cause: Hashable, Sendable {
    /// The server refused a request with this status.
    case refused(Int)
    /// It could not be reached so many times in a row.
    case unreachable(failures: Int)
  }

  /// What an event changed.
  enum Change: Hashable, Sendable {
    case nothing
    /// It sleeps, or sleeps longer, until `notBefore`.
    case sleeps(Cause)
    /// It sleeps again after too many sleeps: what waits there is to end.
    case givesUp
    /// More may run than before.
    case allowsMore
    /// The limits alone hold again.
    case recovered
  }

  private(set) var pauses: PausePolicy?
  private(set) var breaker: BreakerPolicy?
  /// So many at once, and it has recovered: more than the end-point's limit, or that.
  var ceiling: Int

  /// Nothing starts before it.
  private(set) var notBefore = Deadline.distantPast
  /// Why; nil where the limits alone hold.
  private(set) var cause: Cause?
  /// It slept too often to make anybody wait: what comes while it sleeps is to be refused.
  private(set) var hasGivenUp = false

  // Of what was under way at this moment nothing is learned about the time after.
  private var began = Deadline.distantPast
  // Sleeps with no recovery in between, and of those the last ones that were for failures.
  private var steps = 0
  private var sleeps = 0
  private var failures = 0
  // The last answers, the newest in the lowest bit: those with 503 and no wait.
  private var unavailable: UInt64 = 0
  // Which sleep was the last, and how many run that started after it.
  private var generation: UInt32 = 0
  private var running = 0
  // How many were answered since the last sleep, when the first of them started, and how soon twice as many may run.
  private var answers = 0
  private var probed = Deadline.distantPast
  private var doubling: Int64 = 1
  private var pace = RecoveryPace()

  init(pauses: PausePolicy? = nil, breaker: BreakerPolicy? = nil, ceiling: Int = 64) {
    self.pauses = pauses
    self.breaker = breaker
    self.ceiling = ceiling
  }

  /// The policies are others from now on. A sleep ends with the policy that it follows.
  mutating func adopt(_ pauses: PausePolicy?, _ breaker: BreakerPolicy?) {
    (self.pauses, self.breaker) = (pauses, breaker)
    if pauses == nil { pace.forget() }
    let isOver =
      switch cause {
      case .refused: pauses == nil
      case .unreachable: breaker == nil
      case nil: false
      }
    guard isOver else { return }
    (cause, notBefore, steps) = (nil, .distantPast, 0)
    (failures, sleeps, hasGivenUp) = (0, 0, false)
  }

  /// Whether it sleeps at a moment.
  func isAsleep(at now: Deadline) -> Bool { now < notBefore }

  /// Nothing starts before it: `notBefore`, or a distance after the last start.
  var earliest: Deadline { max(notBefore, pace.earliest) }

  /// The least time from one start to the next since it was refused again after a pause; 0: none.
  var distance: Int64 { pace.distance }

  /// How many more requests may start now, as far as counts go: none while it sleeps.
  func room(at now: Deadline) -> Int {
    if isAsleep(at: now) { return 0 }
    return cause == nil ? .max : max(0, allowance(at: now) - running)
  }

  /// After a sleep, so many may run at once of those that start after it: one more than were answered, and no more than
  /// two with the first answer, four a while later, then eight. By answers alone a fast network would open the way
  /// within milliseconds, and all that run then are refused together; by time alone a server that hangs would get all.
  func allowance(at now: Deadline) -> Int {
    if cause == nil { return .max }
    return answers == 0 ? 1 : min(answers + 1, 2 << doublings(at: now))
  }

  /// When more may run than now though nothing ends; nil where that is not a question of time.
  func widens(after now: Deadline) -> Deadline? {
    guard cause != nil, answers > allowance(at: now) - 1 else { return nil }
    return probed.advanced(byNanoseconds: doubling * Int64(doublings(at: now) + 1))
  }

  private func doublings(at now: Deadline) -> Int {
    Int(min(max(0, (now - probed).wholeNanoseconds) / doubling, 40))
  }

  /// A request starts. What is returned goes to ``ended(_:)`` when it has ended. O(1), like all that follows.
  mutating func started(at now: Deadline) -> UInt32 {
    running += 1
    pace.started(at: now)
    return generation
  }

  /// A request ended, be it that it was cancelled before it was sent.
  mutating func ended(_ mark: UInt32) {
    if mark == generation { running -= 1 }
  }

  /// A response's head came.
  ///
  /// - Parameters:
  ///   - status: Its status.
  ///   - wait: How long the server asks to be left alone; zero and less say nothing.
  ///   - start: When the exchange started.
  ///   - now: The present.
  ///   - random: For the jitter.
  mutating func answered(
    _ status: Int, wait: Duration?, startedAt start: Deadline, at now: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Change {
    guard start > began else { return .nothing }
    heard(startedAt: start)
    guard pauses != nil else { return proceeds(startedAt: start) }
    switch judge(status, wait: wait) {
    case .answer: return proceeds(startedAt: start)
    case .unavailable: return .nothing
    case .refusal: return refused(status, wait: wait, startedAt: start, at: now, using: &random)
    }
  }

  /// What a status means.
  enum Judgement: Hashable, Sendable {
    case answer
    /// 503 without a wait, and few of the last were such.
    case unavailable
    case refusal
  }

  /// What a response means that came with this status. It is counted.
  mutating func judge(_ status: Int, wait: Duration?) -> Judgement {
    let pauses = pauses ?? PausePolicy()
    let wait = wait.flatMap { $0 > .zero ? $0 : nil }
    let isUnavailable = status == 503 && wait == nil
    unavailable = unavailable << 1 | (isUnavailable ? 1 : 0)
    switch status {
    case 429: break
    case 403 where wait != nil: break
    case 503 where wait != nil: break
    case 503:
      let answers = UInt64.max >> UInt64(64 - min(max(1, pauses.answers), 64))
      let isMany = (unavailable & answers).nonzeroBitCount >= max(1, pauses.unavailable)
      // A probe that meets what the end-point slept for has learned that it goes on.
      guard isMany || cause == .refused(503) && self.answers == 0 else { return .unavailable }
    default: return .answer
    }
    unavailable = 0
    return .refusal
  }

  /// The end-point refused a request. It sleeps for as long as is asked, or for the next step.
  ///
  /// - Parameter isPaced: Whether starts keep a distance once it refuses again. An end-point whose limits are learned has a
  ///   learned rate instead.
  mutating func refused(
    _ status: Int, wait: Duration?, isPaced: Bool = true, startedAt start: Deadline, at now: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Change {
    guard let pauses, start > began else { return .nothing }
    let wait = wait.flatMap { $0 > .zero ? $0 : nil }
    let length = pauses.nanoseconds(asked: wait, after: steps, using: &random)
    // What answers 503 and asks for nothing has failed, and does not count.
    if isPaced, status != 503 || wait != nil { pace.refused(at: now, pausesFor: length) }
    return sleep(length, .refused(status), at: now)
  }

  /// It was reached, and no status is known: a failure came after the first byte.
  mutating func reached(startedAt start: Deadline) -> Change {
    guard start > began else { return .nothing }
    heard(startedAt: start)
    return proceeds(startedAt: start)
  }

  /// It was not reached: no name, no connection, no handshake or no first byte.
  mutating func failedToReach(
    startedAt start: Deadline, at now: Deadline, using random: inout some RandomNumberGenerator
  ) -> Change {
    guard let breaker, start > began else { return .nothing }
    failures += 1
    let isProbe = sleeps > 0 && cause != nil
    guard isProbe || failures >= max(1, breaker.failures) else { return .nothing }
    let wasAsleep = isAsleep(at: now)
    let length = breaker.nanoseconds(after: sleeps, using: &random)
    let change = sleep(length, .unreachable(failures: failures), at: now)
    guard !wasAsleep else { return change }
    if sleeps >= max(1, breaker.sleeps) { hasGivenUp = true }
    sleeps += 1
    return hasGivenUp ? .givesUp : change
  }

  /// It answered, be it with a refusal: it can be reached.
  mutating func heard(startedAt start: Deadline) {
    guard start > began else { return }
    failures = 0
    sleeps = 0
    hasGivenUp = false
  }

  /// Deadlines only extend, and a sleep that is made longer is still one step.
  private mutating func sleep(_ length: Int64, _ cause: Cause, at now: Deadline) -> Change {
    if !isAsleep(at: now) { steps += 1 }
    notBefore = max(notBefore, now.advanced(byNanoseconds: length))
    began = now
    self.cause = cause
    answers = 0
    doubling = max(1, min(length, Self.longestDoubled) / 4)
    generation &+= 1
    running = 0
    return .sleeps(cause)
  }

  // Twice as many may run after a quarter of the pause, and after a second where it was longer than that.
  private static let longestDoubled: Int64 = 4_000_000_000

  /// One more went through.
  private mutating func proceeds(startedAt start: Deadline) -> Change {
    guard start >= notBefore else { return .nothing }
    pace.accepted(startedAt: start)
    guard cause != nil else { return .nothing }
    if answers == 0 { probed = start }
    answers += 1
    guard allowance(at: start) >= ceiling else { return .allowsMore }
    cause = nil
    steps = 0
    return .recovered
  }
}
