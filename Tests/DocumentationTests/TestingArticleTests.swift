import HTTPTypes
import Headgate
import HeadgateFlow
import HeadgateOrigin
import HeadgateTesting
import Testing

struct Catalogue {
  let dispatcher: URLDispatcher

  func title(of item: Int) async throws -> String {
    try await dispatcher.data(for: "http://shop.example/items/\(item)").text
  }
}

/// The code of the articles on testing.
@Suite struct TestingArticleTests {
  @Test("a transport that the test controls")
  func transport() async throws {
    let transport = ScriptedTransport()
    let catalogue = Catalogue(dispatcher: URLDispatcher(transport: transport))
    async let title = catalogue.title(of: 7)
    let exchange = try await transport.next()
    exchange.respond(200, body: "Pen")
    #expect(try await title == "Pen")
    #expect(exchange.request.url == "http://shop.example/items/7")
    #expect(transport.violations.isEmpty)
    let answering = ScriptedTransport { exchange in exchange.respond(200, body: exchange.request.url) }
    let echo = Catalogue(dispatcher: URLDispatcher(transport: answering))
    #expect(try await echo.title(of: 8) == "http://shop.example/items/8")
  }

  @Test("a transport under a limit of one: the second request starts when the first has its response")
  func limited() async throws {
    let transport = ScriptedTransport()
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    let dispatcher = URLDispatcher(transport: transport, limits: limits)
    async let first = dispatcher.data(for: "http://example.com/1")
    let exchange = try await transport.next()
    async let second = dispatcher.data(for: "http://example.com/2")
    exchange.respond(200, body: "one")
    try await transport.next().respond(404)
    let statuses = try await [first.statusCode, second.statusCode]
    await dispatcher.shutDown()
    #expect(statuses == [200, 404] && transport.violations.isEmpty)
  }

  @Test("a counting server")
  func server() async throws {
    let server = try Origin(script: OriginScript(connectionLimit: 2))
    let dispatcher = try URLDispatcher(perHost: 2)
    let responses = try await allSucceed(0..<20) { _ in try await dispatcher.data(for: server.url("/bytes/9")) }
    await dispatcher.shutDown()
    #expect(responses.count == 20 && server.counts().refused == 0 && server.counts().peakSockets <= 2)
  }

  @Test("a time-out on a clock that the test advances")
  func timeout() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport()
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    var request = try DispatchRequest("http://example.com/slow")
    request.timeout = .seconds(10)
    let response = Task { [request] in try await dispatcher.data(for: request) }
    let exchange = try await transport.next()
    try await clock.timers(1)
    clock.advance(by: .seconds(10))
    await #expect(throws: DispatchError.self) { try await response.value }
    try await exchange.cancelled.wait()
    await dispatcher.shutDown()
  }

  @Test("a retry")
  func retry() async throws {
    let (clock, transport) = (ManualClock(), ScriptedTransport())
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    var request = try DispatchRequest("http://retry.example/")
    request.timeout = nil
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(5)))
    let response = Task { [request] in try await dispatcher.data(for: request) }
    try await transport.next().respond(502)
    try await clock.timers(1)  // the wait before the second attempt
    clock.advance(by: .seconds(5))
    try await transport.next().respond(200)
    let status = try await response.value.statusCode
    #expect(status == 200 && clock.pendingCount == 0)
    await dispatcher.shutDown()
  }

  @Test("a pause")
  func pause() async throws {
    let (clock, transport) = (ManualClock(), ScriptedTransport())
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    var changed = try DispatchRequest("http://pause.example/")
    changed.timeout = nil
    let request = changed
    async let refused = dispatcher.data(for: request)
    try await transport.next().respond(429, [.retryAfter: "5"])
    let first = try await refused.statusCode
    async let accepted = dispatcher.data(for: request)
    try await clock.timers(1)  // the timer of the gate
    clock.advance(by: .seconds(6))
    try await transport.next().respond(200)
    let second = try await accepted.statusCode
    #expect(first == 429 && second == 200)
    await dispatcher.shutDown()
  }

  @Test("a rate")
  func rate() async throws {
    let (clock, transport) = (ManualClock(), ScriptedTransport())
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    var changed = try DispatchRequest("http://rate.example/")
    changed.timeout = nil
    let request = changed
    let paced = try EndPointLimits(requests: 4, rates: [.spaced(1, per: .seconds(30))])
    dispatcher.setLimits(paced, for: request.endPoint)
    async let now = dispatcher.data(for: request)
    try await transport.next().respond()
    async let later = dispatcher.data(for: request)
    try await clock.timers(1)
    clock.advance(by: .seconds(31))  // a rate keeps 2 % more than its period
    try await transport.next().respond()
    let both = try await [now.statusCode, later.statusCode]
    #expect(both == [200, 200])
    await dispatcher.shutDown()
  }

  @Test("the table of timers says how many a request sets")
  func timers() async throws {
    let (clock, transport) = (ManualClock(), ScriptedTransport())
    let dispatcher = URLDispatcher(transport: transport, timers: clock)
    var request = try DispatchRequest("http://timers.example/")
    request.deadline = .seconds(60)
    request.idleTimeout = .seconds(20)
    dispatcher.gate.stop(request.endPoint)
    dispatcher.dispatch(request) { _ in }
    #expect(clock.pendingCount == 1)
    dispatcher.gate.resume(request.endPoint)
    let exchange = try await transport.next()
    try await clock.timers(3)
    #expect(clock.pendingCount == 3)
    exchange.respond()
    try await clock.timers(atMost: 0)
    await dispatcher.shutDown()
  }
}
