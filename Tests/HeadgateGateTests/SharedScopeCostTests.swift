import HeadgateThreads
import Testing

@testable import HeadgateGate

/// What an event at a scope costs when many lines wait there: counted, not timed.
@Suite struct SharedScopeCostTests {
  private static let route = RequestScope.route("POST /messages")

  /// The moves of lines while `count` requests wait at the route and a few end one after another.
  ///
  /// - Parameter plain: The number of requests without scopes among them, all to the first host.
  private func moves(
    _ count: Int, hosts: Int, total: Int = 1_000_000, perHost: Int = 1_000, plain: Int = 0
  ) throws -> UInt64 {
    var limits = try GateLimits(
      endPoint: EndPointLimits(requests: perHost), total: total, waiting: 1_000_000, overflow: .refuse)
    limits.scopes[Self.route] = try ScopeLimits(requests: 4)
    var scheduler = Scheduler<Int>(limits: limits)
    let endPoints = try (0..<hosts).map { try EndPoint(host: "h\($0)", port: 80) }
    for item in 0..<count {
      let needs = StartNeeds(scopes: hosts == 1 ? [.key("acct-\(item)"), Self.route] : [Self.route])
      let moment = Deadline(nanoseconds: UInt64(item + 1))
      _ = scheduler.submit(item, to: endPoints[item % hosts], .short, at: moment, needs: needs)
      if plain > 0, item % (count / plain) == 0 {
        _ = scheduler.submit(-1, to: endPoints[0], .short, at: moment)
      }
    }
    var running: [Ticket] = []
    func collect() { while case .start(_, let ticket)? = scheduler.next() { running.append(ticket) } }
    collect()
    let before = scheduler.offers
    for _ in 0..<50 where !running.isEmpty {
      _ = scheduler.finish(running.removeFirst())
      collect()
    }
    return scheduler.offers - before
  }

  @Test("what the end of a request costs does not depend on how many lines wait for its scope")
  func ends() throws {
    // A line for each key of one host, then one for each host.
    for (fewHosts, manyHosts) in [(1, 1), (1_000, 10_000)] {
      let few = try moves(1_000, hosts: fewHosts)
      let many = try moves(10_000, hosts: manyHosts)
      #expect(many == few && few > 0, "\(few) moves of lines with a thousand, \(many) with ten thousand")
    }
  }

  @Test("nor if the end-point or the total is full of other requests at the time")
  func mixed() throws {
    let few = try moves(1_000, hosts: 1, perHost: 6, plain: 100)
    let many = try moves(10_000, hosts: 1, perHost: 6, plain: 1_000)
    #expect(many <= 2 * few, "\(few) moves of lines with a thousand, \(many) with ten thousand")
    let fewHosts = try moves(1_000, hosts: 1_000, total: 6, plain: 100)
    let manyHosts = try moves(10_000, hosts: 10_000, total: 6, plain: 1_000)
    #expect(manyHosts <= 2 * fewHosts, "\(fewHosts) with a thousand hosts, \(manyHosts) with ten thousand")
  }
}
