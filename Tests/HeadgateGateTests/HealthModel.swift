import HeadgateThreads

@testable import HeadgateGate

/// A model of the rules of the documentation on pauses, for an end-point or a scope that was refused or can't be
/// reached. It keeps every answer, and derives the consequences anew each time.
struct HealthModel {
  enum Cause: Equatable {
    case refused(Int?)
    case unavailable(Int?)
    case unreachable
  }

  /// The answers since the last sleep, or since another event that ended the series.
  private enum Told {
    case unavailable, other
  }

  /// Nothing starts before this.
  private(set) var until: UInt64 = 0
  /// Why it sleeps or slept last. Nil once it has recovered.
  private(set) var cause: Cause?
  /// How often it slept. Of running requests, only those that started since the last sleep count.
  private(set) var sleepsEver = 0
  private(set) var hasGivenUp = false
  private(set) var lastTold: UInt64 = 0
  /// Whether anything was told that may matter later.
  private(set) var isKnown = false

  private var answers: [Told] = []
  private var failuresInRow = 0
  // The moment at which the last sleep began.
  private var began: UInt64 = 0
  // The first refusal since it served a request, and the patience of the policy.
  private var refusedSince: UInt64?
  private var patience: Duration?
  // The sleeps since it was well: all of them, and those in a row for failures.
  private var steps = 0
  private var failedTries = 0
  // The starts of the requests that it has answered since the last sleep ended.
  private var passed: [UInt64] = []
  // The first start since the last sleep, and the further probes allowed at its first answer.
  private var tried: UInt64?
  private var extra = 0
  // The intended length of the last sleep.
  private var length: UInt64 = 0
  private(set) var pace = PaceModel()

  /// From then on it is as good as new: no more can be learned from answers.
  var calmFrom: UInt64 {
    let isWell = cause == nil && failuresInRow == 0 && failedTries == 0
    return isWell && !answers.suffix(64).contains(.unavailable) ? pace.calmFrom : .max
  }

  func isAsleep(at now: UInt64) -> Bool { now < until }

  /// How many of the requests started since the last sleep may run at once. Nil: only the limits apply.
  func allowance(at now: UInt64) -> Int? {
    guard cause != nil else { return nil }
    guard let first = passed.first else { return 1 + further(at: now) }
    let step = max(1, min(length, 4_000_000_000) / 4)
    let doublings = (max(now, first) - first) / step
    return extra + (doublings >= 40 ? passed.count + 1 : min(passed.count + 1, 2 << Int(doublings)))
  }

  mutating func started(at now: UInt64) {
    pace.lastStart = max(pace.lastStart, now)
    if tried == nil { tried = now }
  }

  /// Probes besides the first, because nothing has answered for so long: each after twice as long as the one before.
  private func further(at now: UInt64) -> Int {
    guard let tried else { return 0 }
    let patience = min(max(length, 1_000_000_000), 10_000_000_000)
    var (count, due) = (0, patience)
    while tried + due <= now { (count, due) = (count + 1, 2 * due + patience) }
    return count
  }

  private mutating func hear(_ start: UInt64, at now: UInt64) -> Bool {
    (isKnown, lastTold) = (true, now)
    return start > began
  }

  /// Returns whether it now sleeps, or sleeps longer.
  mutating func answered(
    _ outcome: ExchangeOutcome, startedAt start: UInt64, at now: UInt64, _ pauses: PausePolicy?, ceiling: Int
  ) -> Bool {
    if let pauses { patience = pauses.patience }
    guard hear(start, at: now) else { return false }
    wake(start)
    guard let pauses else {
      pass(start, ceiling)
      return false
    }
    var wish: UInt64?
    let reason: Cause
    switch outcome {
    case .refused(let wait, let status):
      (wish, reason) = (Self.wish(wait), .refused(status))
      answers.append(.other)
    case .unavailable(let wait, let status):
      (wish, reason) = (Self.wish(wait), .unavailable(status))
      answers.append(wish == nil ? .unavailable : .other)
    default:
      answers.append(.other)
      pass(start, ceiling)
      return false
    }
    if answers.last == .unavailable {
      let many = answers.suffix(pauses.recentResponses).count { $0 == .unavailable } >= pauses.unavailableThreshold
      // The probe after a pause of this kind has shown that the pause must continue.
      guard many || cause == reason && passed.isEmpty else { return false }
    }
    let isFailure = answers.last == .unavailable
    answers = []
    let own = UInt64(pauses.initialPause / .nanoseconds(1)) << UInt64(min(steps, 30))
    let patience = pauses.patience.map { UInt64($0 / .nanoseconds(1)) } ?? .max
    let isBeyond = wish.map { $0 > patience } ?? false
    let length = min(wish ?? own, isBeyond ? 86_400_000_000_000 : UInt64(pauses.maxPause / .nanoseconds(1)))
    if !isFailure { pace.refused(at: now, pause: length) }
    sleep(length, reason, at: now)
    let first = refusedSince ?? now
    refusedSince = first
    hasGivenUp = until - first > patience || isBeyond
    return true
  }

  private static func wish(_ wait: Duration?) -> UInt64? {
    wait.map { Int64($0 / .nanoseconds(1)) }.flatMap { $0 > 0 ? UInt64($0) : nil }
  }

  /// It gave an unknown answer.
  mutating func reached(startedAt start: UInt64, at now: UInt64, ceiling: Int) {
    guard hear(start, at: now) else { return }
    wake(start)
    pass(start, ceiling)
  }

  /// Returns whether it now sleeps, or sleeps longer.
  mutating func failed(startedAt start: UInt64, at now: UInt64, _ breaker: BreakerPolicy?) -> Bool {
    guard hear(start, at: now), let breaker else { return false }
    failuresInRow += 1
    // Once it has slept for failures, each failed attempt is one too many.
    guard failedTries > 0 || failuresInRow >= breaker.failures else { return false }
    let wasAsleep = isAsleep(at: now)
    let length = UInt64(breaker.initialSuspension / .nanoseconds(1)) << UInt64(min(failedTries, 30))
    sleep(min(length, UInt64(breaker.maxSuspension / .nanoseconds(1))), .unreachable, at: now)
    guard !wasAsleep else { return true }
    hasGivenUp = failedTries >= breaker.probes
    failedTries += 1
    return true
  }

  /// The policies have changed. A sleep ends with the policy that it follows.
  mutating func adopt(_ pauses: PausePolicy?, _ breaker: BreakerPolicy?) {
    if pauses == nil { pace = PaceModel(lastStart: pace.lastStart) }
    if let pauses, pauses.patience != patience, let refusedSince, cause != .unreachable {
      let most = pauses.patience.map { UInt64($0 / .nanoseconds(1)) } ?? .max
      hasGivenUp = until - refusedSince > most
      if !hasGivenUp { until = min(until, began + UInt64(pauses.maxPause / .nanoseconds(1))) }
    }
    patience = pauses?.patience
    guard cause == .unreachable && breaker == nil || cause != nil && cause != .unreachable && pauses == nil else {
      return
    }
    (until, cause, steps, passed, refusedSince) = (0, nil, 0, [], nil)
    wake(.max)
  }

  /// Any answer counts. One that was sent before the end of a pause does not end the pause.
  private mutating func wake(_ start: UInt64) {
    if cause == .unreachable || start >= until { hasGivenUp = false }
    (failuresInRow, failedTries) = (0, 0)
  }

  private mutating func sleep(_ length: UInt64, _ cause: Cause, at now: UInt64) {
    if !isAsleep(at: now) { steps += 1 }
    until = max(until, now + length)
    (began, self.cause, passed, self.length) = (now, cause, [], length)
    (tried, extra) = (nil, 0)
    sleepsEver += 1
  }

  /// One more was answered, so one more may run, until only the limits apply again.
  private mutating func pass(_ start: UInt64, _ ceiling: Int) {
    guard start >= until else { return }
    refusedSince = nil
    pace.accepted(startedAt: start)
    guard cause != nil else { return }
    if passed.isEmpty { extra = further(at: start) }
    passed.append(start)
    if let allowance = allowance(at: start), allowance >= ceiling { (cause, steps) = (nil, 0) }
  }
}

/// A model of the rules of the documentation on pauses, for a server with a rate limit.
struct PaceModel {
  var lastStart: UInt64 = 0
  /// The interval between starts. 0: none is kept.
  private(set) var interval: UInt64 = 0
  // The last refusal that counted, the end of the last pause, and the length of the pause.
  private var refusal: UInt64?
  private var resumed: UInt64 = 0
  private var pause: UInt64 = 0
  // The starts that were answered since then, and since when this interval is kept.
  private var taken: [UInt64] = []
  private var since: UInt64 = 0

  init(lastStart: UInt64 = 0) { self.lastStart = lastStart }

  var earliest: UInt64 { interval == 0 ? 0 : lastStart + interval }

  /// An interval is derived only within a minute after a pause.
  var calmFrom: UInt64 {
    if interval == 0, refusal == nil { return 0 }
    return interval == 0 && !taken.isEmpty ? resumed + 60_000_000_001 : .max
  }

  mutating func accepted(startedAt start: UInt64) {
    guard refusal != nil else { return }
    taken.append(start)
    // As long as the pause, at least one second and at most ten.
    guard interval > 0, start >= since + min(max(pause, 1_000_000_000), 10_000_000_000) else { return }
    since = start
    interval -= interval / 5
    if interval < 1_000_000 { interval = 0 }
  }

  mutating func refused(at now: UInt64, pause length: UInt64) {
    if !taken.isEmpty {
      if interval > 0 {
        interval *= 2
      } else if let refusal, now <= resumed + 60_000_000_000 {
        interval = (now - refusal) / UInt64(taken.count)
        if interval < 1_000_000 { interval = 0 }
      }
    }
    if !taken.isEmpty || refusal == nil { refusal = now }
    (taken, resumed, since, pause) = ([], now + length, now + length, length)
  }
}
