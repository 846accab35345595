import Foundation
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

private func at(_ seconds: Double) -> Deadline { Deadline(nanoseconds: UInt64(seconds * 1e9)) }

/// Limits learned from refusals, in virtual time.
@Suite struct AdaptiveLimitTests {
  /// The number of runs of each case. One, with fewer cases, unless the soak test asks for more.
  private static let seeds =
    ProcessInfo.processInfo.environment["HEADGATE_LEARNING_SEEDS"].flatMap { UInt64($0) } ?? 1

  private static let servers: [(name: String, server: ModelServer, latencies: [Double])] = [
    ("4 at once", ModelServer(most: 4), [0.02, 0.1, 0.2]),
    ("12 at once", ModelServer(most: 12), [0.02, 0.1, 0.2, 0.5]),
    ("30/s", ModelServer(rate: 30), [0.02, 0.1, 0.2]),
    ("30/s with a bucket of 20", ModelServer(rate: 30, burst: 20), [0.02, 0.1, 0.2]),
    ("12 at once and 30/s", ModelServer(most: 12, rate: 30), [0.02, 0.1, 0.2]),
    ("4 at once and 30/s", ModelServer(most: 4, rate: 30), [0.2, 0.5]),
  ]

  @Test(
    "after a minute throughput is at least 0.85 of the optimum with at most 2 % refused: by number, by rate, by both",
    arguments: servers.indices)
  func settles(place: Int) {
    let (name, server, latencies) = Self.servers[place]
    for latency in Self.seeds > 1 ? latencies : [0.2] {
      for spread in Self.seeds > 1 ? [0, 0.3, 0.6] : [0.3] {
        var (served, refused, worst) = (0, 0, 1.0)
        for seed in 1...Self.seeds {
          let result = AdaptiveSimulation(server: server, latency: latency, spread: spread).run(
            seconds: 120, seed: seed)
          let sums = result.sums(60..<120)
          served += sums.served
          refused += sums.refused
          worst = min(worst, Double(sums.served) / 60 / server.oracle(latency: latency + 0.001))
        }
        let share = Double(served) / 60 / Double(Self.seeds) / server.oracle(latency: latency + 0.001)
        let part = Double(refused) / Double(served + refused)
        #expect(share >= 0.85, "\(name), \(latency) s, \(spread): \(share)")
        #expect(worst >= 0.6, "\(name), \(latency) s, \(spread): one run had \(worst)")
        #expect(part <= 0.02, "\(name), \(latency) s, \(spread): \(part) refused")
      }
    }
  }

  @Test("ten seconds after the server's limit falls or rises, the learned limit has settled again")
  func steps() {
    let cases: [(ModelServer, Double, (inout ModelServer) -> Void, (inout ModelServer) -> Void, Double, Double)] = [
      (ModelServer(most: 12), 0.2, { $0.most = 4 }, { $0.most = 12 }, 4 / 0.201, 12 / 0.201),
      (ModelServer(rate: 30), 0.05, { $0.rate = 10 }, { $0.rate = 30 }, 10, 30),
    ]
    for (server, latency, down, up, low, high) in cases {
      var shares: [(Double, Double)] = []
      for seed in 1...Self.seeds {
        var simulation = AdaptiveSimulation(server: server, latency: latency)
        simulation.steps = [(60, down), (90, up)]
        let result = simulation.run(seconds: 120, seed: seed)
        shares.append(
          (Double(result.sums(70..<90).served) / 20 / low, Double(result.sums(100..<120).served) / 20 / high))
        let after = result.sums(70..<90)
        #expect(Double(after.refused) <= 0.04 * Double(after.served))
      }
      #expect(shares.map(\.0).reduce(0, +) / Double(shares.count) >= 0.85, "\(shares)")
      #expect(shares.map(\.1).reduce(0, +) / Double(shares.count) >= 0.85, "\(shares)")
    }
  }

  @Test("a burst counts once: responses that were in flight when a limit fell do not lower it again")
  func burst() {
    var limit = AdaptiveLimit(AdaptivePolicy(initialRequests: 16), ceiling: 16)
    let starts = (0..<16).map { limit.started(running: $0 + 1, at: at(1 + Double($0) / 1000)) }
    #expect(limit.refused(starts[15], status: 429, at: at(2)).change?.to == 11)
    for start in starts[..<15] { #expect(limit.refused(start, status: 429, at: at(2)).change == nil) }
    #expect(limit.requests == 11)
  }

  @Test("a refusal with a single request in flight lowers the rate and not the number")
  func alone() {
    var limit = AdaptiveLimit(AdaptivePolicy(), ceiling: 6)
    let first = limit.started(running: 1, at: at(1))
    #expect(limit.accepted(first, at: at(1.01))?.dimension == .requests)
    let second = limit.started(running: 1, at: at(1.02))
    let change = limit.refused(second, status: 429, at: at(1.03)).change
    #expect(change?.dimension == .rate && change?.cause == .refused(status: 429))
    #expect(limit.rate.map { $0 < 50 } ?? false)
    #expect(change?.description.hasPrefix("rate none -> ") ?? false)
  }

  @Test("a refusal without any earlier request teaches nothing: the end-point pauses")
  func outOfTheBlue() {
    var limit = AdaptiveLimit(AdaptivePolicy(), ceiling: 6)
    let refusal = limit.refused(limit.started(running: 1, at: at(1)), status: 429, at: at(1.1))
    #expect(refusal.change == nil && refusal.isHopeless && limit.rate == nil && limit.requests == 1)
  }

  @Test(
    "a learned limit stays between one and the configured limit; without refusals it is the configured one, unpaced")
  func bounds() {
    var limit = AdaptiveLimit(AdaptivePolicy(), ceiling: 6)
    var now = 1.0
    for _ in 0..<20 {
      let start = limit.started(running: limit.requests, at: at(now))
      _ = limit.accepted(start, at: at(now + 0.1))
      now += 1
    }
    #expect(limit.requests == 6 && limit.rate == nil && limit.notBefore <= at(now))
    limit.ceiling = 2
    #expect(limit.requests == 2)
    for _ in 0..<50 {
      _ = limit.refused(limit.started(running: 2, at: at(now)), status: 429, at: at(now + 0.1))
      now += 1
    }
    #expect(limit.requests >= 1 && limit.rate.map { $0 >= 0.1 } ?? true)
  }

  @Test("an end-point pauses if lower limits don't help; an answer ends the pause")
  func hopeless() {
    var limit = AdaptiveLimit(AdaptivePolicy(), ceiling: 6)
    _ = limit.accepted(limit.started(running: 1, at: at(1)), at: at(1.1))
    let verdicts = (2..<6).map { second in
      limit.refused(limit.started(running: 1, at: at(Double(second))), status: 429, at: at(Double(second) + 0.1))
        .isHopeless
    }
    #expect(verdicts == [false, false, true, true])
    _ = limit.accepted(limit.started(running: 1, at: at(7)), at: at(7.1))
    #expect(!limit.refused(limit.started(running: 1, at: at(8)), status: 429, at: at(8.1)).isHopeless)
  }

  @Test("remembered limits apply from the start: no further refusals, and full throughput at once")
  func remembered() throws {
    for server in [ModelServer(most: 12), ModelServer(rate: 30)] {
      var (first, second, served) = (0, 0, 0)
      for seed in 1...max(3, Self.seeds) {
        let simulation = AdaptiveSimulation(server: server, latency: 0.2)
        let run = simulation.run(seconds: 30, seed: seed)
        let entry = try #require(run.limit.entry(at: at(32), seconds: 1000))
        #expect(entry.expires > 1500 && entry.expires <= 1600)
        let again = simulation.run(seconds: 5, seed: seed + 100, remembered: entry)
        first += run.sums(0..<5).refused
        second += again.sums(0..<5).refused
        served += again.sums(0..<5).served
      }
      #expect(second <= first)
      #expect(Double(served) >= 0.75 * 5 * Double(max(3, Self.seeds)) * server.oracle(latency: 0.201))
    }
  }

  @Test("learned limits are written as text and read again; expired and unreadable entries are skipped")
  func text() throws {
    let (api, other) = (try EndPoint("https://api.example.com/"), try EndPoint("http://[::1]:8080/"))
    var learned = LearnedLimits()
    learned[api] = .init(requests: 4, rate: 28.5, expires: LearnedLimits.now + 100)
    learned[other] = .init(requests: 7, rate: nil, expires: LearnedLimits.now + 100)
    let text = learned.description
    #expect(LearnedLimits(text) == learned)
    #expect(LearnedLimits(text + "old:1 requests=3 expires=5\nno line\nbad:1 requests=x expires=9\n\n") == learned)
    #expect(LearnedLimits(text)[api]?.rate == 28.5)
    learned[api] = .init(requests: 4, rate: 28.5, expires: LearnedLimits.now - 1)
    #expect(learned[api] == nil)
    #expect(
      LearnedLimits.Entry(requests: 0, rate: -1, expires: 0) == LearnedLimits.Entry(requests: 1, rate: nil, expires: 0))
  }

  @Test("each change of a limit is reported", arguments: 0..<20)
  func reported(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var limit = AdaptiveLimit(AdaptivePolicy(responsesPerRefusal: 5), ceiling: 40)
    var (requests, rate, now, withdrawals) = (limit.requests, limit.rate, 1.0, 0)
    for _ in 0..<2_000 {
      now += Double(Int.random(in: 1...400, using: &random)) / 1_000
      let start = limit.started(running: Int.random(in: 1...limit.requests, using: &random), at: at(now))
      now += Double(Int.random(in: 1...300, using: &random)) / 1_000
      let isRefused = Int.random(in: 0..<12, using: &random) == 0
      let change =
        isRefused ? limit.refused(start, status: 429, at: at(now)).change : limit.accepted(start, at: at(now))
      for change in [limit.withdrawal.take(), change].compactMap(\.self) {
        if change.cause == .withdrawn { withdrawals += 1 }
        if change.dimension == .rate { rate = change.to } else { requests = Int(change.to) }
      }
      #expect(requests == limit.requests && rate == limit.rate)
    }
    #expect(withdrawals > 0)
  }

  @Test("numbers beyond all bounds are replaced by possible ones")
  func possible() {
    let remembered = LearnedLimits.Entry(requests: .max, rate: nil, expires: .max)
    var limit = AdaptiveLimit(AdaptivePolicy(initialRequests: .max), ceiling: .max, remembered: remembered)
    #expect(limit.requests == 1_000_000)
    limit.ceiling = .max
    #expect(limit.requests == 1_000_000 && limit.notBefore == .distantPast)
    #expect(AdaptiveLimit(AdaptivePolicy(initialRequests: .max), ceiling: .max).requests == 1_000_000)
  }
}
