import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Bare permits as the probes after a pause.
@Suite struct PermitProbeTests {
  private typealias Results = Outcomes<Result<Permit, DispatchError>>

  private let clock = ManualClock()
  private let endPoint: EndPoint

  init() throws { endPoint = try EndPoint(host: "a", port: 1) }

  private func ask(_ gate: EndPointGate, into results: Results) {
    gate.requestPermit(for: endPoint, completion: results.add)
  }

  /// A gate at which a pause of four seconds has just ended, with its first permit since. Others wait.
  private func probing(_ results: Results) throws -> (EndPointGate, Permit) {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 10))
    limits.pauses = PausePolicy(jitter: 0)
    let gate = EndPointGate(limits: limits, timers: clock, logger: .silent)
    let refused = Results()
    ask(gate, into: refused)
    clock.advance(by: .seconds(1))
    let permit = try #require(try refused.last?.get())
    gate.note(.refused(wait: .seconds(4), status: 429), of: permit.ticket, startedAt: clock.now)
    permit.release()
    for _ in 0..<8 { ask(gate, into: results) }
    clock.advance(by: .seconds(4))
    #expect(results.count == 1)
    return (gate, try #require(try results.last?.get()))
  }

  @Test("the release of a bare permit ends the probing: two at a time follow")
  func permitAsProbe() throws {
    let results = Results()
    let (gate, probe) = try probing(results)
    probe.release()
    #expect(results.count == 3)
    for result in results.values { try result.get().release() }
    #expect(gate.counts.running > 0)
  }

  @Test("a permit that is held for long makes room for another probe, after as long as the pause, then twice as long")
  func heldProbe() throws {
    let results = Results()
    let (gate, probe) = try probing(results)
    for (wait, count) in [(3_999, 1), (1, 2), (7_999, 2), (1, 3)] {
      clock.advance(by: .milliseconds(wait))
      #expect(results.count == count)
    }
    // The second is answered, the first is still held, and does not count against the others.
    try results.values[1].get().release()
    #expect(results.count > 3)
    _ = (gate, probe)
    for result in results.values { try result.get().release() }
  }
}
