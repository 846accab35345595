import HeadgateThreads

/// What one end-point takes, as far as its refusals have taught it: how many requests at once, and how many starts in a second.
/// A value with no clock and no chance of its own.
///
/// The two are learned apart, since a limit on a rate is no limit on requests at once: lowering the wrong one settles nowhere. A
/// refusal is one of requests at once unless as many were accepted lately, and one of the rate unless as short a distance
/// was. Only what keeps requests from starting rises: so the limit that does not bind is never tried.
///
/// The driver asks ``notBefore`` and ``requests`` before each start, tells ``started(running:at:)`` when it does, and gives back
/// what that returns with the answer. What ends without an answer need not be told.
struct AdaptiveLimit: Sendable {
  enum Dimension: Hashable, Sendable { case requests, rate }

  enum Cause: Hashable, Sendable {
    /// What held was accepted.
    case accepted
    /// A request was refused with this status.
    case refused(status: Int)
  }

  /// A limit holds from now on that is another one than before.
  struct Change: Hashable, Sendable, CustomStringConvertible {
    let dimension: Dimension
    /// Requests, or starts in a second; nil: there was no limit.
    let from: Double?
    let to: Double
    let cause: Cause

    var description: String {
      let why = if case .refused(let status) = cause { "learned by \(status)" } else { "learned: it was accepted" }
      switch dimension {
      case .requests: return "limit \(Int(from ?? 0)) -> \(Int(to)) \(why)"
      case .rate: return "rate \(from.map(AdaptiveLimit.words) ?? "none") -> \(AdaptiveLimit.words(ofRate: to)) \(why)"
      }
    }
  }

  /// A start, as it has to be known when its answer comes.
  struct Start: Hashable, Sendable {
    let moment: Deadline
    /// How many ran with it, itself included.
    let running: Int
    /// Since the start before, in nanoseconds.
    let distance: Int64
  }

  /// What a refusal comes to.
  struct Refusal: Sendable {
    let change: Change?
    /// Several limits in a row were refused, and nothing accepted: to lower them more does not help, and the end-point is to be
    /// left alone for a while.
    let isHopeless: Bool
  }

  var policy: AdaptivePolicy
  /// The configured limit on requests at once.
  var ceiling: Int { didSet { ceiling = max(1, ceiling) } }
  /// When it heard something last.
  private(set) var lastNews = Deadline.distantPast

  private var most: LearnedValue
  private var pace: LearnedValue?
  // The last starts; a refused one did not count at the server.
  private var last: Start?
  private var beforeLast = Deadline.distantPast
  // How long answers take, smoothed.
  private var latency: Int64 = 0
  // So many at once were accepted: starts are spread over what that takes.
  private var proven = 1
  // When those ran that were refused last: the server did not count them.
  private var refusals: [(from: Deadline, to: Deadline)] = []
  // What was accepted lately, in places that are used again.
  private var accepted: [Start] = []
  private var nextPlace = 0
  // Requests that started earlier say nothing of the limits that hold.
  private var requestsChanged = Deadline.distantPast
  private var rateChanged = Deadline.distantPast
  // What was accepted earlier says nothing of the server as it is.
  private var evidenceSince = Deadline.distantPast
  // Of what holds now, so many starts at the rate were accepted.
  private var confirmations = 0
  // Below zero: so many answers are to come before anything is tried.
  private var credit = 0
  private var lastTried: Dimension?
  private var noTryBefore = Deadline.distantPast
  private var lastBlamed: Dimension?
  private var lastFallen: Dimension?
  // Which of the two holds at a value that was not accepted lately, and until when the other one is not tried beside it.
  private var trying: (dimension: Dimension, until: Deadline)?
  private var wasRefused = false
  private var fell = Deadline.distantPast
  // Falls with nothing accepted in between.
  private var vainFalls = 0

  /// - Parameters:
  ///   - ceiling: The configured limit on requests at once.
  ///   - remembered: What was learned before. It holds at once, and nothing beyond it is tried before as many answers have come
  ///     as after a refusal.
  init(_ policy: AdaptivePolicy, ceiling: Int, remembered: LearnedLimits.Entry? = nil) {
    self.policy = policy
    self.ceiling = max(1, ceiling)
    guard let remembered else {
      let first = min(max(1, policy.firstRequests), max(1, ceiling))
      most = LearnedValue(Double(first), firstStep: 0.01, unit: 1)
      return
    }
    let known = Double(remembered.requests)
    most = LearnedValue(known, bound: known + 1, firstStep: 0.01, unit: 1)
    proven = remembered.requests
    pace = remembered.rate.map { LearnedValue($0, bound: $0 / 0.95, firstStep: 0.03, unit: 0) }
    wasRefused = true
    credit = -policy.keptAnswers
  }

  /// What is worth to be remembered; nil where nothing was refused, or it is too long ago.
  func entry(at now: Deadline, seconds: Int64) -> LearnedLimits.Entry? {
    let left = policy.memory.wholeNanoseconds - max(0, now.nanoseconds(since: lastNews))
    guard wasRefused, lastNews > .distantPast, left > 0 else { return nil }
    // What is being tried may not be good.
    let requests = trying?.dimension == .requests ? most.good : most.value
    let rate = pace.map { trying?.dimension == .rate ? $0.good : $0.value }
    return LearnedLimits.Entry(requests: max(1, Int(requests)), rate: rate, expires: seconds + left / 1_000_000_000)
  }

  /// How many start in a second at most.
  var perSecond: Double { distance > 0 ? 1e9 / Double(distance) : .infinity }

  /// A rate for people: `28.5/s`, `30/min`.
  static func words(ofRate rate: Double) -> String {
    let (value, unit) = rate < 1 ? (rate * 60, "min") : (rate, "s")
    let tenths = Int((min(value, 1e12) * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)/\(unit)" : "\(tenths / 10).\(tenths % 10)/\(unit)"
  }

  /// How many may run at once, 1 to ``ceiling``.
  var requests: Int { min(ceiling, max(1, Int(most.value))) }

  /// How many may start in a second; nil: no rate was refused yet.
  var rate: Double? { pace?.value }

  /// No request may start before it.
  var notBefore: Deadline {
    guard let last else { return .distantPast }
    return last.moment.advanced(byNanoseconds: distance)
  }

  /// The least time from start to start. Where no rate is known, what was accepted at once is spread over half of the time that it
  /// takes: a server with a rate is then not met by bursts that it would refuse whatever the rate is. Once as many run as may, and
  /// none was ever refused, there is nothing left to learn.
  private var distance: Int64 {
    if let pace { return Int64(1e9 / pace.value) }
    if requests == ceiling, !wasRefused { return 0 }
    let spread = requests > proven ? latency / Int64(requests) * 9 / 10 : latency / Int64(2 * requests)
    return min(1_000_000_000, spread)
  }

  // MARK: Events

  /// A request starts.
  ///
  /// - Parameter running: How many run, itself included.
  mutating func started(running: Int, at now: Deadline) -> Start {
    let start = Start(
      moment: now, running: running, distance: last.map { max(0, now.nanoseconds(since: $0.moment)) } ?? .max)
    beforeLast = last?.moment ?? .distantPast
    last = start
    return start
  }

  /// A request that was counted never started.
  mutating func takenBack(_ start: Start) {
    if last == start { last = Start(moment: beforeLast, running: 0, distance: .max) }
  }

  /// A request was answered, and not refused.
  mutating func accepted(_ start: Start, at now: Deadline) -> Change? {
    let start = corrected(start)
    lastNews = now
    vainFalls = 0
    credit = min(credit + 1, policy.keptAnswers / 4)
    let took = max(1, now.nanoseconds(since: start.moment))
    latency = latency == 0 ? took : latency + (took - latency) / 8
    remember(start)
    if let trying, trying.until <= now {
      if trying.dimension == .rate { pace?.retreat() } else { most.retreat() }
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
  /// - Parameters:
  ///   - wait: How long the server asks to be left alone, in nanoseconds: the next try is the rarer for it.
  mutating func refused(_ start: Start, status: Int, wait: Int64 = 0, at now: Deadline) -> Refusal {
    lastNews = now
    wasRefused = true
    takenBack(start)
    let start = corrected(start)
    refusals.append((start.moment, now))
    if refusals.count > Self.rememberedRefusals { refusals.removeFirst() }
    credit = max(credit - policy.keptAnswers, -2 * policy.keptAnswers)
    noTryBefore = max(noTryBefore, now.advanced(byNanoseconds: min(max(0, wait), 60_000_000_000) * 20))
    // A burst counts once: it was under way when a limit fell.
    guard start.moment > fell else { return Refusal(change: nil, isHopeless: vainFalls >= 3) }
    fell = now
    lastTried = trying?.dimension
    // One that is alone, and long after the one before, is neither one too many nor too soon.
    guard start.running > 1 || start.distance < Self.longestDistance else {
      return Refusal(change: nil, isHopeless: true)
    }
    let dimension = blamed(start, at: now)
    vainFalls += 1
    lastFallen = dimension
    // One thing at a time: what was tried meanwhile, and is not to blame, waits.
    if trying?.dimension == .rate, dimension == .requests { pace?.retreat() }
    if trying?.dimension == .requests, dimension == .rate { most.retreat() }
    trying = nil
    let change = dimension == .requests ? lowerRequests(start, status, now) : lowerRate(start, status, now)
    return Refusal(change: change, isHopeless: vainFalls >= 3)
  }

  // MARK: Rising and falling

  private var neededConfirmations: Int { min(8, max(1, Int(2 * (rate ?? 0)))) }

  /// Whether a limit may be tried that was not accepted lately. After one that was refused the other one has the first turn.
  private func mayTry(_ dimension: Dimension, _ now: Deadline) -> Bool {
    credit >= (lastTried == dimension ? policy.keptAnswers / 4 : 0) && now >= noTryBefore
  }

  /// Whether the rate is what kept a request from starting sooner.
  private func isPaced(_ start: Start) -> Bool { start.distance <= distance + distance / 8 }

  private mutating func raiseRate(at now: Deadline) -> Change? {
    guard let old = pace?.value, let isTry = pace?.isAtBound else { return nil }
    pace?.rise(atMost: 1e6)
    rateChanged = now
    confirmations = 0
    if isTry { trying = (.rate, now.advanced(byNanoseconds: 1_000_000_000 + 2 * latency)) }
    return pace.map { Change(dimension: .rate, from: old, to: $0.value, cause: .accepted) }
  }

  private mutating func lowerRequests(_ start: Start, _ status: Int, _ now: Deadline) -> Change? {
    let old = most.value
    most.fall(refusedAt: Double(start.running), to: policy.keptShare, floor: 1)
    requestsChanged = now
    proven = min(proven, requests)
    return Change(dimension: .requests, from: old, to: most.value, cause: .refused(status: status))
  }

  private mutating func lowerRate(_ start: Start, _ status: Int, _ now: Deadline) -> Change? {
    let old = pace?.value
    // A distance that was accepted before is not what was refused, but that it was kept for so long.
    let wasAccepted = evidence(now) { $0.distance <= start.distance } > 0
    let shortest = min(1e6, 1e9 / Double(max(1, start.distance)))
    let sustained = acceptedRate(now)
    let reached = max(
      Self.lowestRate, old == nil && wasAccepted ? min(shortest, sustained ?? shortest) : max(shortest, sustained ?? 0))
    if pace == nil { pace = LearnedValue(reached, bound: reached, firstStep: 0.03, unit: 0) }
    pace?.fall(refusedAt: min(reached, old ?? reached), to: policy.keptShare, floor: Self.lowestRate)
    rateChanged = now
    confirmations = 0
    return pace.map { Change(dimension: .rate, from: old, to: $0.value, cause: .refused(status: status)) }
  }

  /// The lowest rate, in starts a second, and its distance.
  private static let lowestRate = 0.1
  private static let longestDistance: Int64 = 10_000_000_000

  // MARK: Which one was refused

  private mutating func blamed(_ start: Start, at now: Deadline) -> Dimension {
    func certain(_ dimension: Dimension) -> Dimension {
      lastBlamed = dimension
      return dimension
    }
    if start.running <= 1 { return certain(.rate) }
    let slack = start.distance == .max ? .max : start.distance + start.distance / 50
    let asMany = evidence(now) { $0.running >= start.running }
    let asSoon = evidence(now) { $0.distance <= slack }
    let meetsRequests = start.running >= requests
    let meetsRate = pace != nil && isPaced(start)
    // What holds and was not accepted yet is to blame, unless that is so of both.
    let isNewRate = meetsRate && (pace.map { $0.value > $0.good } ?? false)
    let isNewRequests = Double(start.running) > most.good
    if isNewRate != isNewRequests, isNewRate || asSoon > 0 { return certain(isNewRate ? .rate : .requests) }
    // Both were never met before. The one that fell last was perhaps the wrong one.
    if asSoon == 0, asMany == 0, let lastFallen { return lastFallen == .rate ? .requests : .rate }
    if asSoon == 0, asMany > 1 { return certain(.rate) }
    // Close below what was refused before, it is that again.
    let nearRequests = meetsRequests && most.isNearBound
    let nearRate = meetsRate && (pace?.isNearBound ?? false)
    if nearRequests != nearRate { return nearRate ? .rate : .requests }
    if asMany == 0, asSoon > 1 { return certain(.requests) }
    // Nothing tells: the server is another one now, counts over a longer time, or was never asked for so much.
    if asMany > 0, asSoon > 0 { evidenceSince = now }
    // What has just fallen in vain is not it.
    if vainFalls > 0, let lastFallen { return lastFallen == .rate ? .requests : .rate }
    let guess = lastBlamed ?? (asMany > 0 || lastFallen == .requests ? .rate : .requests)
    return guess
  }

  private mutating func remember(_ start: Start) {
    if accepted.count < Self.remembered {
      accepted.append(start)
    } else {
      accepted[nextPlace] = start
      nextPlace = (nextPlace + 1) % Self.remembered
    }
  }

  /// A start without those among the running that were refused.
  private func corrected(_ start: Start) -> Start {
    let others = refusals.count { $0.from < start.moment && start.moment < $0.to }
    guard others > 0 else { return start }
    return Start(moment: start.moment, running: max(1, start.running - others), distance: start.distance)
  }

  private static let remembered = 64
  private static let rememberedRefusals = 16

  private func evidence(_ now: Deadline, where holds: (Start) -> Bool) -> Int {
    let since = max(evidenceSince, now.advanced(byNanoseconds: -10_000_000_000))
    return accepted.count { $0.moment > since && holds($0) }
  }

  /// How many starts in a second were accepted of late; nil where that can't be told.
  private func acceptedRate(_ now: Deadline) -> Double? {
    let moments = accepted.map(\.moment).sorted().suffix(17)
    guard moments.count > 4, let first = moments.first, let last = moments.last, last > first else { return nil }
    return Double(moments.count - 1) * 1e9 / Double(last.nanoseconds(since: first))
  }
}
