import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

/// What a pause costs when many requests wait elsewhere: counted, not timed.
@Suite struct PauseCostTests {
  /// The requests and lines that a pause of an end-point, or of a scope, looks at.
  ///
  /// - Parameters:
  ///   - elsewhere: The number of requests that wait at other end-points, in other scopes.
  ///   - isScoped: Whether a scope pauses.
  private func visits(elsewhere: Int, isScoped: Bool) throws -> UInt64 {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 1), total: 1_000_000)
    limits.pauses = PausePolicy(jitter: 0)
    var scheduler = Scheduler<Int>(limits: limits)
    let moment = Deadline(nanoseconds: 1_000_000_000)
    let hosts = max(1, elsewhere / 100)
    for item in 0..<elsewhere + hosts {
      let endPoint = try EndPoint(host: "h\(item % hosts)", port: 80)
      let needs = item % 2 == 0 ? nil : StartNeeds(scopes: [.key("k\(item % 50)")])
      _ = scheduler.submit(item, to: endPoint, .short, at: moment, needs: needs)
    }
    let needs = isScoped ? StartNeeds(scopes: [.key("here")]) : nil
    let here = try EndPoint(host: "here", port: 80)
    for item in 0..<8 { _ = scheduler.submit(-1 - item, to: here, .short, at: moment, needs: needs) }
    var refused: Ticket?
    while case .start(let item, let ticket)? = scheduler.next() { if item == -1 { refused = ticket } }
    #expect(scheduler.waiting == elsewhere + 7)
    var random = SeededRandom(seed: 1)
    let before = scheduler.visits + scheduler.offers
    let ticket = try #require(refused)
    let noted = scheduler.note(
      .refused(wait: .seconds(5)), of: ticket, startedAt: moment, at: moment + .seconds(1), using: &random)
    let pause = try #require(noted)
    #expect((pause.scope != nil) == isScoped)
    let found = scheduler.waitingItems(at: pause.endPoint, pause.scope)
    #expect(found.sorted() == Array(-8...(-2)))
    return scheduler.visits + scheduler.offers - before
  }

  @Test("what a pause looks at does not depend on how many requests wait elsewhere", arguments: [false, true])
  func elsewhere(isScoped: Bool) throws {
    let few = try visits(elsewhere: 10, isScoped: isScoped)
    let many = try visits(elsewhere: 20_000, isScoped: isScoped)
    #expect(many == few && few > 0, "\(few) with ten requests elsewhere, \(many) with twenty thousand")
  }
}
