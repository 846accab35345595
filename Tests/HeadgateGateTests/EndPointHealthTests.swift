import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

private func at(_ seconds: Double) -> Deadline { Deadline(nanoseconds: UInt64(seconds * 1e9)) }

@Suite struct EndPointHealthTests {
  private var random = SeededRandom(seed: 5)
  private var health = EndPointHealth(pauses: PausePolicy(jitter: 0), breaker: nil, ceiling: 8)

  /// Returns the cause of the sleep that begins or is extended.
  private mutating func answered(
    _ status: Int, wait: Duration? = nil, started: Double, _ now: Double
  ) -> EndPointHealth.Cause? {
    let outcome = ExchangeOutcome.response(status, wait: wait)
    return health.answered(outcome, startedAt: at(started), at: at(now), using: &random) ? health.cause : nil
  }

  @Test("D101 sixteen refusals of one burst are one step, and a stray success does not end the pause")
  mutating func burst() {
    #expect(answered(429, started: 1, 2) == .refused(429))
    for number in 0..<15 { #expect(answered(429, started: 1 + Double(number) / 16, 2.1) == nil) }
    #expect(answered(429, wait: .seconds(60), started: 1.5, 2.1) == nil)
    #expect(answered(200, started: 1.9, 2.5) == nil)
    #expect(health.notBefore == at(3) && health.cause == .refused(429))
    #expect(health.room(at: at(2.9)) == 0 && health.room(at: at(3)) == 1)
  }

  @Test("D102 after the pause one request runs alone, then two, four, eight: then only the limits apply")
  mutating func ramp() {
    _ = answered(429, wait: .seconds(5), started: 1, 2)
    #expect(health.room(at: at(7)) == 1 && health.widens(after: at(7)) == nil)
    // Answers alone, however fast, allow two. Time alone allows none.
    for _ in 0..<3 { #expect(answered(200, started: 7, 7) == nil) }
    #expect(health.room(at: at(7.9)) == 2 && health.widens(after: at(7.9)) == at(8))
    #expect(health.room(at: at(8)) == 4 && health.widens(after: at(8)) == nil)
    #expect(health.room(at: at(9)) == 4)
    for _ in 0..<3 { #expect(answered(200, started: 8, 8) == nil) }
    #expect(health.room(at: at(9)) == 7)
    #expect(answered(200, started: 9, 9) == nil && health.cause == nil)
    #expect(health.room(at: at(20)) == .max && health.cause == nil)
    // The steps begin again.
    _ = answered(429, started: 20, 21)
    #expect(health.notBefore == at(22))
  }

  @Test("without a wait from the server, pauses double until it has recovered, up to the cap")
  mutating func doubling() {
    var now = 10.0
    for step in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600] {
      #expect(answered(429, started: now, now) == .refused(429))
      #expect(health.notBefore == at(now + step))
      now += step + 1
      _ = answered(200, started: now, now)
      now += 1
    }
  }

  @Test("D100 zero, the past and negative waits ask for nothing, and excessive ones get the cap")
  mutating func wishes() {
    _ = answered(429, wait: .zero, started: 1, 1)
    #expect(health.notBefore == at(2))
    _ = answered(429, wait: .seconds(-5), started: 3, 3)
    #expect(health.notBefore == at(5))
    _ = answered(429, wait: .seconds(Int64.max), started: 6, 6)
    #expect(health.notBefore == at(606))
  }

  @Test("one address that always answers 503 causes no pause; several of the last ten answers do")
  mutating func unavailable() {
    for round in 0..<100 {
      #expect(answered(503, started: Double(round) + 1, Double(round) + 1) == nil)
      for _ in 0..<4 { _ = answered(200, started: Double(round) + 1, Double(round) + 1) }
    }
    #expect(answered(503, wait: .seconds(3), started: 200, 200) == .unavailable(503))
    _ = answered(200, started: 210, 210)
    #expect(answered(503, started: 211, 211) == nil)
    #expect(answered(503, started: 211, 211) == nil)
    #expect(answered(503, started: 211, 211) == .unavailable(503))
    // A probe that is refused continues the pause.
    #expect(answered(503, started: 220, 220) == .unavailable(503))
  }

  @Test("a probe that ends without an answer makes room for another one")
  mutating func cancelledProbe() {
    let old = health.started(at: at(0.5))
    _ = answered(429, started: 1, 1)
    let probe = health.started(at: at(2.5))
    #expect(health.room(at: at(3)) == 0)
    // A request from before the pause is not the probe.
    health.ended(old)
    #expect(health.room(at: at(3)) == 0)
    health.ended(probe)
    #expect(health.room(at: at(3)) == 1)
  }

  @Test("jitter only adds, at most a tenth, and never exceeds the longest pause")
  mutating func jitter() {
    health.adopt(PausePolicy(), nil)
    var lengths: Set<UInt64> = []
    for round in 0..<100 {
      let now = Double(round) * 1000 + 1
      _ = answered(429, wait: .seconds(400), started: now, now)
      let length = health.notBefore.nanoseconds - at(now).nanoseconds
      #expect((400_000_000_000...440_000_000_000).contains(length))
      lengths.insert(length)
      _ = answered(429, wait: .seconds(599), started: now + 450, now + 450)
      #expect(health.notBefore <= at(now + 450 + 600))
    }
    #expect(lengths.count > 90)
    var breaker = BreakerPolicy(initialSuspension: .seconds(1), maxSuspension: .seconds(1), jitter: 1)
    #expect((0..<100).allSatisfy { _ in breaker.nanoseconds(after: 3, using: &random) == 1_000_000_000 })
    breaker.maxSuspension = .seconds(2)
    #expect((0..<100).contains { _ in breaker.nanoseconds(after: 0, using: &random) > 1_000_000_000 })
  }

  @Test(
    "an end-point that only refuses is given up when its pause ends later than the patience after the first refusal")
  mutating func patience() {
    health = EndPointHealth(pauses: PausePolicy(jitter: 0, patience: .seconds(10)), breaker: nil, ceiling: 8)
    // Pauses of 1, 2 and 4 seconds: the last ends 8 seconds after the first refusal. The next one would end after 15.
    for now in [1.0, 2, 4] {
      #expect(answered(429, started: now, now) == .refused(429) && !health.hasGivenUp)
    }
    #expect(health.notBefore == at(8))
    #expect(answered(429, started: 8, 8) == .refused(429) && health.hasGivenUp)
    // Then a probe again, which is one refusal too many, or an answer after which the patience begins anew.
    #expect(answered(429, started: 16, 16) == .refused(429) && health.hasGivenUp)
    #expect(answered(200, started: 40, 40) == nil && !health.hasGivenUp)
    #expect(answered(429, wait: .seconds(10), started: 41, 41) == .refused(429) && !health.hasGivenUp)
  }

  @Test("a wait beyond the patience is kept whole, up to a day, and gives the end-point up at once")
  mutating func longWaits() {
    health = EndPointHealth(
      pauses: PausePolicy(maxPause: .seconds(5), jitter: 0, patience: .seconds(10)), breaker: nil, ceiling: 8)
    #expect(answered(429, wait: .seconds(10), started: 1, 1) == .refused(429) && !health.hasGivenUp)
    #expect(health.notBefore == at(6))
    #expect(answered(429, wait: .seconds(22_680), started: 6, 6) == .refused(429) && health.hasGivenUp)
    #expect(health.notBefore == at(22_686))
    #expect(answered(503, wait: .seconds(1 << 40), started: 22_686, 22_686) == .unavailable(503) && health.hasGivenUp)
    #expect(health.notBefore == at(22_686 + 86_400))
  }

  @Test("patience has no part in the breaker's suspensions, and an early answer does not end a pause")
  mutating func patienceAndBreaker() {
    health = EndPointHealth(
      pauses: PausePolicy(jitter: 0, patience: .seconds(10)), breaker: BreakerPolicy(failures: 1, probes: 3, jitter: 0),
      ceiling: 8)
    _ = answered(429, wait: .seconds(3600), started: 1, 1)
    #expect(answered(200, started: 2, 2) == nil && health.hasGivenUp)
    #expect(health.failedToReach(startedAt: at(3602), at: at(3602), using: &random) && !health.hasGivenUp)
  }

  @Test("another patience decides anew, and what is no longer given up is asked after the longest pause")
  mutating func otherPatience() {
    health = EndPointHealth(pauses: PausePolicy(jitter: 0, patience: .seconds(10)), breaker: nil, ceiling: 8)
    _ = answered(429, wait: .seconds(3600), started: 1, 1)
    #expect(health.hasGivenUp && health.notBefore == at(3601))
    health.adopt(PausePolicy(jitter: 0), nil)
    #expect(!health.hasGivenUp && health.notBefore == at(601))
    health.adopt(PausePolicy(jitter: 0, patience: .seconds(100)), nil)
    #expect(health.hasGivenUp)
    // A patience of more than a day, too.
    health = EndPointHealth(pauses: PausePolicy(jitter: 0, patience: .seconds(90_000)), breaker: nil, ceiling: 8)
    _ = answered(429, wait: .seconds(100_000), started: 1, 1)
    #expect(health.hasGivenUp && health.notBefore == at(86_401))
  }

  @Test("after failures in a row it sleeps, tries once, and gives up after several sleeps; an answer wakes it")
  mutating func breaker() {
    health = EndPointHealth(breaker: BreakerPolicy(failures: 3, probes: 2, jitter: 0), ceiling: 4)
    func fail(_ health: inout EndPointHealth, _ random: inout SeededRandom, _ now: Double) -> EndPointHealth.Cause? {
      health.failedToReach(startedAt: at(now), at: at(now), using: &random) ? health.cause : nil
    }
    #expect(fail(&health, &random, 1) == nil && fail(&health, &random, 1) == nil)
    #expect(answered(404, started: 1, 1) == nil)
    #expect(fail(&health, &random, 1) == nil && fail(&health, &random, 1) == nil)
    #expect(fail(&health, &random, 2) == .unreachable)
    for _ in 0..<13 { #expect(fail(&health, &random, 2) == nil) }
    #expect(health.notBefore == at(3))
    #expect(fail(&health, &random, 4) == .unreachable)
    #expect(health.notBefore == at(6) && !health.hasGivenUp)
    #expect(fail(&health, &random, 7) == .unreachable && health.hasGivenUp && health.notBefore == at(11))
    #expect(fail(&health, &random, 12) == .unreachable && health.hasGivenUp)
    // A refusal is an answer too.
    #expect(answered(429, started: 30, 30) == nil && !health.hasGivenUp)
    #expect(fail(&health, &random, 31) == nil)
    for _ in 0..<2 { _ = answered(200, started: 35, 35) }
    #expect(health.cause == nil && health.room(at: at(33)) == .max)
  }

  @Test("a refusal or 503 shows that the server is reachable: it is no longer given up, and its failure count restarts")
  mutating func answersAreReached() {
    for status in [429, 503] {
      health = EndPointHealth(
        pauses: PausePolicy(jitter: 0), breaker: BreakerPolicy(failures: 1, probes: 1, jitter: 0), ceiling: 4)
      for now in [1.0, 10] { _ = health.failedToReach(startedAt: at(now), at: at(now), using: &random) }
      #expect(health.hasGivenUp)
      _ = answered(status, started: 20, 20)
      #expect(!health.hasGivenUp)
      #expect(health.failedToReach(startedAt: at(40), at: at(40), using: &random) && health.cause == .unreachable)
    }
  }

  @Test(
    "random events: never too early, never more at once than allowed, deadlines only extend", arguments: 1...60)
  func randomEvents(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let ceiling = Int.random(in: 1...20, using: &random)
    var health = EndPointHealth(
      pauses: PausePolicy(maxPause: .seconds(30)), breaker: Bool.random(using: &random) ? BreakerPolicy() : nil,
      ceiling: ceiling)
    struct Running {
      let mark: UInt32
      let start: Deadline
    }
    var running: [Running] = []
    var now: UInt64 = 1
    var lastPause: (began: Deadline, until: Deadline)?
    for _ in 0..<3000 {
      now += UInt64.random(in: 1...500_000_000, using: &random)
      let present = Deadline(nanoseconds: now)
      let before = health
      if Bool.random(using: &random) {
        // The driver starts as many as there is room for, up to its limit.
        while running.count < 20, health.room(at: present) > 0, health.earliest <= present {
          #expect(present >= health.notBefore, "seed \(seed)")
          running.append(Running(mark: health.started(at: present), start: present))
          now += 1
        }
        if health.cause != nil, let lastPause {
          let since = running.count { $0.start >= lastPause.until }
          #expect(since <= max(health.allowance(at: present), 1), "seed \(seed)")
        }
      } else if !running.isEmpty {
        let one = running.remove(at: Int.random(in: 0..<running.count, using: &random))
        var sleeps = false
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
          let wait: Duration? = Bool.random(using: &random) ? .seconds(Int.random(in: -5...100, using: &random)) : nil
          sleeps = health.answered(.refused(wait: wait), startedAt: one.start, at: present, using: &random)
        case 1: sleeps = health.answered(.unavailable(wait: nil), startedAt: one.start, at: present, using: &random)
        case 2: sleeps = health.failedToReach(startedAt: one.start, at: present, using: &random)
        case 3: break
        default: sleeps = health.answered(.answered, startedAt: one.start, at: present, using: &random)
        }
        health.ended(one.mark)
        if let lastPause, one.start <= lastPause.began {
          #expect(!sleeps && health.allowance(at: present) == before.allowance(at: present), "seed \(seed)")
        }
        if sleeps {
          #expect(health.notBefore > present && health.room(at: present) == 0, "seed \(seed)")
          #expect(health.notBefore <= present + .seconds(60), "seed \(seed)")
          lastPause = (present, health.notBefore)
        }
      }
      #expect(health.notBefore >= before.notBefore, "seed \(seed)")
    }
    // All running requests end. In any case, there is room for one after the pause.
    for one in running { health.ended(one.mark) }
    #expect(health.room(at: Deadline(nanoseconds: now) + .seconds(100)) >= 1, "seed \(seed)")
  }
}

extension EndPointHealth {
  init(pauses: PausePolicy? = nil, breaker: BreakerPolicy? = nil, ceiling: Int = 64) {
    self.init()
    adopt(pauses, breaker)
    self.ceiling = ceiling
  }
}
