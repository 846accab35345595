import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Permits that are taken at once or not at all, and permits that wait with a priority that changes.
@Suite struct TryPermitTests {
  private typealias Results = Outcomes<Result<Permit, DispatchError>>

  private let clock = ManualClock()
  private let endPoint: EndPoint

  init() throws { endPoint = try EndPoint(host: "db", port: 1) }

  private func gate(
    _ requests: Int = 2, waiting: Int = 10, _ overflow: OverflowPolicy = .refuse, rates: [Rate] = []
  ) throws -> EndPointGate {
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: requests, rates: rates), waiting: waiting, overflow: overflow,
      pauses: PausePolicy(jitter: 0))
    return EndPointGate(limits: limits, timers: clock)
  }

  @Test("a free permit is taken at once, also in a callback of the gate; no other is, and nothing is left behind")
  func free() throws {
    let gate = try gate()
    let first = try #require(gate.tryPermit(for: endPoint))
    #expect(first.waited == .zero && first.endPoint == endPoint)
    let inside = Locked<Permit?>(nil)
    gate.requestPermit(for: try EndPoint(host: "other", port: 1)) { [endPoint] result in
      inside.withLock { $0 = gate.tryPermit(for: endPoint) }
      _ = try? result.get().release()
    }
    let second = try #require(inside.withLock { $0 })
    #expect(gate.tryPermit(for: endPoint) == nil && gate.tryPermit(for: endPoint, lane: .long) == nil)
    #expect((gate.counts.running, gate.counts.waiting) == (2, 0))
    first.release()
    second.release()
    #expect(gate.counts.running == 0 && gate.sockets.openCount(at: endPoint) == 0)
    gate.close(.draining)
    #expect(gate.tryPermit(for: endPoint) == nil)
  }

  @Test("nothing that waits is overtaken or displaced", arguments: [OverflowPolicy.refuse, .dropOldest, .dropLowest])
  func others(overflow: OverflowPolicy) throws {
    let (gate, results) = (try gate(1, waiting: 1, overflow), Results())
    let held = try #require(gate.tryPermit(for: endPoint))
    let waiting = gate.requestPermit(for: endPoint, priority: .background, completion: results.add)
    #expect(gate.tryPermit(for: endPoint) == nil && results.count == 0)
    gate.stop(endPoint)
    held.release()
    // A place is free, but nothing starts, and the other one comes first.
    #expect(gate.tryPermit(for: endPoint) == nil && results.count == 0)
    gate.resume(endPoint)
    #expect(try results.last?.get().release() == true)
    #expect(waiting.waitReason == nil && gate.tryPermit(for: endPoint)?.release() == true)
  }

  @Test("no rate and no pause is passed by, and neither counts what was not taken")
  func time() throws {
    let gate = try gate(rates: [.rolling(2, per: .seconds(1))])
    for _ in 0..<2 { #expect(gate.tryPermit(for: endPoint)?.release() == true) }
    for _ in 0..<5 { #expect(gate.tryPermit(for: endPoint) == nil) }
    clock.advance(by: .seconds(2))
    let refused = try #require(gate.tryPermit(for: endPoint))
    refused.report(.refused(retryAfter: .seconds(5)))
    refused.release()
    #expect(gate.tryPermit(for: endPoint) == nil)
    clock.advance(by: .seconds(5))
    #expect(gate.tryPermit(for: endPoint)?.release() == true)
  }

  @Test("a socket that is not free now is not waited for")
  func socket() throws {
    let gate = try gate(1)
    let holder = Keeper()
    let leases = gate.sockets.join(holder, keepsIdle: true)
    let route = SocketRoute(to: endPoint)
    #expect(leases.lease(route))
    #expect(gate.tryPermit(for: endPoint) == nil && gate.counts.running == 0)
    // It does not wait, so no idle connection is closed for it.
    #expect(holder.reviews.withLock { $0 } == 0)
    leases.release(route)
    #expect(gate.tryPermit(for: endPoint)?.release() == true)
    leases.leave()
  }

  private final class Keeper: SocketHolder {
    let reviews = Locked(0)
    func socketIsReserved(_ route: SocketRoute) {}
    func checkIdleConnections() { reviews.withLock { $0 += 1 } }
  }

  @Test("in a callback of a gate whose coordinator does not answer, no permit is taken and nothing is left behind")
  func coordinated() throws {
    let (coordinator, permits) = (LocalCoordinator(timers: clock, logger: .silent), Results())
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 2))
    let gates = (0..<2).map { _ in EndPointGate(limits: limits, timers: clock, coordinator: coordinator) }
    gates[1].requestPermit(for: endPoint, completion: permits.add)
    let seen = Locked<(taken: Bool, running: Int)?>(nil)
    gates[0].requestPermit(for: endPoint) { [endPoint] result in
      let taken = gates[0].tryPermit(for: endPoint)
      seen.withLock { $0 = (taken != nil, gates[0].counts.running) }
      permits.add(result)
    }
    #expect(try #require(seen.withLock { $0 }) == (false, 1))
    for permit in permits.values { try permit.get().release() }
    #expect(
      gates.map(\.counts.running) == [0, 0] && coordinator.gate.counts.running + coordinator.gate.counts.waiting == 0)
  }

  @Test("a change of priority moves a request for a permit, and none after the permit")
  func priority() throws {
    let (gate, order) = (try gate(1), Outcomes<Int>())
    let held = try #require(gate.tryPermit(for: endPoint))
    let requests = (0..<3).map { number in
      gate.requestPermit(for: endPoint) { result in
        order.add(number)
        _ = try? result.get().release()
      }
    }
    #expect(requests[2].priority == .normal)
    requests[2].priority = .urgent
    requests[0].priority = .background
    #expect(requests.map(\.priority) == [.background, .normal, .urgent])
    held.release()
    #expect(order.values == [2, 1, 0])
    requests[0].priority = .urgent
    #expect(gate.counts.running == 0)
  }

  @Test("refusals and pauses are counted by end-point and in all, also of an end-point that is idle")
  func counts() throws {
    let (gate, calm) = (try gate(4), try EndPoint(host: "calm", port: 1))
    #expect(gate.tryPermit(for: calm)?.release() == true)
    let permits = try (0..<3).map { _ in try #require(gate.tryPermit(for: endPoint)) }
    permits[0].report(.refused(retryAfter: .seconds(5)))
    // These began before the pause, and don't extend it.
    permits[1].report(.refused())
    permits[2].report(.answered)
    for permit in permits { permit.release() }
    #expect((gate.counts.refusals, gate.counts.pauses) == (2, 1))
    clock.advance(by: .seconds(5))
    #expect(
      gate.snapshot().description.hasSuffix(
        "\ndb:1             0     0        0       -  4 (2 long), 2 refusals, 1 pause  -"))
    let probe = try #require(gate.tryPermit(for: endPoint))
    probe.report(.unavailable(retryAfter: .seconds(1)))
    probe.release()
    #expect((gate.counts.refusals, gate.counts.pauses) == (3, 2))
    let entry = try #require(gate.snapshot().endPoints.first)
    #expect((entry.endPoint, entry.refusals, entry.pauses, entry.isBusy) == (endPoint, 3, 2, false))
    // Other limits do not make the gate forget it.
    gate.updateLimits { $0.total = 5 }
    #expect(gate.snapshot().endPoints.map(\.refusals) == [3])
  }
}
