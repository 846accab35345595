import DequeModule
import HeadgateThreads

/// The capacity of one end-point, as learned from its refusals: the number of concurrent requests, and the number of
/// starts in a second. A value without a clock or randomness of its own.
///
/// The two limits are learned separately. Lowering the wrong one never settles, because a limit on the rate does not
/// bound concurrency. A refusal is attributed to concurrency, unless as many concurrent requests were accepted
/// recently, and to the rate, unless the same interval between starts was accepted. Only a limit that keeps requests
/// from starting is raised, so no higher value is tried for a limit that does not bind.
///
/// The driver reads ``notBefore`` and ``requests`` before each start, calls ``started(running:at:)`` for the start, and
/// passes the result on with the response. Exchanges without a response need not be reported.
struct AdaptiveLimit: Sendable {
  enum Dimension: Hashable, Sendable { case requests, rate }

  enum Cause: Hashable, Sendable {
    /// The current limit was accepted.
    case accepted
    /// A request was refused, with this status if it has one.
    case refused(status: Int?)
    /// A value that was tried, and was not needed or not to blame, was withdrawn.
    case withdrawn
  }

  /// A change of one limit.
  struct Change: Hashable, Sendable, CustomStringConvertible {
    let dimension: Dimension
    /// Concurrent requests, or starts in a second. Nil if there was no limit.
    let from: Double?
    let to: Double
    let cause: Cause

    var description: String {
      let why =
        switch cause {
        case .refused(let status?): "learned by \(status)"
        case .refused(nil): "learned by a refusal"
        case .accepted: "after accepted requests"
        case .withdrawn: "after a try"
        }
      switch dimension {
      case .requests: return "limit \(Int(from ?? 0)) -> \(Int(to)) \(why)"
      case .rate: return "rate \(from.map(AdaptiveLimit.words) ?? "none") -> \(AdaptiveLimit.words(ofRate: to)) \(why)"
      }
    }
  }

  /// The data of a start that is needed when its response arrives.
  struct Start: Hashable, Sendable {
    let moment: Deadline
    /// The number of running requests, including this one.
    let running: Int
    /// The time since the previous start, in nanoseconds.
    let interval: Int64
  }

  var policy: AdaptivePolicy
  /// The configured limit on concurrent requests.
  var ceiling: Int { didSet { ceiling = Self.possible(ceiling) } }
  /// The time of the last response.
  private(set) var lastNews = Deadline.distantPast

  /// The last withdrawal, until it is reported.
  var withdrawal: Change?

  private var most: LearnedValue
  private var pace: LearnedValue?
  // The last starts. A refused start did not count at the server.
  private var last: Start?
  private var beforeLast = Deadline.distantPast
  // The time to a response, smoothed.
  private var latency: Int64 = 0
  // The highest accepted number of concurrent requests: starts are spread over the time that these take.
  private var proven = 1
  // The intervals in which recently refused requests ran. The server did not count them.
  private var refusals: [(from: Deadline, to: Deadline)] = []
  // Recently accepted starts.
  private var accepted: Deque<Start> = []
  // Requests that started before the last change are no evidence about the current limits.
  private var requestsChanged = Deadline.distantPast
  private var rateChanged = Deadline.distantPast
  // Acceptances before this time are no evidence about the server's current behaviour.
  private var evidenceSince = Deadline.distantPast
  // The number of starts accepted at the current rate.
  private var confirmations = 0
  // If negative, this many responses must arrive before a limit is tried.
  private var credit = 0
  private var lastTried: Dimension?
  private var noTryBefore = Deadline.distantPast
  private var lastBlamed: Dimension?
  private var lastFallen: Dimension?
  // The limit that currently has a value not accepted recently, and the time until which the other limit is not tried.
  private var trying: (dimension: Dimension, until: Deadline)?
  private var wasRefused = false
  private var fell = Deadline.distantPast
  // The number of consecutive decreases with nothing accepted in between.
  private var vainFalls = 0

  /// - Parameters:
  ///   - ceiling: The configured limit on concurrent requests.
  ///   - remembered: Previously learned limits. They apply at once. Nothing beyond them is tried until as many
  ///     responses have arrived as after a refusal.
  ///   - first: The number of concurrent requests to begin with, at most.
  ///   - heard: The time of the last response by which they were learned, if it is known.
  init(
    _ policy: AdaptivePolicy, ceiling: Int, remembered: LearnedLimits.Entry? = nil, atMost first: Int = .max,
    heard: Deadline = .distantPast
  ) {
    self.policy = policy
    self.ceiling = Self.possible(ceiling)
    lastNews = heard
    guard let remembered else {
      let first = min(Self.possible(policy.initialRequests), self.ceiling)
      most = LearnedValue(Double(first), firstStep: 0.01, unit: 1)
      return
    }
    proven = min(remembered.requests, Self.possible(first))
    most = LearnedValue(Double(proven), bound: Double(remembered.requests) + 1, firstStep: 0.01, unit: 1)
    pace = remembered.rate.map { LearnedValue($0, bound: $0 / 0.95, firstStep: 0.03, unit: 0) }
    wasRefused = true
    credit = -policy.keptResponses
  }

  /// Clamps a number of concurrent requests to the range that can be learned, which is far from overflow.
  static func possible(_ requests: Int) -> Int { min(max(1, requests), 1_000_000) }

  /// The limits to remember. Nil if nothing was refused, or if that was too long ago.
  func entry(at now: Deadline, seconds: Int64) -> LearnedLimits.Entry? {
    let left = policy.memory.wholeNanoseconds - max(0, now.nanoseconds(since: lastNews))
    guard wasRefused, lastNews > .distantPast, left > 0 else { return nil }
    // A value that is being tried may be too high.
    let requests = trying?.dimension == .requests ? most.good : most.value
    let rate = pace.map { trying?.dimension == .rate ? $0.good : $0.value }
    return LearnedLimits.Entry(requests: max(1, Int(requests)), rate: rate, expires: seconds + left / 1_000_000_000)
  }

  /// The maximum number of starts in a second.
  var perSecond: Double { interval > 0 ? 1e9 / Double(interval) : .infinity }

  /// A readable rate: `28.5/s`, `30/min`.
  static func words(ofRate rate: Double) -> String {
    let (value, unit) = rate < 1 ? (rate * 60, "min") : (rate, "s")
    let tenths = Int((min(value, 1e12) * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)/\(unit)" : "\(tenths / 10).\(tenths % 10)/\(unit)"
  }

  /// The maximum number of concurrent requests, 1 to ``ceiling``.
  var requests: Int { min(ceiling, max(1, Int(most.value))) }

  /// The maximum number of starts in a second. Nil if no rate was refused yet.
  var rate: Double? { pace?.value }

  /// The earliest time of the next start.
  var notBefore: Deadline {
    guard let last else { return .distantPast }
    return last.moment.advanced(byNanoseconds: interval)
  }

  /// The minimum time between starts. While no rate is known, the accepted number of concurrent requests is spread over
  /// half of the time that they take. Otherwise a server with a rate limit would get bursts, which it refuses at any
  /// rate. When the limit is at the ceiling and nothing was ever refused, there is nothing left to learn.
  private var interval: Int64 {
    if let pace { return Int64(1e9 / pace.value) }
    if requests == ceiling, !wasRefused { return 0 }
    let spread = requests > proven ? latency / Int64(requests) * 9 / 10 : latency / Int64(2 * requests)
    return min(1_000_000_000, spread)
  }

  // MARK: Events

  /// A request starts.
  ///
  /// - Parameter running: The number of running requests, including this one.
  mutating func started(running: Int, at now: Deadline) -> Start {
    let start = Start(
      moment: now, running: running, interval: last.map { max(0, now.nanoseconds(since: $0.moment)) } ?? .max)
    beforeLast = last?.moment ?? .distantPast
    last = start
    return start
  }

  /// A counted start did not happen.
  mutating func takenBack(_ start: Start) {
    if last == start { last = Start(moment: beforeLast, running: 0, interval: .max) }
  }

  /// A request got a response that is not a refusal.
  mutating func accepted(_ start: Start, at now: Deadline) -> Change? {
    let start = corrected(start)
    lastNews = now
    vainFalls = 0
    credit = min(credit + 1, policy.keptResponses / 4)
    let took = max(1, now.nanoseconds(since: start.moment))
    latency = latency == 0 ? took : latency + (took - latency) / 8
    accepted.append(start)
    if accepted.count > Self.remembered { accepted.removeFirst() }
    if let trying, trying.until <= now {
      withdraw(trying.dimension)
      self.trying = nil
    }
    if let pace, start.moment > rateChanged {
      confirmations = max(0, confirmations + (isPaced(start) ? 1 : -1))
      if confirmations >= neededConfirmations {
        self.pace?.confirm()
        if trying?.dimension == .rate { trying = nil }
        if trying == nil, mayTry(.rate, now) || !pace.isAtBound { return raiseRate(at: now) }
      }
    }
    guard start.moment > requestsChanged, start.running >= requests else { return nil }
    proven = requests
    most.confirm()
    if trying?.dimension == .requests { trying = nil }
    guard requests < ceiling, trying == nil, mayTry(.requests, now) || !most.isAtBound else { return nil }
    let old = most.value
    if most.isAtBound { trying = (.requests, now.advanced(byNanoseconds: 1_000_000_000 + 2 * latency)) }
    most.rise(atMost: Double(ceiling))
    requestsChanged = now
    return Change(dimension: .requests, from: old, to: most.value, cause: .accepted)
  }

  /// A request was refused.
  ///
  /// - Parameter wait: The wait that the server requests, in nanoseconds. A longer one makes tries rarer.
  /// - Returns: The change, and whether it is hopeless: several limits in a row were refused and nothing was accepted.
  ///   Lower limits don't help, so the end-point should pause.
  mutating func refused(
    _ start: Start, status: Int?, wait: Int64 = 0, at now: Deadline
  ) -> (change: Change?, isHopeless: Bool) {
    lastNews = now
    wasRefused = true
    takenBack(start)
    let start = corrected(start)
    refusals.append((start.moment, now))
    if refusals.count > Self.rememberedRefusals { refusals.removeFirst() }
    credit = max(credit - policy.keptResponses, -2 * policy.keptResponses)
    noTryBefore = max(noTryBefore, now.advanced(byNanoseconds: min(max(0, wait), 60_000_000_000) * 20))
    // A burst counts once: its requests were under way when the limit fell.
    guard start.moment > fell else { return (nil, vainFalls >= 3) }
    fell = now
    lastTried = trying?.dimension
    // A single request, long after the one before, exceeds neither limit.
    guard start.running > 1 || start.interval < Self.longestInterval else { return (nil, true) }
    let dimension = blamed(start, at: now)
    vainFalls += 1
    lastFallen = dimension
    // One change at a time: a value that was being tried and is not to blame is withdrawn.
    if let trying, trying.dimension != dimension { withdraw(trying.dimension) }
    trying = nil
    let change = dimension == .requests ? lowerRequests(start, status, now) : lowerRate(start, status, now)
    return (change, vainFalls >= 3)
  }

  // MARK: Rising and falling

  private var neededConfirmations: Int { min(8, max(1, Int(2 * (rate ?? 0)))) }

  /// Whether a value that was not accepted recently may be tried. After a refused try, the other limit has the first
  /// turn.
  private func mayTry(_ dimension: Dimension, _ now: Deadline) -> Bool {
    credit >= (lastTried == dimension ? policy.keptResponses / 4 : 0) && now >= noTryBefore
  }

  /// Whether the rate was what kept the request from starting sooner.
  private func isPaced(_ start: Start) -> Bool { start.interval <= interval + interval / 8 }

  private mutating func withdraw(_ dimension: Dimension) {
    let old = value(dimension)
    if dimension == .rate { pace?.retreat() } else { most.retreat() }
    guard let new = value(dimension), new != old else { return }
    withdrawal = Change(dimension: dimension, from: old, to: new, cause: .withdrawn)
  }

  private func value(_ dimension: Dimension) -> Double? { dimension == .rate ? pace?.value : most.value }

  private mutating func raiseRate(at now: Deadline) -> Change? {
    guard let old = pace?.value, let isTry = pace?.isAtBound else { return nil }
    pace?.rise(atMost: 1e6)
    rateChanged = now
    confirmations = 0
    if isTry { trying = (.rate, now.advanced(byNanoseconds: 1_000_000_000 + 2 * latency)) }
    return pace.map { Change(dimension: .rate, from: old, to: $0.value, cause: .accepted) }
  }

  private mutating func lowerRequests(_ start: Start, _ status: Int?, _ now: Deadline) -> Change? {
    let old = most.value
    most.fall(refusedAt: Double(start.running), to: policy.keptShare, floor: 1)
    requestsChanged = now
    proven = min(proven, requests)
    return Change(dimension: .requests, from: old, to: most.value, cause: .refused(status: status))
  }

  private mutating func lowerRate(_ start: Start, _ status: Int?, _ now: Deadline) -> Change? {
    let old = pace?.value
    // If this interval was accepted before, the refusal means that the rate was kept up for too long.
    let wasAccepted = evidence(now) { $0.interval <= start.interval } > 0
    let shortest = min(1e6, 1e9 / Double(max(1, start.interval)))
    let sustained = acceptedRate(now)
    let reached = max(
      Self.lowestRate, old == nil && wasAccepted ? min(shortest, sustained ?? shortest) : max(shortest, sustained ?? 0))
    if pace == nil { pace = LearnedValue(reached, bound: reached, firstStep: 0.03, unit: 0) }
    pace?.fall(refusedAt: min(reached, old ?? reached), to: policy.keptShare, floor: Self.lowestRate)
    rateChanged = now
    confirmations = 0
    return pace.map { Change(dimension: .rate, from: old, to: $0.value, cause: .refused(status: status)) }
  }

  /// The lowest rate, in starts a second, and the corresponding interval.
  private static let lowestRate = 0.1
  private static let longestInterval: Int64 = 10_000_000_000

  // MARK: Attributing a refusal

  private mutating func blamed(_ start: Start, at now: Deadline) -> Dimension {
    func certain(_ dimension: Dimension) -> Dimension {
      lastBlamed = dimension
      return dimension
    }
    if start.running <= 1 { return certain(.rate) }
    let slack = start.interval == .max ? .max : start.interval + start.interval / 50
    let asMany = evidence(now) { $0.running >= start.running }
    let asSoon = evidence(now) { $0.interval <= slack }
    let meetsRequests = start.running >= requests
    let meetsRate = pace != nil && isPaced(start)
    // A current value that was never accepted is to blame, unless neither value was ever accepted.
    let isNewRate = meetsRate && (pace.map { $0.value > $0.good } ?? false)
    let isNewRequests = Double(start.running) > most.good
    if isNewRate != isNewRequests, isNewRate || asSoon > 0 { return certain(isNewRate ? .rate : .requests) }
    // Neither value was ever accepted. The limit that fell last was perhaps the wrong one.
    if asSoon == 0, asMany == 0, let lastFallen { return lastFallen == .rate ? .requests : .rate }
    if asSoon == 0, asMany > 1 { return certain(.rate) }
    // A value just below a refused one is refused again.
    let nearRequests = meetsRequests && most.isNearBound
    let nearRate = meetsRate && (pace?.isNearBound ?? false)
    if nearRequests != nearRate { return nearRate ? .rate : .requests }
    if asMany == 0, asSoon > 1 { return certain(.requests) }
    // The evidence contradicts itself: the server has changed, counts over a longer time, or was never sent so much
    // before.
    if asMany > 0, asSoon > 0 { evidenceSince = now }
    // A limit that was just lowered without effect is not to blame.
    if vainFalls > 0, let lastFallen { return lastFallen == .rate ? .requests : .rate }
    return lastBlamed ?? (asMany > 0 || lastFallen == .requests ? .rate : .requests)
  }

  /// The start, without counting refused requests as running.
  private func corrected(_ start: Start) -> Start {
    let others = refusals.count { $0.from < start.moment && start.moment < $0.to }
    guard others > 0 else { return start }
    return Start(moment: start.moment, running: max(1, start.running - others), interval: start.interval)
  }

  private static let remembered = 64
  private static let rememberedRefusals = 16

  private func evidence(_ now: Deadline, where holds: (Start) -> Bool) -> Int {
    let since = max(evidenceSince, now.advanced(byNanoseconds: -10_000_000_000))
    return accepted.count { $0.moment > since && holds($0) }
  }

  /// The number of recently accepted starts in a second. Nil if there is too little evidence.
  private func acceptedRate(_ now: Deadline) -> Double? {
    let moments = accepted.map(\.moment).sorted().suffix(17)
    guard moments.count > 4, let first = moments.first, let last = moments.last, last > first else { return nil }
    return Double(moments.count - 1) * 1e9 / Double(last.nanoseconds(since: first))
  }
}
