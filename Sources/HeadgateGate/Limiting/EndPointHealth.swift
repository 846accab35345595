import HeadgateThreads

/// Whether an end-point accepts requests: its pauses after refusals, its sleeps while it can't be reached, and its
/// recovery. A value without a clock or randomness of its own.
///
///     healthy ──refused, or failures in a row──▶ asleep until `notBefore` ──▶ one probe
///        ▲                                          ▲                          │ response: 2, 4, 8 … concurrent
///        └──────────── concurrency `ceiling` ───────┼──────────────────────────┘
///                                                   └── the probe, or a later one, is refused or fails
///
/// A server that refuses again after a pause most likely counts requests. From then on starts are spaced by an
/// ``interval``; see ``RecoveryPace``.
///
/// The driver reads ``room(at:)`` and ``earliest`` before it starts a request, calls ``started(at:)`` for the start and
/// ``ended(_:)`` for the end, whatever its outcome: a cancelled probe makes room for another one.
struct EndPointHealth: Sendable {
  /// Why the end-point sleeps, or slept last.
  enum Cause: Hashable, Sendable {
    /// It refused a request, with this status if there is one.
    case refused(Int?)
    /// The end-point could not serve anyone.
    case unavailable(Int?)
    /// It could not be reached.
    case unreachable
  }

  private(set) var pauses: PausePolicy?
  private(set) var breaker: BreakerPolicy?
  /// The concurrency at which it has recovered: the end-point's limit or more.
  var ceiling = 64

  /// Nothing starts before this time.
  private(set) var notBefore = Deadline.distantPast
  /// The cause of the last sleep. Nil if only the limits apply.
  private(set) var cause: Cause?
  /// It slept too often or for too long: requests that arrive while it sleeps are refused.
  private(set) var hasGivenUp = false
  /// The time of the first refusal since the last answer. Nil if there is none.
  private var refusing: Deadline?

  // The start of the last sleep. Exchanges that started before say nothing about the time after it.
  private var began = Deadline.distantPast
  // The number of sleeps since the last recovery, and the number of the most recent ones caused by failures.
  private var steps = 0
  private var sleeps = 0
  private var failures = 0
  // The last responses, the newest in the lowest bit: set for one that it is unavailable, without a wait.
  private var unavailable: UInt64 = 0
  // The number of the last sleep, and how many requests run that started after it.
  private var generation: UInt32 = 0
  private var running = 0
  // The number of responses since the last sleep, the start of the first of them, and the time in which concurrency may
  // double.
  private var answers = 0
  private var probed = Deadline.distantPast
  private var doubling: Int64 = 1
  // The start of the first probe after the last sleep, how long the next one waits for its response, and the number of
  // further probes that were allowed when the first response came.
  private var tried: Deadline?
  private var patience: Int64 = 1
  private var further = 0
  private var pace = RecoveryPace()
  // The end of a sleep that an earlier process knew of.
  private var recalled = Deadline.distantPast

  /// Sets other policies. A sleep ends if the policy that caused it is removed.
  mutating func adopt(_ pauses: PausePolicy?, _ breaker: BreakerPolicy?) {
    let patience = self.pauses?.patience
    (self.pauses, self.breaker) = (pauses, breaker)
    if let pauses, pauses.patience != patience, refusing != nil, cause != .unreachable {
      hasGivenUp = isBeyond(pauses.patience)
      // What waits for it now asks again as early as it would have asked before.
      if !hasGivenUp { notBefore = min(notBefore, began + pauses.maxPause) }
    }
    if pauses == nil { pace.forget() }
    let isOver =
      switch cause {
      case .refused, .unavailable: pauses == nil
      case .unreachable: breaker == nil
      case nil: false
      }
    guard isOver else { return }
    (cause, notBefore, steps) = (nil, .distantPast, 0)
    (failures, sleeps, hasGivenUp, refusing) = (0, 0, false, nil)
  }

  /// The time from which it is as good as new, and further answers change nothing. `distantFuture` if answers must come
  /// first.
  var calmFrom: Deadline {
    cause == nil && failures == 0 && sleeps == 0 && unavailable == 0 ? pace.calmFrom : .distantFuture
  }

  /// Whether it sleeps at a given time.
  func isAsleep(at now: Deadline) -> Bool { now < notBefore }

  /// Nothing starts before this time: `notBefore`, or the interval after the last start.
  var earliest: Deadline { max(notBefore, pace.earliest) }

  /// The minimum time between starts, in nanoseconds, set when it refuses again after a pause. 0 for none.
  var interval: Int64 { pace.interval }

  /// The number of requests that may start now, as far as concurrency goes. None while it sleeps.
  func room(at now: Deadline) -> Int {
    if isAsleep(at: now) { return 0 }
    return cause == nil ? .max : max(0, allowance(at: now) - running)
  }

  /// The concurrency allowed after a sleep, for requests that start after it: one more than the number of responses,
  /// but at most two with the first response, four a while later, then eight. If responses alone counted, a fast
  /// network would admit everything within milliseconds, and all of it could be refused together. If time alone
  /// counted, a server that hangs would be sent everything.
  ///
  /// But a probe may last long although all is well: a bare permit that is held for an hour, or a long upload. While
  /// nothing has answered, one more probe is allowed after as long as the pause was (at least one second, at most ten),
  /// the next after twice that time, and so on. The number of extra probes grows with the logarithm of the time.
  func allowance(at now: Deadline) -> Int {
    if cause == nil { return .max }
    return answers == 0 ? 1 + further(at: now) : answered(at: now) + further
  }

  /// What the responses allow.
  private func answered(at now: Deadline) -> Int { min(answers + 1, 2 << doublings(at: now)) }

  /// The probes that are allowed besides the first because that one takes long: 1 after `patience`, 2 after three times
  /// that, 3 after seven times.
  private func further(at now: Deadline) -> Int {
    guard let tried else { return 0 }
    let times = UInt64(max(0, now.nanoseconds(since: tried)) / patience) + 1
    return min(times.bitWidth - 1 - times.leadingZeroBitCount, Self.mostFurther)
  }

  /// The time at which more may run although nothing ends. Nil if that does not depend on time.
  func widens(after now: Deadline) -> Deadline? {
    guard cause != nil else { return nil }
    if answers == 0 {
      let next = further(at: now) + 1
      guard let tried, next <= Self.mostFurther else { return nil }
      return tried.advanced(byNanoseconds: patience * (1 << Int64(next) - 1))
    }
    guard answers + 1 > answered(at: now) else { return nil }
    return probed.advanced(byNanoseconds: doubling * Int64(doublings(at: now) + 1))
  }

  private func doublings(at now: Deadline) -> Int {
    Int(min(max(0, (now - probed).wholeNanoseconds) / doubling, 40))
  }

  /// A request starts. Pass the result to ``ended(_:)`` when the request ends. O(1), like all following methods.
  mutating func started(at now: Deadline) -> UInt32 {
    running += 1
    if tried == nil { tried = now }
    pace.started(at: now)
    return generation
  }

  /// A request ended, possibly cancelled before it was sent.
  mutating func ended(_ mark: UInt32) {
    if mark == generation { running -= 1 }
  }

  /// A response arrived.
  ///
  /// - Parameters:
  ///   - outcome: `answered`, `refused` or `unavailable`.
  ///   - start: The start of the exchange.
  ///   - now: The current time.
  ///   - random: The source of the jitter.
  /// - Returns: Whether a sleep began or was extended.
  mutating func answered(
    _ outcome: ExchangeOutcome, startedAt start: Deadline, at now: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Bool {
    guard start > began else { return false }
    heard(startedAt: start)
    switch pauses == nil ? .answer : judge(outcome, startedAt: start) {
    case .answer: proceeds(startedAt: start)
    case .unavailable: break
    case .refusal: return refused(outcome, startedAt: start, at: now, using: &random)
    }
    return false
  }

  /// The meaning of a response.
  enum Judgement: Hashable, Sendable {
    case answer
    /// Unavailable without a wait, and few of the last responses were like this one.
    case unavailable
    case refusal
  }

  /// Interprets a response. It is counted, unless its exchange started before the last sleep.
  mutating func judge(_ outcome: ExchangeOutcome, startedAt start: Deadline) -> Judgement {
    let pauses = pauses ?? PausePolicy()
    let isUnavailable = outcome.isUnavailable && outcome.wait == nil
    guard start > began || !isUnavailable else { return .unavailable }
    unavailable = unavailable << 1 | (isUnavailable ? 1 : 0)
    guard outcome.isRefusal || outcome.isUnavailable else { return .answer }
    if isUnavailable {
      let answers = UInt64.max >> UInt64(64 - min(max(1, pauses.recentResponses), 64))
      let isMany = (unavailable & answers).nonzeroBitCount >= max(1, pauses.unavailableThreshold)
      // A probe that meets the refusal that caused the pause shows that it continues.
      guard isMany || wasUnavailable && self.answers == 0 else { return .unavailable }
    }
    unavailable = 0
    return .refusal
  }

  /// Whether the last sleep began because the end-point could not serve anyone.
  private var wasUnavailable: Bool { if case .unavailable = cause { true } else { false } }

  /// The end-point refused a request. It pauses for the requested time, or for the next step.
  ///
  /// - Parameter isPaced: whether starts are spaced after another refusal. An end-point with learned limits has a
  ///   learned rate instead.
  /// - Returns: Whether a sleep began or was extended.
  mutating func refused(
    _ outcome: ExchangeOutcome, isPaced: Bool = true, startedAt start: Deadline, at now: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Bool {
    guard let pauses, start > began else { return false }
    let length = pauses.nanoseconds(asked: outcome.wait, after: steps, using: &random)
    // Unavailable without a wait is a failure, not a sign of a server that counts requests.
    if isPaced, !outcome.isUnavailable || outcome.wait != nil { pace.refused(at: now, pausesFor: length) }
    sleep(length, outcome.isUnavailable ? .unavailable(outcome.status) : .refused(outcome.status), at: now)
    if refusing == nil { refusing = now }
    hasGivenUp = isBeyond(pauses.patience) || pauses.isBeyondPatience(outcome.wait)
    return true
  }

  /// Whether its pause ends too long after the first refusal.
  private func isBeyond(_ patience: Duration?) -> Bool {
    guard let patience, let refusing else { return false }
    return notBefore - refusing > patience
  }

  /// It was reached, but its answer is unknown: the exchange failed after the first byte, or a bare permit was released.
  mutating func reached(startedAt start: Deadline) {
    guard start > began else { return }
    heard(startedAt: start)
    proceeds(startedAt: start)
  }

  /// It was not reached: no name, no connection, no handshake or no first byte.
  ///
  /// - Returns: Whether a sleep began or was extended.
  mutating func failedToReach(
    startedAt start: Deadline, at now: Deadline, using random: inout some RandomNumberGenerator
  ) -> Bool {
    guard let breaker, start > began else { return false }
    failures += 1
    let isProbe = sleeps > 0 && cause != nil
    guard isProbe || failures >= max(1, breaker.failures) else { return false }
    let wasAsleep = isAsleep(at: now)
    sleep(breaker.nanoseconds(after: sleeps, using: &random), .unreachable, at: now)
    guard !wasAsleep else { return true }
    hasGivenUp = sleeps >= max(1, breaker.probes)
    sleeps += 1
    return true
  }

  /// It responded, possibly with a refusal, so it can be reached.
  mutating func heard(startedAt start: Deadline) {
    guard start > began else { return }
    failures = 0
    sleeps = 0
    // One that started before a pause, but was sent later, says nothing about its end.
    if cause == .unreachable || start >= notBefore { hasGivenUp = false }
  }

  /// An earlier process was told that nothing is accepted before a time. Only prolongs a sleep.
  mutating func recallPause(until: Deadline, status: Int?, at now: Deadline) {
    guard pauses != nil, until > max(now, notBefore) else { return }
    sleep(until.nanoseconds(since: now), .refused(status), at: now)
    (recalled, hasGivenUp) = (until, false)
  }

  /// An earlier process could not reach it. Only prolongs a sleep, up to the longest suspension.
  mutating func recallOutage(until: Deadline, hasGivenUp: Bool, at now: Deadline) {
    guard let breaker else { return }
    let until = min(until, now + breaker.maxSuspension)
    guard until > max(now, notBefore) else { return }
    sleep(until.nanoseconds(since: now), .unreachable, at: now)
    sleeps = max(sleeps, hasGivenUp ? breaker.probes : 1)
    if hasGivenUp { self.hasGivenUp = true }
  }

  /// Whether it sleeps for longer than this process may wait, because of what an earlier one was told.
  func isClosed(at now: Deadline) -> Bool {
    guard let pauses, notBefore == recalled else { return false }
    let longest = pauses.patience ?? pauses.maxPause
    return notBefore.nanoseconds(since: now) > max(0, longest.wholeNanoseconds)
  }

  /// Deadlines are only extended. A sleep that is extended still counts as one step.
  private mutating func sleep(_ length: Int64, _ cause: Cause, at now: Deadline) {
    if !isAsleep(at: now) { steps += 1 }
    notBefore = max(notBefore, now.advanced(byNanoseconds: length))
    began = now
    self.cause = cause
    answers = 0
    (tried, further) = (nil, 0)
    patience = min(max(length, Self.shortestPatience), Self.longestPatience)
    doubling = max(1, min(length, Self.longestDoubled) / 4)
    generation &+= 1
    running = 0
  }

  // The time to double is a quarter of the pause, but at most one second.
  private static let longestDoubled: Int64 = 4_000_000_000
  private static let shortestPatience: Int64 = 1_000_000_000
  private static let longestPatience: Int64 = 10_000_000_000
  // After about 12 days at the least.
  private static let mostFurther = 20

  /// Another request was accepted.
  private mutating func proceeds(startedAt start: Deadline) {
    guard start >= notBefore else { return }
    refusing = nil
    pace.accepted(startedAt: start)
    guard cause != nil else { return }
    if answers == 0 { (probed, further) = (start, further(at: max(start, notBefore))) }
    answers += 1
    guard allowance(at: start) >= ceiling else { return }
    cause = nil
    steps = 0
  }
}
