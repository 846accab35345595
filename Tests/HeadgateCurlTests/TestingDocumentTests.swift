import Headgate
import HeadgateFlow
import HeadgateOrigin
import HeadgateTesting
import Testing

// What docs/testing.md shows, as it stands there.

@Suite struct TestingDocumentTests {
  @Test("a transport that the test controls")
  func transport() async throws {
    let transport = ScriptedTransport()
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    let dispatcher = URLDispatcher(transport: transport, limits: limits)
    async let first = dispatcher.data(for: "http://example.com/1")
    let exchange = await transport.next()
    async let second = dispatcher.data(for: "http://example.com/2")
    exchange.respond(200, body: "one")
    await transport.next().respond(404)
    let statuses = try await [first.statusCode, second.statusCode]
    await dispatcher.shutDown()
    #expect(statuses == [200, 404] && transport.violations.isEmpty)
  }

  @Test("a clock that the test controls")
  func clock() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport()
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    var request = try DispatchRequest("http://example.com/slow")
    request.timeout = .seconds(10)
    let response = Task { [request] in try await dispatcher.data(for: request) }
    let exchange = await transport.next()
    await clock.timers(1)
    clock.advance(by: .seconds(10))
    await #expect(throws: DispatchError.self) { try await response.value }
    await exchange.cancelled.wait()
    await dispatcher.shutDown()
  }

  @Test("a counting server")
  func server() async throws {
    let server = try Origin(script: OriginScript(connectionLimit: 2))
    let dispatcher = try URLDispatcher(limits: GateLimits(endPoint: EndPointLimits(requests: 2)))
    let responses = try await allSucceed(0..<20) { _ in try await dispatcher.data(for: server.url("/bytes/9")) }
    await dispatcher.shutDown()
    #expect(responses.count == 20 && server.counts().refused == 0 && server.counts().peakSockets <= 2)
  }

  @Test("the document shows no other code")
  func document() throws {
    // Except the lines of a manifest.
    let manifest = Set(["name:", "dependencies:", ".testTarget(", ".product(name:", "])"])
    let missing = try DocumentedCode("testing.md").lines(missingIn: #filePath)
    #expect(missing.filter { line in !manifest.contains { line.hasPrefix($0) } } == [])
  }
}
