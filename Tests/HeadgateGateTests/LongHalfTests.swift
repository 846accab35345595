import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

/// Requests with weights at one end-point, while another one has the only place for a long request.
@Suite struct LongHalfTests {
  private let here: EndPoint
  private let there: EndPoint
  private let moment = Deadline(nanoseconds: 1_000_000_000)
  private var scheduler: Scheduler<Int>

  init() throws {
    here = try EndPoint(host: "a", port: 1)
    there = try EndPoint(host: "b", port: 1)
    scheduler = Scheduler<Int>(limits: try GateLimits(endPoint: EndPointLimits(requests: 9), total: 2))
    scheduler.setLimits(
      try EndPointLimits(requests: 9, budgets: [Budget("tokens", units: 10, per: .seconds(10))]), for: here)
  }

  private func needs(_ weight: Int) -> StartNeeds { StartNeeds(weights: ["tokens": weight]) }

  @Test("a heavy long request that waits for the total's long half makes no short one wait")
  mutating func heavyLongRequest() throws {
    _ = scheduler.submit(0, to: there, .long, at: moment)
    guard case .start(0, _)? = scheduler.next() else { throw Unexpected() }
    _ = scheduler.submit(1, to: here, .long, at: moment, needs: needs(10))
    for number in 2..<6 {
      _ = scheduler.submit(number, to: here, .short, at: moment, needs: needs(1))
    }
    for number in 2..<6 {
      guard case .start(number, let ticket)? = scheduler.next() else { throw Unexpected() }
      #expect(scheduler.next() == nil)
      _ = scheduler.finish(ticket)
    }
  }

  @Test("a long request that may start with the long half goes before a younger short one that waits for its budget")
  mutating func lightLongRequest() throws {
    _ = scheduler.submit(0, to: there, .long, at: moment)
    guard case .start(0, let other)? = scheduler.next() else { throw Unexpected() }
    _ = scheduler.submit(1, to: here, .short, at: moment, needs: needs(5))
    guard case .start(1, let first)? = scheduler.next() else { throw Unexpected() }
    #expect(scheduler.finish(first) == 1)
    _ = scheduler.submit(2, to: here, .long, at: moment, needs: needs(3))
    _ = scheduler.submit(3, to: here, .short, at: moment, needs: needs(8))
    #expect(scheduler.next() == nil)
    #expect(scheduler.finish(other) == 0)
    guard case .start(2, _)? = scheduler.next() else { throw Unexpected() }
  }
}
