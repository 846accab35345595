import HTTPTypes
import HeadgateDispatch
import HeadgateFlow
import HeadgateInstruments
import HeadgateTesting
import HeadgateThreads
import InMemoryTracing
import Testing
import Tracing

@Suite struct TracingObserverTests {
  private let tracer = InMemoryTracer()

  private func span(_ name: String) throws -> FinishedInMemorySpan {
    try #require(tracer.finishedSpans.first { $0.operationName == name })
  }

  private func texts(_ span: FinishedInMemorySpan) -> [String: String] {
    var texts: [String: String] = [:]
    span.attributes.forEach { name, value in
      switch value {
      case .string(let text): texts[name] = text
      case .int64(let number): texts[name] = "\(number)"
      case .double(let number): texts[name] = "\(number)"
      default: texts[name] = "?"
      }
    }
    return texts
  }

  private func seconds(_ span: FinishedInMemorySpan) -> Double {
    Double(span.endInstant.nanosecondsSinceEpoch - span.startInstant.nanosecondsSinceEpoch) / 1e9
  }

  @Test("a request is a client span under the caller's, with spans for its wait and its exchange")
  func tree() throws {
    let bench = try ObservedBench(requests: 1, TracingObserver(tracer: tracer))
    try bench.send("http://a.example/first")
    _ = try tracer.withSpan("caller") { _ in try bench.send("http://ada:pass@a.example/second?page=2#part") }
    bench.clock.advance(by: .seconds(2))
    try bench.exchange().respond()
    bench.clock.advance(by: .seconds(1))
    tracer.clearFinishedSpans()
    let caller = tracer.performedContextInjections.count
    #expect(caller == 2)
    try bench.exchange().respond(200)
    #expect(tracer.activeSpans.isEmpty)
    #expect(tracer.finishedSpans.map(\.operationName) == ["exchange", "GET"])
    let request = try span("GET")
    #expect(request.kind == .client)
    #expect(request.status == nil)
    #expect(seconds(request) == 3)
    #expect(
      texts(request) == [
        "http.request.method": "GET", "server.address": "a.example", "server.port": "80",
        "url.full": "http://a.example/second?page=REDACTED", "http.response.status_code": "200",
      ])
    let exchange = try span("exchange")
    #expect((exchange.kind, exchange.parentSpanID, exchange.traceID) == (.internal, request.spanID, request.traceID))
    #expect(seconds(exchange) == 1)
    #expect(exchange.events.map(\.name) == ["head"])
  }

  @Test("the wait has its own span, with its duration")
  func waiting() throws {
    let bench = try ObservedBench(requests: 1, TracingObserver(tracer: tracer))
    for _ in 0..<2 { try bench.send("http://a.example/") }
    bench.clock.advance(by: .seconds(2))
    try bench.exchange().respond()
    let waits = tracer.finishedSpans.filter { $0.operationName == "waiting" }
    #expect(waits.map { seconds($0) } == [0, 2])
    #expect(texts(waits[1])["headgate.waiting.reason"] == "submission")
    try bench.exchange().respond()
    #expect(waits[1].parentSpanID == tracer.finishedSpans.last?.spanID)
  }

  @Test("the caller's span is the parent, in a task too")
  func parent() async throws {
    let bench = try ObservedBench(
      transport: ScriptedTransport { $0.respond() }, TracingObserver(tracer: tracer))
    let parent = try await tracer.withSpan("caller") { span in
      _ = try await bench.dispatcher.data(for: "http://a.example/")
      return span.spanID
    }
    #expect(try span("GET").parentSpanID == parent)
  }

  @Test("the span's context is injected into the request's fields, and kept by redirects and retries")
  func injection() throws {
    let bench = try ObservedBench(TracingObserver(tracer: tracer))
    try bench.send("http://a.example/") {
      $0.headerFields[.accept] = "text/plain"
      $0.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(5)), budget: .none)
    }
    let name = try #require(HTTPField.Name(InMemoryTracer.spanIDKey))
    let first = try bench.exchange()
    let injected = try #require(first.request.headerFields[name])
    #expect(first.request.headerFields[.accept] == "text/plain")
    first.respond(302, [.location: "http://b.example/"])
    let second = try bench.exchange()
    #expect(second.request.headerFields[name] == injected)
    second.respond(503)
    bench.clock.advance(by: .seconds(5))
    let third = try bench.exchange()
    #expect(third.request.headerFields[name] == injected)
    third.respond()
    let request = try span("GET")
    #expect(request.spanID == injected)
    #expect(texts(request)["http.request.resend_count"] == "2")
    #expect(texts(request)["http.response.status_code"] == "200")
    let exchanges = tracer.finishedSpans.filter { $0.operationName == "exchange" }.map { texts($0) }
    #expect(exchanges.map { $0["http.request.resend_count"] } == [nil, "1", "2"])
    #expect(exchanges.map { $0["http.response.status_code"] } == ["302", "503", "200"])
    #expect(exchanges.map { $0["server.address"] } == ["a.example", "b.example", "b.example"])
    #expect(tracer.finishedSpans.map(\.operationName).contains("backoff"))
    #expect(tracer.performedContextInjections.count == 1)
  }

  @Test(
    "the span is an error by OpenTelemetry's rules: from status 400 on, and without a complete response",
    arguments: [100, 200, 302, 304, 399, 400, 404, 500, 503])
  func status(code: Int) throws {
    let bench = try ObservedBench(TracingObserver(tracer: tracer))
    try bench.send("http://a.example/")
    try bench.exchange().respond(code)
    let request = try span("GET")
    #expect(request.status?.code == (code >= 400 ? .error : nil))
    #expect(request.status?.message == nil)
    #expect(texts(request)["error.type"] == (code >= 400 ? "\(code)" : nil))
  }

  @Test("an error's code is its type, and the span has no part of its detail")
  func failure() throws {
    let bench = try ObservedBench(requests: 1, TracingObserver(tracer: tracer))
    try bench.send("http://a.example/")
    try bench.send("http://a.example/").cancel()
    try bench.exchange().end(DispatchError(.connectionLost, phase: .awaitingHead, detail: "hunter2"))
    let requests = tracer.finishedSpans.filter { $0.operationName == "GET" }
    #expect(requests.map { $0.status?.code } == [.error, .error])
    #expect(requests.map { texts($0)["error.type"] } == ["cancelled", "connection_lost"])
    #expect(requests.map { $0.status?.message } == ["cancelled, waiting", "connection_lost, awaiting_head"])
    #expect(requests.allSatisfy { texts($0)["http.response.status_code"] == nil && $0.errors.isEmpty })
    let waits = tracer.finishedSpans.filter { $0.operationName == "waiting" }
    #expect(waits.map { $0.status?.code } == [nil, .error])
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test("an unknown method is reported as unknown; query values are shown if they are named")
  func odd() throws {
    let bench = try ObservedBench(TracingObserver(tracer: tracer, shownQueryNames: ["page"]))
    try bench.send("http://a.example/?page=2&token=hunter2", try #require(.init("BREW")))
    try bench.exchange().respond()
    let request = texts(try span("HTTP"))
    #expect(request["http.request.method"] == "_OTHER")
    #expect(request["http.request.method_original"] == "BREW")
    #expect(request["url.full"] == "http://a.example/?page=2&token=REDACTED")
  }

  @Test("without its own tracer it uses the one in effect at the submission")
  func tracerInForce() throws {
    let bench = try ObservedBench(TracingObserver())
    try withTracer(tracer) { _ = try bench.send("http://a.example/") }
    let name = try #require(HTTPField.Name(InMemoryTracer.spanIDKey))
    let exchange = try bench.exchange()
    #expect(exchange.request.headerFields[name] != nil)
    exchange.respond()
    #expect(try span("GET").spanID == exchange.request.headerFields[name])
  }
}
