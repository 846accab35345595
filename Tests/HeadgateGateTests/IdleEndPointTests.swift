import HeadgateThreads
import Testing

@testable import HeadgateGate

@Suite struct IdleEndPointTests {
  @Test("a change of limits keeps what an idle end-point is known to do: its next burst shares its sockets")
  func multiplexing() throws {
    let endPoint = try EndPoint(host: "a", port: 1)
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 8, connections: 2))
    var scheduler = Scheduler<Int>(limits: limits)
    func burst(_ count: Int) -> [Ticket] {
      var started: [Ticket] = []
      for item in 0..<count { _ = scheduler.submit(item, to: endPoint, .short, at: Deadline(nanoseconds: 1)) }
      while let effect = scheduler.next() { if case .start(_, let ticket) = effect { started.append(ticket) } }
      return started
    }
    let first = burst(1)
    scheduler.setMultiplexing(true, at: endPoint)
    for ticket in first { _ = scheduler.finish(ticket) }
    limits.endPoint = try EndPointLimits(requests: 5, connections: 1)
    scheduler.setLimits(limits)
    #expect(burst(9).count == 5)
  }
}
