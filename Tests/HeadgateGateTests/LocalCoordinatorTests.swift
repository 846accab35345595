import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

@Suite struct LocalCoordinatorTests {
  @Test("the limits of the latest demand apply, and the common ones take no memory")
  func latest() throws {
    let coordinator = LocalCoordinator(timers: ManualClock())
    let endPoint = try EndPoint(host: "a", port: 1)
    for (requests, own) in [(4, nil), (8, 8), (2, 2), (4, nil)] {
      let limits = try GateLimits(endPoint: EndPointLimits(requests: requests))
      _ = coordinator.requestPermit(SharedDemand(for: endPoint, limits: limits)) { _ in }
      #expect(coordinator.gate.limits.of(endPoint).requests == requests)
      #expect(coordinator.gate.limits.overrides[endPoint]?.requests == own)
    }
    coordinator.shutDown()
  }

  @Test("all places may be long there if every gate says so, and in each program's share")
  func allLong() throws {
    let coordinator = LocalCoordinator(timers: ManualClock())
    let endPoint = try EndPoint(host: "a", port: 1)
    for (keepsRoom, granted) in [(false, 2), (true, 1)] {
      let limits = try GateLimits(endPoint: EndPointLimits(requests: 2, keepsRoomForShort: keepsRoom))
      let permits = LockedBox<[any SharedPermit]>([])
      let demand = SharedDemand(for: endPoint, lane: .long, limits: limits)
      for _ in 0..<2 {
        _ = coordinator.requestPermit(demand) {
          if case .success(let permit) = $0 { permits.withLock { $0.append(permit) } }
        }
      }
      #expect(permits.withLock { $0.count } == granted)
      for permit in permits.withLock({ $0 }) { permit.release() }
      for permit in permits.withLock({ $0.dropFirst(granted) }) { permit.release() }
      let share = try SharedDemand(
        for: endPoint, limits: GateLimits(endPoint: EndPointLimits(requests: 8, keepsRoomForShort: keepsRoom))
      ).share(of: 2)
      #expect(share.limits.longOverSockets == (keepsRoom ? 2 : 4))
    }
    coordinator.shutDown()
  }
}
