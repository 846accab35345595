import HeadgateTesting
import HeadgateThreads

@testable import HeadgateGate

/// Plays seeded random events of all limits to a scheduler (scopes, rates, weights, quotas, refusals and failures,
/// declined starts, moves, priorities, overflow, changed limits, time) and compares the results with a simple model.
/// Events are in `+Events`, `+Outcomes` and `+Limits`, their effects in `+Effects` and `+End`, and the rules in
/// `+Check` and `+Reasons`.
struct LimiterExerciser {
  enum Stand { case waiting, running, ending }

  /// How one of its scopes has counted a start.
  struct Charge {
    let thing: Int
    /// How often the end-point or scope had slept.
    let sleeps: Int
    /// Nil if starts are not counted.
    let number: Int?
  }

  /// A start whose true weight may be settled.
  struct Weighed {
    let serial: Int
    let startedAt: UInt64
    let charges: [Charge]
  }

  struct Known {
    var ticket: Ticket
    var endPoint: Int
    var lane: RequestLane
    var scopes: [Int]
    var needsSocket: Bool
    var weights: [String: Int]
    var stand = Stand.waiting
    var age: UInt64
    var rank: UInt64
    var waitsSince: UInt64 = 0
    var startedAt: UInt64 = 0
    var serial = 0
    var charges: [Charge] = []
    var weighed: Weighed?

    /// The end-point, then its scopes, then the sockets of the end-point if it needs one.
    var things: [Int] {
      [endPoint] + scopes.map { $0 + LimiterExerciser.endPointCount } + (needsSocket ? [sockets] : [])
    }
    var sockets: Int { LimiterExerciser.endPointCount + LimiterExerciser.scopeCount + endPoint }
  }

  static let endPointCount = 4
  static let scopeCount = 4
  static let policies: [OverflowPolicy] = [.refuse, .wait, .dropOldest, .dropLowest]

  /// What occurred at least once. A script without it would prove nothing about it.
  struct Tally {
    var started = 0
    var declined = 0
    var paused = 0
    var givenUp = 0
    var quotas = 0
    var overflows = 0
    var shed = 0
    var forgotten = 0
  }

  let seed: UInt64
  // In every fourth script, so that an end-point is given up. Failures in a row are rare otherwise.
  let endPointThatIsDown: Int?
  var events = 0
  var tally = Tally()
  var random: SeededRandom
  var scheduler: Scheduler<Int>
  var limits: GateLimits
  let endPoints: [EndPoint]
  let names: [RequestScope]
  // The end-points, then the scopes, then the sockets of the end-points.
  var things: [LimiterModel]
  var known: [Int: Known] = [:]
  var order: [Int] = []
  // The requests with suspended callers, in order.
  var held: [Int] = []
  var stopped: Set<Int> = []
  // The end-points whose sockets are known to carry several requests, and all that are remembered.
  var multiplexing: Set<Int> = []
  var remembered: Set<Int> = []
  /// Those that have refused requests.
  var troubled: Set<Int> = []
  var now: UInt64 = 1_000_000
  var lastAge: UInt64 = 0
  var nextItem = 0
  var serial = 0
  var startedNow: [Int] = []
  // Some of the last requests that ran, and which weights were settled, by their starts.
  var finished: [Known] = []
  var settled: Set<Int> = []
  // How many may wait after a submission.
  var mostWaiting = Int.max

  init(seed: UInt64) throws {
    self.seed = seed
    endPointThatIsDown = seed % 4 == 2 ? 0 : nil
    random = SeededRandom(seed: seed)
    endPoints = try (0..<Self.endPointCount).map { try EndPoint(host: "h\($0)", port: 80) }
    names = [.key("a"), .key("b"), .route("GET /"), .group("g")]
    things = Array(repeating: LimiterModel(), count: 2 * Self.endPointCount + Self.scopeCount)
    limits = try GateLimits(
      endPoint: EndPointLimits(requests: 4), total: 9, waiting: seed % 2 == 0 ? 12 : 1_000,
      overflow: Self.policies[Int(seed / 2 % 4)])
    limits.agingInterval = .microseconds(5)
    scheduler = Scheduler(limits: limits)
    if seed % 3 != 0 { limits.pauses = pausePolicy() } else { limits.pauses = nil }
    if seed % 3 != 1 { limits.breaker = Self.breaker }
    for place in 0..<Self.endPointCount { try setEndPoint(place) }
    for scope in 0..<Self.scopeCount where seed % 5 != 4 { try setScope(scope) }
    scheduler.setLimits(limits)
  }

  mutating func play(_ count: Int) throws -> String? {
    for _ in 0..<count {
      events += 1
      startedNow = []
      mostWaiting = .max
      advance()
      if let broken = try step() ?? drain() ?? declineSome() ?? check() {
        return "seed \(seed), event \(events): \(broken)"
      }
    }
    return finishAll().map { "seed \(seed), at the end: \($0)" }
  }

  private mutating func step() throws -> String? {
    let waiting = scheduler.waiting
    switch Int.random(in: 0..<200, using: &random) {
    case 0..<(waiting > 40 ? 20 : 72): return submit()
    case 72..<118: return finish()
    case 118..<128: return withdraw()
    case 128..<132: return withdrawGranted()
    case 132..<138: return move()
    case 138..<140: return reclass()
    case 140..<145: return changePriority()
    case 145..<151: return settle()
    case 151..<154: stopOrGoOn()
    case 154..<156: multiplex()
    case 156..<160: try changeLimits()
    case 160: return note()
    default: pass(.random(in: 0..<4_000, using: &random))
    }
    return nil
  }

  /// As a gate does before each event. At most two are forgotten each time.
  mutating func advance() {
    for _ in 0..<things.count { scheduler.advance(to: Deadline(nanoseconds: now)) }
    rest()
  }

  /// The model forgets as the scheduler does: not while the scheduler still has to offer a scope's room, which waits for
  /// a place in the total.
  mutating func rest() {
    let offered = Set(scheduler.dirtyScopes.map { scheduler.scopes[$0].key })
    for thing in things.indices where !known.values.contains(where: { $0.things.contains(thing) }) {
      let scope = thing - Self.endPointCount
      if names.indices.contains(scope), offered.contains(.named(names[scope])) { continue }
      if things[thing].health.isKnown, things[thing].health.lastTold + 60_000_000_000 <= now { tally.forgotten += 1 }
      things[thing].rest(at: now)
    }
  }

  /// Time passes, until the next wake-up or at random, sometimes long enough for end-points to be forgotten.
  private mutating func pass(_ nanoseconds: UInt64) {
    let next = scheduler.wakeAt?.nanoseconds
    switch Int.random(in: 0..<400, using: &random) {
    case 0: now += 61_000_000_000
    case 1..<200: now = max(now, next ?? now + nanoseconds)
    default: now += nanoseconds
    }
    while let wakeAt = scheduler.wakeAt, wakeAt.nanoseconds <= now {
      scheduler.wake(at: Deadline(nanoseconds: now), atMost: 2)
    }
  }

  // MARK: Known requests

  mutating func remove(_ item: Int) {
    known[item] = nil
    held.removeAll { $0 == item }
    if let place = order.firstIndex(of: item) { order.remove(at: place) }
  }

  mutating func anyone(_ isWanted: (Stand) -> Bool) -> (Int, Known)? {
    let all = order.filter { known[$0].map { isWanted($0.stand) } ?? false }
    guard let item = all.randomElement(using: &random), let entry = known[item] else { return nil }
    return (item, entry)
  }
}
