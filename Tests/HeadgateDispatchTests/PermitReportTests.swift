import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// What the holders of bare permits report about their work.
@Suite struct PermitReportTests {
  private typealias Results = Outcomes<Result<Permit, DispatchError>>

  private let clock = ManualClock()
  private let endPoint: EndPoint
  private var limits: GateLimits

  init() throws {
    endPoint = try EndPoint(host: "db", port: 1)
    limits = try GateLimits(endPoint: EndPointLimits(requests: 10))
    limits.pauses = PausePolicy(jitter: 0)
  }

  private func gate(_ book: LogBook = LogBook()) -> EndPointGate {
    EndPointGate(limits: limits, timers: clock, logger: book.logger())
  }

  private func permit(_ gate: EndPointGate, scopes: [RequestScope] = []) throws -> Permit {
    let results = Results()
    gate.requestPermit(for: endPoint, scopes: scopes, completion: results.add)
    clock.advance(by: .milliseconds(1))
    return try #require(try results.last?.get())
  }

  @Test("a reported refusal pauses the end-point for as long as it asks; requests that can't wait that long end")
  func refused() throws {
    let (book, others, waiting, hasty) = (LogBook(), Results(), Results(), Results())
    let gate = gate(book)
    let permit = try permit(gate)
    for _ in 0..<9 { gate.requestPermit(for: endPoint, completion: others.add) }
    let patient = gate.requestPermit(for: endPoint, completion: waiting.add)
    gate.requestPermit(for: endPoint, deadline: .seconds(3), completion: hasty.add)
    permit.report(.refused(retryAfter: .seconds(5)))
    #expect(hasty.last?.code == .pausedUntil && hasty.last?.error?.waitReason?.description == "paused 5.0 s")
    #expect(book.lines.values.contains("db:1: paused 5.0 s"))
    permit.release()
    for other in others.values { try other.get().release() }
    #expect(waiting.count == 0 && patient.waitReason?.description == "paused 5.0 s")
    clock.advance(by: .seconds(5))
    #expect(waiting.count == 1)
  }

  @Test("an answer lets the recovery widen, once, however long its permit is held")
  func answered() throws {
    let (gate, results) = (gate(), Results())
    let refused = try permit(gate)
    refused.report(.refused(retryAfter: .seconds(4)))
    refused.release()
    for _ in 0..<9 { gate.requestPermit(for: endPoint, completion: results.add) }
    clock.advance(by: .seconds(4))
    #expect(results.count == 1)
    let probe = try #require(try results.last?.get())
    probe.report(.answered)
    #expect(results.count == 2)
    // The release is no second answer: it only makes room.
    clock.advance(by: .seconds(2))
    #expect(results.count == 2)
    probe.release()
    #expect(results.count == 3)
    for result in results.values { try result.get().release() }
  }

  @Test("what was reported as unreachable trips the breaker, though the permits are released")
  mutating func unreachable() throws {
    limits.breaker = BreakerPolicy(failures: 3, initialSuspension: .seconds(2), jitter: 0)
    let (gate, results) = (gate(), Results())
    for number in 1...3 {
      let permit = try permit(gate)
      permit.report(.unreachable)
      permit.release()
      // An answer begins the count anew.
      if number == 1 { try self.permit(gate).report(.answered) }
      if number == 1 { try self.permit(gate).report(.unreachable) }
    }
    let request = gate.requestPermit(for: endPoint, completion: results.add)
    #expect(request.waitReason?.description == "unreachable, next try in 2.0 s" && results.count == 0)
    clock.advance(by: .seconds(2))
    #expect(results.count == 1)
  }

  @Test("three reports that it is unavailable pause the end-point; one that names a wait does so alone")
  func unavailable() throws {
    for (wait, needed) in [(nil, 3), (.zero, 3), (.seconds(7), 1)] as [(Duration?, Int)] {
      let gate = gate()
      for number in 1...needed {
        #expect(gate.counts.running == 0)
        let permit = try permit(gate, scopes: [.key("x")])
        permit.report(.unavailable(retryAfter: wait))
        permit.release()
        let next = gate.requestPermit(for: endPoint) { _ = try? $0.get().release() }
        // Other keys wait as well: nobody is served.
        let words = wait == .seconds(7) ? "paused 7.0 s" : "paused 1.0 s"
        #expect(next.waitReason?.description == (number == needed ? words : nil))
      }
      clock.advance(by: .seconds(8))
    }
  }

  @Test("a refusal pauses the first scope of the permit, and a quiet release does not end the pause")
  func scope() throws {
    let (gate, same, other) = (gate(), Results(), Results())
    let permit = try permit(gate, scopes: [.key("x")])
    permit.report(.refused())
    permit.release()
    gate.requestPermit(for: endPoint, scopes: [.key("x")], completion: same.add)
    gate.requestPermit(for: endPoint, scopes: [.key("y")], completion: other.add)
    #expect(same.count == 0 && other.count == 1)
    #expect(gate.snapshot().description.contains("paused 1.0 s\n"))
    clock.advance(by: .seconds(1))
    #expect(same.count == 1)
  }

  @Test("several reports of one permit each count, but none about the time before the last pause")
  func several() throws {
    let (gate, results) = (gate(), Results())
    let (old, permit) = (try permit(gate), try permit(gate))
    permit.report(.answered)
    permit.report(.refused(retryAfter: .seconds(2)))
    permit.report(.refused(retryAfter: .seconds(60)))
    old.report(.refused(retryAfter: .seconds(60)))
    old.report(.answered)
    let next = gate.requestPermit(for: endPoint, completion: results.add)
    #expect(next.waitReason?.description == "paused 2.0 s")
    clock.advance(by: .seconds(2))
    #expect(results.count == 1)
  }

  @Test("a report after the release has no effect, nor one at a gate without pauses, breaker and learning")
  mutating func without() throws {
    let late = try permit(gate())
    let gate = gate()
    let permit = try permit(gate)
    permit.release()
    permit.report(.refused(retryAfter: .seconds(9)))
    try self.permit(gate).release()
    limits.pauses = nil
    let other = self.gate()
    for outcome in [.refused(), .unavailable(), .unreachable, .answered] as [PermitOutcome] {
      let permit = try self.permit(other, scopes: [.key("x")])
      permit.report(outcome)
      permit.release()
    }
    #expect(!other.isOnGuard)
    late.release()
  }

  @Test("a learned limit falls by a report, and the log names no status")
  mutating func learned() throws {
    limits.adaptive = AdaptivePolicy(initialRequests: 4)
    let (book, permits) = (LogBook(), Results())
    let gate = gate(book)
    for _ in 0..<4 { gate.requestPermit(for: endPoint, completion: permits.add) }
    clock.advance(by: .seconds(1))
    try #require(try permits.last?.get()).report(.refused())
    #expect(book.lines.values.contains("db:1: limit 4 -> 2 learned by a refusal"))
    for permit in permits.values { try permit.get().release() }
  }
}
