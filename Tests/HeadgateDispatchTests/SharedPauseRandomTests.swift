import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Programs at a coordinator that hears of pauses: nothing starts inside one, one probe follows it, and nobody waits
/// for ever. A program may die with its permit, or return it unused.
@Suite struct SharedPauseRandomTests {
  /// What the coordinator has granted, and what it may grant.
  private struct World {
    var held: [(permit: any SharedPermit, isProbing: Bool)] = []
    var waiting: [Int: any SharedPermitRequest] = [:]
    var pausedUntil = Deadline.distantPast
    /// The first grant after the last pause, and whether a permit that was granted since was used and returned.
    var probed: Deadline?
    var isAnswered = true
    var violations: [String] = []
    var seen: Set<String> = []

    mutating func granted(_ permit: any SharedPermit, at now: Deadline) {
      if now < pausedUntil { violations.append("a start \(pausedUntil - now) before the end of the pause") }
      if !isAnswered {
        seen.insert("probe")
        // The next probe follows the first one after a second at the least.
        let others = held.count { $0.isProbing }
        if let probed, now < probed + .seconds(1), others > 0 { violations.append("\(others + 1) probes at once") }
        if probed == nil { probed = now }
      }
      held.append((permit, !isAnswered))
    }

    mutating func paused(until end: Deadline, at now: Deadline) {
      // A shorter one changes nothing.
      guard pausedUntil <= now || end > pausedUntil + .milliseconds(10) else { return }
      (pausedUntil, probed, isAnswered) = (end, nil, false)
      for index in held.indices { held[index].isProbing = false }
    }
  }

  private func play(_ seed: UInt64) throws -> World {
    var random = SeededRandom(seed: seed)
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    let clock = ManualClock()
    let coordinator = LocalCoordinator(timers: clock, logger: .silent)
    let endPoint = try EndPoint(host: "a", port: 80)
    let demand = SharedDemand(for: endPoint, limits: try GateLimits(endPoint: EndPointLimits(requests: 8)))
    let world = LockedBox(World())
    for number in 1...300 {
      switch below(10) {
      case 0..<4:
        let isOver = LockedBox(false)
        let request = coordinator.requestPermit(demand) { result in
          isOver.withLock { $0 = true }
          world.withLock { world in
            world.waiting[number] = nil
            if case .success(let permit) = result { world.granted(permit, at: clock.now) }
          }
        }
        if !isOver.withLock({ $0 }) { world.withLock { $0.waiting[number] = request } }
      case 4..<7:
        let one = world.withLock { world in
          world.held.isEmpty ? nil : world.held.remove(at: below(world.held.count))
        }
        guard let (permit, isProbing) = one else { break }
        if below(4) == 0 {
          permit.decline()
        } else {
          // Also the end of a program that dies: the next one may probe.
          if isProbing { world.withLock { $0.isAnswered = true } }
          permit.release()
        }
      case 7:
        let left = Duration.milliseconds(1 + below(8_000))
        world.withLock { $0.paused(until: clock.now + left, at: clock.now) }
        if let pause = SharedPause(at: endPoint, left: left, .refused(status: 429)) { coordinator.share(pause) }
      case 8:
        let waiting = world.withLock { $0.waiting.sorted { $0.key < $1.key } }
        if !waiting.isEmpty, below(2) == 0 { waiting[below(waiting.count)].value.cancel() }
      default: clock.advance(by: .milliseconds(below(3_000)))
      }
    }
    for _ in 0..<200 {
      let held = world.withLock { world in
        defer { world.held = [] }
        if world.held.contains(where: \.isProbing) { world.isAnswered = true }
        return world.held
      }
      for (permit, _) in held { permit.release() }
      clock.advance(by: .seconds(1))
    }
    world.withLock { world in
      if !world.waiting.isEmpty || !world.held.isEmpty {
        world.violations.append("\(world.waiting.count) wait for ever")
      }
    }
    return world.withLock { $0 }
  }

  @Test("random pauses, grants and returns", arguments: UInt64(1)...60)
  func randomEvents(seed: UInt64) throws {
    let world = try play(seed)
    #expect(world.violations == [], "seed \(seed)")
    #expect(world.seen.contains("probe"))
  }

  @Test("the last milliseconds of a pause are not another pause for a gate, which waits for the coordinator")
  func rest() throws {
    let clock = ManualClock()
    let coordinator = LocalCoordinator(timers: clock, logger: .silent)
    let endPoint = try EndPoint(host: "a", port: 80)
    let gate = EndPointGate(
      limits: try GateLimits(endPoint: EndPointLimits(requests: 4)), timers: clock, logger: .silent,
      coordinator: coordinator)
    let permits = Outcomes<Permit>()
    coordinator.share(try #require(SharedPause(at: endPoint, left: .milliseconds(5), .refused(status: 429))))
    #expect(coordinator.gate.pause(at: endPoint) != nil && gate.pause(at: endPoint) == nil)
    gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } }
    #expect(permits.count == 0)
    clock.advance(by: .milliseconds(6))
    let permit = try #require(permits.takeAll().first)
    #expect(coordinator.gate.counts.running == 1)
    permit.release()
  }

  @Test("dispatchers at one coordinator pause together, and one of them probes")
  func together() throws {
    let clock = ManualClock()
    let coordinator = LocalCoordinator(timers: clock, logger: .silent)
    let endPoint = try EndPoint(host: "a", port: 80)
    let gates = try (0..<3).map { _ in
      EndPointGate(
        limits: try GateLimits(endPoint: EndPointLimits(requests: 4), pauses: PausePolicy(jitter: 0)), timers: clock,
        logger: .silent, coordinator: coordinator)
    }
    let permits = Outcomes<Permit>()
    for gate in gates { gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } } }
    let first = permits.takeAll()
    #expect(first.count == 3)
    first[0].report(.refused(retryAfter: .seconds(30)))
    for permit in first { permit.release() }
    for gate in gates + gates {
      gate.requestPermit(for: endPoint) { if let permit = try? $0.get() { permits.add(permit) } }
    }
    clock.advance(by: .seconds(29))
    #expect(permits.count == 0)
    clock.advance(by: .milliseconds(1100))
    let probe = permits.takeAll()
    #expect(probe.count == 1)
    // It is refused again: all of them wait again.
    probe.first?.report(.refused(retryAfter: .seconds(10)))
    probe.first?.release()
    clock.advance(by: .seconds(9))
    #expect(permits.count == 0)
    for _ in 0..<40 {
      clock.advance(by: .seconds(1))
      for permit in permits.takeAll() {
        permit.report(.answered)
        permit.release()
      }
    }
    #expect(gates.allSatisfy { $0.counts.running == 0 && $0.counts.waiting == 0 })
  }
}
