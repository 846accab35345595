import Dispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// A gate's sockets, its limits, and bare permits that include a socket.
@Suite struct BarePermitSocketTests {
  /// Holds sockets as a transport does, until the test releases them.
  private final class Keeper: SocketHolder {
    let reserved = Outcomes<SocketRoute>()
    let reviews = Outcomes<Int>()
    func socketIsReserved(_ route: SocketRoute) { reserved.add(route) }
    func checkIdleConnections() { reviews.add(1) }
  }

  private let clock = ManualClock()
  private let gate: EndPointGate
  private let endPoint: EndPoint
  private let route: SocketRoute
  private let keeper = Keeper()
  private let leases: SocketLeases

  init() throws {
    gate = EndPointGate(
      limits: try GateLimits(endPoint: EndPointLimits(requests: 2)), timers: clock, logger: .silent)
    endPoint = try EndPoint(host: "sockets.example", port: 1)
    route = SocketRoute(to: endPoint)
    leases = gate.sockets.join(keeper)
    #expect(leases.lease(route) && leases.lease(route))
  }

  private func request(_ results: Outcomes<Result<Permit, DispatchError>>, deadline: Duration? = nil)
    -> PermitRequest
  {
    gate.requestPermit(for: endPoint, deadline: deadline) { results.add($0) }
  }

  @Test("a bare permit is granted with a socket: idle connections are requested back, and the wait counts as waiting")
  func handsOver() async throws {
    let results = Outcomes<Result<Permit, DispatchError>>()
    _ = request(results)
    #expect(results.count == 0 && keeper.reviews.count == 1 && leases.mustClose(route))
    clock.advance(by: .seconds(3))
    leases.release(route)
    #expect(!leases.mustClose(route))
    let permit = try #require(try results.last?.get())
    #expect(permit.waited == .seconds(3))
    #expect(gate.sockets.openCount(at: endPoint) == 2)
    #expect(!leases.lease(route))
    permit.release()
    #expect(keeper.reserved.values == [route])
    #expect(leases.lease(route) && gate.counts.running == 0)
  }

  @Test("many waiters for sockets that release their permits at once need the stack of one")
  func inALoop() async throws {
    let many = 1500
    let limits = try GateLimits(endPoint: EndPointLimits(requests: many), total: many)
    let gate = EndPointGate(limits: limits, logger: .silent)
    let elsewhere = SocketRoute(to: try EndPoint(host: "idle.example", port: 1))
    let leases = gate.sockets.join(keeper)
    for _ in 0..<many { #expect(leases.lease(elsewhere)) }
    let released = LockedBox(0)
    for _ in 0..<many {
      _ = gate.requestPermit(for: endPoint) { permit in
        released.withLock { $0 += 1 }
        _ = try? permit.get().release()
      }
    }
    #expect(released.withLock { $0 } == 0)
    // Each passes its socket to the next waiter.
    try await ManagedThread.spawn(ThreadAttributes(stackSize: 128 * 1024)) { leases.release(elsewhere) }.value()
    #expect(released.withLock { $0 } == many && gate.counts.running == 0)
    leases.leave()
    #expect(gate.sockets.openCount == 0)
  }

  @Test(
    "a graceful end ends waits for a socket and for a permit: nothing is granted afterwards")
  func gracefulEnd() throws {
    let results = Outcomes<Result<Permit, DispatchError>>()
    for _ in 0..<3 { _ = request(results) }
    #expect((gate.counts.running, gate.counts.waiting) == (2, 1))
    gate.close(.ending)
    leases.release(route)
    #expect(results.values.map(\.code) == [.shutDown, .shutDown, .shutDown])
    #expect((gate.counts.running, gate.counts.waiting, gate.sockets.openCount) == (0, 0, 1))
  }

  @Test("a deadline and a cancellation end the wait for a socket, and leave neither permit nor socket behind")
  func ends() throws {
    let results = Outcomes<Result<Permit, DispatchError>>()
    _ = request(results, deadline: .seconds(1))
    let second = request(results)
    #expect(gate.counts.running == 2)
    clock.advance(by: .seconds(2))
    second.cancel()
    #expect(results.values.map(\.code) == [.deadlineExceeded, .cancelled])
    #expect(gate.counts.running == 0)
    leases.leave()
    #expect(gate.sockets.openCount == 0 && !leases.hasShortage)
  }

  @Test("when several threads change parts of the limits at once, all changes take effect")
  func updates() throws {
    let gate = gate
    let own = try EndPointLimits(requests: 1)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for number in 0..<200 {
        guard let pattern = try? HostPattern("h\(number).t\(thread)"),
          let endPoint = try? EndPoint(host: "e\(number).t\(thread)", port: 1)
        else { continue }
        gate.updateLimits { $0.rules[pattern] = own }
        gate.setLimits(own, for: endPoint)
      }
    }
    #expect(gate.limits.rules.count == 800 && gate.limits.overrides.count == 800)
  }

  @Test("an update that throws changes nothing")
  func failedUpdate() throws {
    #expect(throws: LimitError.self) {
      try gate.updateLimits { limits throws(LimitError) in
        limits.endPoint = .classic
        limits.endPoint = try EndPointLimits(requests: 0)
      }
    }
    #expect(gate.limits.endPoint.requests == 2)
  }
}
