import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

/// Budgets and scopes against servers with their own counts, in virtual time.
@Suite struct BudgetUseTests {
  /// 2,000 requests of at most 100 units each, against 10,000 units in any ten seconds.
  private func share(settling: Bool) throws -> Double {
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: 8, budgets: [Budget("tokens", units: 10_000, per: .seconds(10))]), total: 100)
    var run = try VirtualRun(limits, seed: 3)
    var random = SeededRandom(seed: 4)
    var counted: [(second: Double, weight: Int)] = []
    var (total, most) = (0, 0)
    run.serve(0..<2000) { _ in
      StartNeeds(weights: ["tokens": 100])
    } by: { _, now in
      let weight = Int.random(in: 0...100, using: &random)
      total += weight
      counted.append((now, weight))
      counted.removeAll { $0.second <= now - 10 }
      most = max(most, counted.reduce(0) { $0 + $1.weight })
      return VirtualRun.Answer(
        seconds: .random(in: 0.05...0.2, using: &random), weighed: settling ? ["tokens": weight] : nil)
    }
    #expect(run.served.count == 2000 && most <= 10_000)
    // What the server would have allowed: a whole window at the start, and its rate since.
    return Double(total) / (10_000 + (run.now - 1) * 1000)
  }

  @Test("2,000 requests of unknown weight never exceed the server's budget, and use it fully once they are settled")
  func settled() throws {
    #expect(try share(settling: true) >= 0.85)
    #expect((0.4...0.6).contains(try share(settling: false)))
  }

  @Test("if one of five keys at a host is refused, the other four continue unaffected")
  func fiveKeys() throws {
    func served(refusing refused: Int?) throws -> [Int] {
      var limits = try GateLimits(endPoint: EndPointLimits(requests: 40), total: 100)
      for key in 0..<5 { limits.scopes[.key("\(key)")] = try ScopeLimits(requests: 4) }
      var run = try VirtualRun(limits, seed: 7)
      let needs = { (item: Int) in StartNeeds(scopes: [.key("\(item % 5)")]) as StartNeeds? }
      run.serve(0..<7000, needs: needs, until: 31) { item, now in
        let isRefused = item % 5 == refused && now > 3
        return VirtualRun.Answer(
          seconds: 0.1, status: isRefused ? 429 : 200, wait: isRefused ? .seconds(5) : nil)
      }
      return (0..<5).map { key in run.served.count { $0.item % 5 == key } }
    }
    let (without, with) = (try served(refusing: nil), try served(refusing: 2))
    for key in [0, 1, 3, 4] { #expect(abs(Double(with[key]) / Double(without[key]) - 1) < 0.02) }
    #expect(with[2] < without[2] / 5 && without[2] > 1000)
  }
}
