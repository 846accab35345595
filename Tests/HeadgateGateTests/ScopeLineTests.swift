import HeadgateThreads
import Testing

@testable import HeadgateGate

/// Requests with different sets of scopes that wait for the same scope.
@Suite struct ScopeLineTests {
  @Test("when the heaviest of two lines at a scope is withdrawn, the other starts if it fits")
  func withdrawn() throws {
    let (endPoint, key) = (try EndPoint(host: "a", port: 80), RequestScope.key("b"))
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 9))
    limits.scopes[key] = try ScopeLimits(budgets: [Budget("tokens", units: 10, per: .seconds(60))])
    var scheduler = Scheduler<Int>(limits: limits)
    func submit(_ item: Int, _ scopes: [RequestScope], _ weight: Int) -> Ticket? {
      let needs = StartNeeds(scopes: scopes, weights: ["tokens": weight])
      let moment = Deadline(nanoseconds: UInt64(item + 1))
      guard case .accepted(let ticket) = scheduler.submit(item, to: endPoint, .short, at: moment, needs: needs) else {
        return nil
      }
      return ticket
    }
    _ = submit(0, [key], 5)
    let heavy = try #require(submit(1, [key], 8))
    _ = submit(2, [.group("g"), key], 5)
    var started: [Int] = []
    while case .start(let item, _)? = scheduler.next() { started.append(item) }
    #expect(started == [0])
    guard case .waiting(1) = scheduler.withdraw(heavy) else { throw Unexpected() }
    while case .start(let item, _)? = scheduler.next() { started.append(item) }
    #expect(started == [0, 2])
  }
}
