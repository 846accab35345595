import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// From when until when a gate wants to hear of answers. Each of them costs a lock and a look-up.
@Suite struct GuardTests {
  private let clock = ManualClock()
  private let endPoint: EndPoint
  private var limits: GateLimits

  init() throws {
    endPoint = try EndPoint(host: "guarded", port: 1)
    limits = try GateLimits(endPoint: EndPointLimits(requests: 4))
    limits.pauses = PausePolicy(jitter: 0)
    limits.breaker = BreakerPolicy(jitter: 0)
  }

  private func gate() -> EndPointGate { EndPointGate(limits: limits, timers: clock, logger: .silent) }

  private func permit(_ gate: EndPointGate, scopes: [RequestScope] = []) throws -> Permit {
    let results = Outcomes<Result<Permit, DispatchError>>()
    gate.requestPermit(for: endPoint, scopes: scopes, completion: results.add)
    clock.advance(by: .milliseconds(1))
    return try #require(try results.last?.get())
  }

  private func report(_ outcome: PermitOutcome, _ gate: EndPointGate, scopes: [RequestScope] = []) throws {
    let permit = try permit(gate, scopes: scopes)
    permit.report(outcome)
    permit.release()
  }

  @Test("a failure to connect is over with the first answer")
  func unreachable() throws {
    let gate = gate()
    // Otherwise the end-point becomes idle.
    let held = try permit(gate)
    #expect(!gate.isOnGuard)
    try report(.unreachable, gate)
    #expect(gate.isOnGuard)
    try report(.answered, gate)
    #expect(!gate.isOnGuard)
    held.release()
  }

  @Test("a 503 without a wait is over with the last response that it might be counted with")
  func unavailable() throws {
    let gate = gate()
    let held = try permit(gate)
    try report(.unavailable(), gate)
    for _ in 0..<63 { try report(.answered, gate) }
    #expect(gate.isOnGuard)
    try report(.answered, gate)
    #expect(!gate.isOnGuard)
    held.release()
  }

  @Test("a refusal is over a minute after the recovery, for a scope as for an end-point", arguments: [true, false])
  func refused(isScoped: Bool) throws {
    let gate = gate()
    let scopes: [RequestScope] = isScoped ? [.key("x")] : []
    let held = try permit(gate, scopes: scopes)
    try report(.refused(), gate, scopes: scopes)
    clock.advance(by: .seconds(1))
    for _ in 0..<100 { try report(.answered, gate, scopes: scopes) }
    // It has recovered. But if it refused again now, an interval between starts would follow.
    #expect(gate.isOnGuard)
    clock.advance(by: .seconds(60))
    try report(.answered, gate, scopes: scopes)
    #expect(!gate.isOnGuard)
    held.release()
    // It begins anew.
    try report(.refused(), gate, scopes: scopes)
    #expect(gate.isOnGuard)
  }

  @Test("a quota is over with an answer that tells none, after its time")
  func quota() throws {
    let gate = gate()
    let held = try permit(gate)
    let permit = try permit(gate)
    gate.note(.quota(remaining: 3, until: clock.now + .seconds(9)), of: permit.ticket, startedAt: clock.now)
    try report(.answered, gate)
    #expect(gate.isOnGuard)
    clock.advance(by: .seconds(9))
    let probe = try self.permit(gate)
    clock.advance(by: .seconds(9))
    probe.report(.answered)
    #expect(!gate.isOnGuard)
    for permit in [held, permit, probe] { permit.release() }
  }

  @Test("an end-point that is idle for a minute is forgotten, whatever it did")
  func forgotten() throws {
    let gate = gate()
    try report(.refused(), gate)
    clock.advance(by: .seconds(62))
    #expect(gate.isOnGuard)
    let elsewhere = Outcomes<Result<Permit, DispatchError>>()
    gate.requestPermit(for: try EndPoint(host: "elsewhere", port: 1), completion: elsewhere.add)
    #expect(!gate.isOnGuard)
    try elsewhere.last?.get().release()
  }

  @Test("while limits are learned, every answer matters; policies that are removed need none")
  mutating func policies() throws {
    let gate = gate()
    gate.updateLimits { $0.adaptive = AdaptivePolicy() }
    #expect(gate.isOnGuard)
    gate.updateLimits { $0.adaptive = nil }
    #expect(!gate.isOnGuard)
    try report(.refused(), gate)
    #expect(gate.isOnGuard)
    gate.updateLimits { ($0.pauses, $0.breaker) = (nil, nil) }
    #expect(!gate.isOnGuard)
  }
}
