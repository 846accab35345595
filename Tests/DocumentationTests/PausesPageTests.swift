import Foundation
import Headgate
import HeadgateCurl
import Testing

/// The code of docs/pauses.md. That for bare permits is in `TimeAndPermitTests`.
@Suite struct PausesPageTests {
  @Test("pauses are on by default")
  func standard() async throws {
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 6))  // pauses: PausePolicy(), the default
    let dispatcher = URLDispatcher(transport: try CurlTransport(), limits: limits)
    #expect(dispatcher.limits.pauses == PausePolicy())
    await dispatcher.shutDown()
  }

  @Test("other policies")
  func policies() {
    var limits = GateLimits.standard
    limits.pauses = PausePolicy(maxPause: .seconds(60))  // wait a minute at most, whatever a server asks
    limits.pauses = nil  // never pause; also ends the pauses in force
    limits.breaker = BreakerPolicy(failures: 3, probes: 3)  // nil unless set
    #expect(limits.pauses == nil && limits.breaker != nil)
    let patient = PausePolicy(patience: .seconds(15 * 60))
    #expect(PausePolicy().patience == nil && patient.patience == .seconds(900))
  }

  @Test("further fields")
  func fields() async throws {
    var fields = RateLimitFields.standard
    fields.waits.append(.init("X-Backoff-Ms", numbers: .milliseconds))
    fields.quotas.append(.init(of: "credits", remaining: "X-Credits-Left", reset: [.init("X-Credits-Reset")]))
    fields.quotas.removeAll { $0.unit == "output-tokens" }
    let extended = URLDispatcher(transport: try CurlTransport(), rateLimitFields: fields)
    #expect(fields.quotas.last?.unit == "credits" && fields.waits.count == RateLimitFields.standard.waits.count + 1)
    await extended.shutDown()
  }

  @Test("a state outlives the process")
  func state() async throws {
    let home = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: home) }
    let limits = GateLimits.standard
    let state = GateState(folder: home + "/.local/state/headgate")
    let dispatcher = URLDispatcher(transport: try CurlTransport(), limits: limits, state: state)
    #expect(dispatcher.gate.counts.running == 0)
    await dispatcher.shutDown()
  }
}
