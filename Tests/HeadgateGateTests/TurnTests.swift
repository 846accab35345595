import HeadgateGate
import Testing

/// How end-points share the total.
@Suite struct TurnTests {
  /// Starts `count` requests one after another under a total, with every lane always full. Returns the number of starts
  /// at each end-point.
  private func shares(_ weights: [Int], total: Int, count: Int) throws -> [Int] {
    let endPoints = try weights.indices.map { try EndPoint(host: "h\($0)", port: 80) }
    var limits = try GateLimits(endPoint: EndPointLimits(requests: total, long: nil), total: total)
    for (endPoint, weight) in zip(endPoints, weights) {
      limits.overrides[endPoint] = try EndPointLimits(requests: total, weight: weight)
    }
    var scheduler = Scheduler<Int>(limits: limits)
    for _ in 0..<(total + 20) {
      for place in weights.indices { _ = scheduler.submit(place, to: endPoints[place], .short) }
    }
    var running: [Ticket] = []
    var shares = weights.map { _ in 0 }
    for _ in 0..<count {
      while case .start(let place, let ticket) = scheduler.next() {
        shares[place] += 1
        running.append(ticket)
        _ = scheduler.submit(place, to: endPoints[place], .short)
      }
      _ = scheduler.finish(running.removeFirst())
    }
    return shares
  }

  @Test(
    "D51 under the total, end-points of the weights 1, 2 and 4 get that share within 5 %", arguments: [1, 3, 8, 50])
  func weights(total: Int) throws {
    let weights = [1, 2, 4, 1, 2, 4, 1, 2, 4, 1]
    let shares = try shares(weights, total: total, count: 11_000)
    let each = Double(shares.reduce(0, +)) / Double(weights.reduce(0, +))
    let relative = zip(shares, weights).map { Double($0) / (Double($1) * each) }
    for share in relative { #expect(abs(share - 1) < 0.05) }
    // R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness" (1984).
    let jain = relative.reduce(0, +) * relative.reduce(0, +) / (10 * relative.map { $0 * $0 }.reduce(0, +))
    #expect(jain >= 0.95)
  }

  @Test("end-points of equal weight get equal shares")
  func equal() throws {
    let shares = try shares([1, 1, 1], total: 2, count: 3_000)
    #expect(shares.allSatisfy { abs($0 - 1_000) <= 2 })
  }

  @Test("D50 at the start, turns follow the order of joining, not names")
  func firstTurns() throws {
    let hosts = ["z", "b", "y", "a"]
    var scheduler = Scheduler<String>(limits: try GateLimits(endPoint: EndPointLimits(requests: 2), total: 1))
    for host in hosts {
      for _ in 0..<2 { _ = scheduler.submit(host, to: try EndPoint(host: host, port: 80), .short) }
    }
    var starts: [String] = []
    while case .start(let host, let ticket) = scheduler.next() {
      starts.append(host)
      _ = scheduler.finish(ticket)
    }
    // The first one had no others to take turns with.
    #expect(starts == ["z"] + ["z", "b", "y", "a"] + ["b", "y", "a"])
  }

  @Test("D30 a request that is cancelled while it waits uses none of its end-point's turns")
  func cancelledTurns() throws {
    let endPoints = try ["a", "b"].map { try EndPoint(host: $0, port: 80) }
    var scheduler = Scheduler<Int>(limits: try GateLimits(endPoint: EndPointLimits(requests: 1), total: 1))
    var waiting: [[Ticket]] = [[], []]
    for number in 0..<1_100 {
      guard case .accepted(let ticket) = scheduler.submit(0, to: endPoints[0], .short) else { continue }
      if number % 11 < 10 { waiting[0].append(ticket) }
      if number < 100 { _ = scheduler.submit(1, to: endPoints[1], .short) }
    }
    for ticket in waiting[0].dropFirst() { _ = scheduler.withdraw(ticket) }
    var shares = [0, 0]
    for _ in 0..<100 {
      guard case .start(let place, let ticket) = scheduler.next() else { break }
      shares[place] += 1
      _ = scheduler.finish(ticket)
    }
    #expect(shares == [50, 50])
  }

  @Test("a weight does not slow the only busy end-point")
  func alone() throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 100), total: 10)
    limits.endPoint = try EndPointLimits(requests: 100, weight: 3)
    var scheduler = Scheduler<Int>(limits: limits)
    let endPoint = try EndPoint(host: "a", port: 80)
    for item in 0..<20 { _ = scheduler.submit(item, to: endPoint, .short) }
    #expect(scheduler.running == 10)
    #expect(scheduler.brokenInvariant(inFull: true) == nil)
  }
}
