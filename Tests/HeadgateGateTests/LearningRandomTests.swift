import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Learned limits beside all other limits, under random events: invariants that hold whatever is learned.
@Suite struct LearningRandomTests {
  private static let events = getenv("HEADGATE_SOAK_EVENTS").flatMap { Int(String(cString: $0)) } ?? 8_000

  @Test("random events with learned limits: none is exceeded, each wait has a true reason, and all requests end")
  func randomEvents() throws {
    var played = 0
    var seed: UInt64 = 1
    var learned = 0
    while played < Self.events {
      var exerciser = try LearningExerciser(seed: seed)
      let broken = exerciser.play(1_000)
      try #require(broken == nil)
      learned += exerciser.changes
      played += 1_000
      seed += 1
    }
    // Without any change of a learned limit the test would show nothing.
    #expect(learned > Self.events / 1_000)
  }
}

/// Plays random events to a scheduler that learns, for three end-points.
private struct LearningExerciser {
  private struct Running {
    let ticket: Ticket
    let place: Int
    let startedAt: Deadline
  }

  private let seed: UInt64
  private var random: SeededRandom
  private var scheduler: Scheduler<Int>
  private let endPoints: [EndPoint]
  private var limits: GateLimits
  private var now: UInt64 = 1_000_000_000
  private var next = 0
  private var running: [Int: Running] = [:]
  private var waiting: [Int: (ticket: Ticket, place: Int)] = [:]
  private(set) var changes = 0

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededRandom(seed: seed)
    endPoints = try (0..<3).map { try EndPoint(host: "h\($0)", port: 80) }
    limits = try GateLimits(endPoint: EndPointLimits(requests: 8), total: 12, waiting: 10_000)
    limits.pauses = seed % 3 == 0 ? nil : PausePolicy(initialPause: .milliseconds(20), jitter: 0)
    limits.breaker =
      seed % 2 == 0 ? nil : BreakerPolicy(failures: 3, initialSuspension: .milliseconds(20), probes: 2, jitter: 0)
    limits.adaptive = AdaptivePolicy(initialRequests: Int(seed % 4) + 1)
    if seed % 4 == 1 {
      limits.overrides[endPoints[0]] = try EndPointLimits(requests: 5, rates: [.spaced(1, per: .milliseconds(3))])
    }
    scheduler = Scheduler(limits: limits)
  }

  private var moment: Deadline { Deadline(nanoseconds: now) }

  mutating func play(_ count: Int) -> String? {
    for event in 0..<count {
      scheduler.advance(to: moment)
      if let broken = step() ?? drain() ?? check() { return "seed \(seed), event \(event): \(broken)" }
    }
    return finish().map { "seed \(seed), at the end: \($0)" }
  }

  private mutating func step() -> String? {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<(waiting.count > 40 ? 10 : 40): return submit()
    case 40..<75: return end()
    case 75..<78: return withdraw()
    case 78..<80: changeLimits()
    default: pass(.random(in: 0..<4_000_000, using: &random))
    }
    return nil
  }

  private mutating func submit() -> String? {
    let place = Int.random(in: 0..<endPoints.count, using: &random)
    next += 1
    switch scheduler.submit(next, to: endPoints[place], .short, at: moment, mayStart: Bool.random(using: &random)) {
    case .started(let ticket): return start(next, ticket, place)
    case .accepted(let ticket): waiting[next] = (ticket, place)
    case .refused(.givenUp): break
    case .held, .refused: return "it was not taken"
    }
    return nil
  }

  private mutating func end() -> String? {
    guard let (item, one) = Self.inOrder(running).randomElement(using: &random) else { return nil }
    let outcome: ExchangeOutcome? =
      switch Int.random(in: 0..<12, using: &random) {
      case 0: .refused(wait: nil, status: 429)
      case 1: .refused(wait: .milliseconds(Int.random(in: 0...20, using: &random)))
      case 2: .unreachable()
      case 3: nil
      case 4: .unavailable(wait: nil, status: 503)
      default: .answered
      }
    if let outcome {
      let sleep = scheduler.note(outcome, of: one.ticket, startedAt: one.startedAt, at: moment, using: &random)
      if let sleep, sleep.failsWaitingRequests {
        for item in scheduler.waitingItems(at: sleep.endPoint, nil) {
          guard let entry = waiting[item], case .waiting = scheduler.withdraw(entry.ticket) else { continue }
          waiting[item] = nil
        }
      }
      changes += scheduler.takeLearnedChanges().count
    }
    running[item] = nil
    return scheduler.finish(one.ticket) == item ? nil : "another one was finished"
  }

  private mutating func withdraw() -> String? {
    guard let (item, entry) = Self.inOrder(waiting).randomElement(using: &random) else { return nil }
    guard case .waiting = scheduler.withdraw(entry.ticket) else { return "one that waits was not found" }
    waiting[item] = nil
    return nil
  }

  private mutating func changeLimits() {
    limits.adaptive = limits.adaptive == nil || Bool.random(using: &random) ? AdaptivePolicy() : nil
    limits.total = .random(in: 3...14, using: &random)
    scheduler.setLimits(limits)
  }

  private mutating func pass(_ nanoseconds: UInt64) {
    now = Bool.random(using: &random) ? max(now, scheduler.wakeAt?.nanoseconds ?? now) : now + nanoseconds
    while let wakeAt = scheduler.wakeAt, wakeAt <= moment { scheduler.wake(at: moment, atMost: 2) }
  }

  private mutating func drain() -> String? {
    while let effect = scheduler.next() {
      guard case .start(let item, let ticket) = effect, let entry = waiting.removeValue(forKey: item) else {
        return "an effect came that nothing calls for"
      }
      if let broken = start(item, ticket, entry.place) { return broken }
    }
    return nil
  }

  private mutating func start(_ item: Int, _ ticket: Ticket, _ place: Int) -> String? {
    running[item] = Running(ticket: ticket, place: place, startedAt: moment)
    return nil
  }

  /// A dictionary's own order differs from process to process, so a seed would not repeat its events.
  private static func inOrder<Entry>(_ entries: [Int: Entry]) -> [(key: Int, value: Entry)] {
    entries.sorted { $0.key < $1.key }
  }

  private func count(at place: Int) -> Int { running.values.count { $0.place == place } }

  private mutating func check() -> String? {
    if scheduler.running != running.count || scheduler.waiting != waiting.count { return "the counts differ" }
    if let broken = scheduler.brokenInvariant(inFull: true) { return broken }
    for entry in scheduler.snapshot(at: moment).endPoints {
      guard let place = endPoints.firstIndex(of: entry.endPoint) else { return "an unknown end-point" }
      if count(at: place) > entry.limits.requests { return "the configured limit is exceeded" }
      if let learned = entry.learnedRequests, !(1...entry.limits.requests).contains(learned) {
        return "\(learned) were learned of \(entry.limits.requests)"
      }
      if let rate = entry.learnedRate, !(rate > 0) { return "a rate of \(rate) was learned" }
      if let reason = entry.waitReason, !isTrue(reason, entry, place) { return "\(reason) is no reason, with \(entry)" }
    }
    return nil
  }

  /// Whether the reason for the wait at an end-point is true.
  private func isTrue(_ reason: WaitReason, _ entry: GateSnapshot.Entry, _ place: Int) -> Bool {
    switch reason.cause {
    case .limit(let running, let most): running >= most && running == count(at: place) && most == entry.limits.requests
    case .learnedLimit(let running, let most):
      running >= most && running == count(at: place) && most == entry.learnedRequests
    case .total(let running, let most): running >= most && most == limits.total
    case .recovering(let running, let most): running >= most
    case .paused, .unreachable, .start: reason.until.map { $0 > moment } ?? false
    // Nothing else is limited here, and requests without a reason to wait have started.
    case .stopped, .turn, .longLane, .sockets, .totalLong, .shared: false
    }
  }

  /// All waiting requests start in the end, however many were refused before.
  private mutating func finish() -> String? {
    for _ in 0..<20_000 where !(running.isEmpty && waiting.isEmpty) {
      for (item, one) in Self.inOrder(running) {
        let outcome = ExchangeOutcome.answered
        _ = scheduler.note(outcome, of: one.ticket, startedAt: one.startedAt, at: moment, using: &random)
        _ = scheduler.finish(one.ticket)
        running[item] = nil
      }
      if let broken = drain() { return broken }
      if running.isEmpty, scheduler.wakeAt == nil, !waiting.isEmpty { return "what waits would never start" }
      pass(1_000_000)
      if let broken = drain() { return broken }
    }
    return running.isEmpty && waiting.isEmpty ? nil : "\(waiting.count) never started"
  }
}
