import HeadgateDispatch
import HeadgateInstruments
import HeadgateTesting
import HeadgateThreads
import MetricsTestKit
import Testing

@Suite struct MeasuredCoordinatorTests {
  private let metrics = TestMetrics()
  private let clock = ManualClock()
  private let permits = LockedBox<[Result<any SharedPermit, DispatchError>]>([])

  @Test("waits, held permits and failures are counted for each end-point")
  func counts() throws {
    let coordinator = MeasuredCoordinator(LocalCoordinator(timers: clock), factory: metrics, timers: clock)
    #expect(coordinator.description == "permits from this process")
    let demand = SharedDemand(
      for: try EndPoint(host: "a.example", port: 80), limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    let place = [("server.address", "a.example"), ("server.port", "80")]
    for _ in 0..<3 { _ = coordinator.requestPermit(demand) { [permits] end in permits.withLock { $0.append(end) } } }
    let waiting = try metrics.expectMeter("headgate.client.shared.queue.length", place)
    let held = try metrics.expectMeter("headgate.client.shared.permits", place)
    #expect((waiting.lastValue, held.lastValue) == (2, 1))
    clock.advance(by: .seconds(2))
    try permits.withLock { $0[0] }.get().release()
    #expect(try permits.withLock { $0[0] }.get().release() == false)
    #expect((waiting.lastValue, held.lastValue) == (1, 1))
    #expect(try metrics.expectTimer("headgate.client.shared.time_in_queue", place).values == [0, 2_000_000_000])
    coordinator.shutDown()
    let failed = place + [("error.type", "shut_down")]
    #expect(try metrics.expectCounter("headgate.client.shared.failures", failed).totalValue == 1)
    permits.withLock { $0 = [] }
    #expect((waiting.lastValue, held.lastValue) == (0, 0))
  }
}
