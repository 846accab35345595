import HTTPTypes
import Headgate
import HeadgateOrigin
import HeadgateTesting
import Synchronization
import Testing

/// The code of the articles on limits, pauses and streams.
@Suite struct LimitsArticleTests {
  private let printed = Printed()
  private func print(_ items: Any...) { printed.add(items) }
  private func show(_ text: String) { printed.add([text]) }

  private final class Received: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add(_ result: Result<DispatchResponse, DispatchError>) { count.withLock { $0 += 1 } }
  }

  @Test("limits and lanes")
  func limits() async throws {
    let (transport, received) = (ScriptedTransport(), Received())
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 4, long: 2), total: 200)
    limits.rules[try HostPattern("*.example.com")] = try EndPointLimits(requests: 2)
    limits.overrides[try EndPoint("https://api.example.com")] = try EndPointLimits(requests: 8)
    let dispatcher = URLDispatcher(transport: transport, limits: limits)
    let head = Task {
      let ticker = try await dispatcher.stream(for: "https://api.example.com/ticker", lane: .long)
      ticker.body.cancel()
      return ticker.statusCode
    }
    try await transport.next().head(200)
    #expect(try await head.value == 200)
    dispatcher.setLimits(try EndPointLimits(requests: 16), for: try EndPoint("https://api.example.com"))
    dispatcher.updateLimits { $0.endPoint.long = 3 }
    #expect(dispatcher.limits.endPoint.long == 3)
    let bounded = try GateLimits(waiting: 1_000, overflow: .wait)
    dispatcher.setLimits(bounded)
    let request = try DispatchRequest("http://paused.example/")
    dispatcher.gate.stop(request.endPoint)
    let operation = dispatcher.dispatch(request) { result in received.add(result) }
    if let reason = operation.waitReason { print("waits for", reason) }
    print(dispatcher.snapshot())
    #expect(printed.text.hasPrefix("waits for stopped\n"))
    await dispatcher.shutDown(.now)
    #expect(received.value == 1)
  }

  @Test("pauses")
  func pauses() async throws {
    let transport = ScriptedTransport { exchange in exchange.respond(429, [.retryAfter: "12"]) }
    let (clock, received) = (ManualClock(), Received())
    var limits = GateLimits.standard
    limits.pauses = PausePolicy(jitter: 0)
    let dispatcher = URLDispatcher(transport: transport, limits: limits, timers: clock)
    let request = try DispatchRequest("http://pauses.example/")
    let refused = try await dispatcher.data(for: request)
    let operation = dispatcher.dispatch(request) { result in received.add(result) }
    print(refused.statusCode, "then:", operation.waitReason.map(\.description) ?? "runs")
    #expect(
      printed.text == """
        429 then: paused 12.0 s by 429
        """)
    dispatcher.updateLimits { limits in limits.pauses = PausePolicy(maxPause: .seconds(60)) }
    await dispatcher.shutDown(.now)
    var fields = RateLimitFields.standard
    fields.waits.append(.init("X-Backoff-Ms", numbers: .milliseconds))
    let extended = URLDispatcher(transport: transport, rateLimitFields: fields)
    await extended.shutDown()
    #expect(received.value == 1)
  }

  @Test("rates and weights")
  func rates() async throws {
    let transport = ScriptedTransport { $0.respond() }
    let dispatcher = URLDispatcher(transport: transport, timers: ManualClock())
    var request = try DispatchRequest("https://api.example.com")
    let paced = try EndPointLimits(
      requests: 4, rates: [.spaced(10, per: .seconds(1)), .rolling(500, per: .seconds(60))])
    dispatcher.setLimits(paced, for: try EndPoint("https://api.example.com"))
    #expect(try Rate("10/s") == paced.rates[0] && Rate("500/min") == paced.rates[1])
    let budgeted = try EndPointLimits(requests: 8, budgets: [Budget("tokens", units: 90_000, per: .seconds(60))])
    dispatcher.setLimits(budgeted, for: try EndPoint("https://api.example.com"))
    request.weights = ["tokens": 4_000]
    let reply = try await dispatcher.data(for: request)
    reply.settle(["tokens": 1_250])
    dispatcher.updateLimits { limits in limits.adaptive = AdaptivePolicy() }
    #expect(dispatcher.limits.adaptive != nil)
    await dispatcher.shutDown()
  }

  @Test("a stream beside a short request")
  func streams() async throws {
    let server = try Origin()
    let dispatcher = try URLDispatcher(limits: GateLimits(endPoint: EndPointLimits(requests: 2, long: 1)))
    let endless = server.url("/stream?chunks=0&every=10")
    let stream = try await dispatcher.stream(for: endless, lane: .long)
    let page = try await dispatcher.data(for: server.url("/bytes/100"))
    print("a page of", page.body.count, "bytes beside a stream")
    stream.body.cancel()
    #expect(
      printed.text == """
        a page of 100 bytes beside a stream
        """)
    await dispatcher.shutDown()
  }

  @Test("lines and events")
  func linesAndEvents() async throws {
    let server = try Origin(
      script: OriginScript { _ in
        var answer = OriginAnswer.text("data: a\n\ndata: [DONE]\n\n")
        answer.headers = [OriginHeader("Content-Type", "text/event-stream")]
        return answer
      })
    let (url, dispatcher) = (server.url("/"), try URLDispatcher())
    for try await line in try await dispatcher.stream(for: url, lane: .long).body.lines() {
      show(line)
    }
    for try await event in dispatcher.events(from: url) {
      show(event.data)
      if event.data == "[DONE]" { break }
    }
    #expect(printed.text == "data: a\n\ndata: [DONE]\n\na\n[DONE]")
    let unknown = try await dispatcher.stream(for: url)
    if unknown.headerFields[.contentType] == "text/event-stream" {
      unknown.body.moveToLong()
    }
    #expect(try await unknown.body.collect(upTo: 1000).count == 23)
    await dispatcher.shutDown()
  }
}
