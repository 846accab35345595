import CoreMetrics
import HTTPTypes
import HeadgateDispatch
import HeadgateFlow
import HeadgateInstruments
import HeadgateTesting
import HeadgateThreads
import MetricsTestKit
import Testing

@Suite struct MetricsObserverTests {
  private let metrics = TestMetrics()

  private func place(_ host: String = "a.example", _ port: Int = 80) -> [(String, String)] {
    [("server.address", host), ("server.port", "\(port)")]
  }

  private func get(_ host: String = "a.example") -> [(String, String)] {
    [("http.request.method", "GET")] + place(host)
  }

  private func outcome(_ status: Int? = nil, _ error: String? = nil) -> [(String, String)] {
    get() + (status.map { [("http.response.status_code", "\($0)")] } ?? [])
      + (error.map { [("error.type", $0)] } ?? [])
  }

  @Test("the time in the queue and the whole duration are recorded, and waiting and running requests are counted")
  func times() throws {
    let bench = try ObservedBench(requests: 1, MetricsObserver(factory: metrics))
    try bench.send("http://a.example/1")
    try bench.send("http://a.example/2?secret=x")
    let active = try metrics.expectMeter("http.client.active_requests", get())
    let queue = try metrics.expectMeter("headgate.client.queue.length", place())
    #expect((active.lastValue, queue.lastValue) == (1, 1))
    #expect(try metrics.expectMeter("headgate.client.limit", place()).lastValue == 1)
    bench.clock.advance(by: .seconds(2))
    try bench.exchange().respond()
    #expect((active.lastValue, queue.lastValue) == (1, 0))
    #expect((active.values.max(), queue.values.max()) == (1, 1))
    bench.clock.advance(by: .seconds(1))
    try bench.exchange().respond()
    #expect((active.lastValue, queue.lastValue) == (0, 0))
    let second: Int64 = 1_000_000_000
    #expect(try metrics.expectTimer("http.client.request.time_in_queue", get()).values == [0])
    let waited = get() + [("headgate.wait.reason", "limit")]
    #expect(try metrics.expectTimer("http.client.request.time_in_queue", waited).values == [2 * second])
    let cause = get() + [("cause", "limit")]
    #expect(try metrics.expectTimer("headgate.client.request.waited", cause).values == [2 * second])
    #expect(metrics.timers(label: "headgate.client.request.waited").count == 1)
    let durations = try metrics.expectTimer("http.client.request.duration", outcome(200))
    #expect(durations.values == [2 * second, 3 * second])
    #expect(durations.displayUnit == .seconds)
  }

  @Test(
    "an error is counted by its code, a status from 400 by itself; a cancellation in the queue decrements the count")
  func errors() throws {
    let bench = try ObservedBench(requests: 1, MetricsObserver(factory: metrics))
    try bench.send("http://a.example/")
    try bench.send("http://a.example/").cancel()
    try bench.exchange().respond(404)
    try bench.send("http://a.example/")
    try bench.exchange().end(DispatchError(.connectionLost, phase: .awaitingHead))
    try bench.send("http://a.example/")
    try bench.exchange().respond(399)
    for expected in [outcome(nil, "cancelled"), outcome(404, "404"), outcome(nil, "connection_lost"), outcome(399)] {
      #expect(try metrics.expectTimer("http.client.request.duration", expected).values.count == 1)
    }
    #expect(metrics.timers(label: "http.client.request.duration").count == 4)
    #expect(try metrics.expectMeter("headgate.client.queue.length", place()).lastValue == 0)
    #expect(try metrics.expectMeter("http.client.active_requests", get()).lastValue == 0)
  }

  @Test("refused and displaced requests are counted separately")
  func refusals() throws {
    let bench = try ObservedBench(requests: 1, waiting: 1, overflow: .dropOldest, MetricsObserver(factory: metrics))
    for _ in 0..<4 { try bench.send("http://a.example/") }
    #expect(
      try metrics.expectCounter("headgate.client.requests.displaced", outcome(nil, "displaced")).totalValue == 2)
    let full = try ObservedBench(requests: 1, waiting: 0, MetricsObserver(factory: metrics))
    for _ in 0..<2 { try full.send("http://a.example/") }
    full.dispatcher.dispose()
    #expect(
      try metrics.expectCounter("headgate.client.requests.refused", outcome(nil, "refused")).totalValue == 1)
    bench.dispatcher.dispose()
    #expect(try metrics.expectMeter("headgate.client.queue.length", place()).lastValue == 0)
    #expect(try metrics.expectMeter("http.client.active_requests", get()).lastValue == 0)
  }

  @Test("a redirect and a retry count at the end-point of each exchange, and the duration once, at the last one")
  func hops() throws {
    let bench = try ObservedBench(MetricsObserver(factory: metrics))
    try bench.send("http://a.example/", .post) {
      $0.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(5)), budget: .none)
    }
    try bench.exchange().respond(302, [.location: "https://b.example/"])
    let there = try metrics.expectMeter("http.client.active_requests", get().dropLast(2) + place("b.example", 443))
    #expect(there.lastValue == 1)
    try bench.exchange().respond(503)
    #expect(there.lastValue == 0)
    bench.clock.advance(by: .seconds(5))
    try bench.exchange().respond(200)
    #expect(there.lastValue == 0)
    #expect(there.values.max() == 1)
    let durations = metrics.timers(label: "http.client.request.duration")
    #expect(durations.map(\.values) == [[5_000_000_000]])
    // A backoff is not a wait for a permit.
    let waits = metrics.timers(label: "http.client.request.time_in_queue").flatMap(\.values)
    #expect(waits == [0, 0, 0])
  }

  @Test("the attributes are bounded: further end-points, unknown methods and unusual statuses have one value each")
  func cardinality() throws {
    let bench = try ObservedBench(requests: 4, MetricsObserver(factory: metrics, maxEndPoints: 2))
    for number in 0..<20 {
      try bench.send("http://host\(number % 10)/\(number)?\(number)", try #require(.init("M\(number)")))
      try bench.exchange().respond(600 + number)
    }
    let durations = metrics.timers(label: "http.client.request.duration")
    #expect(durations.count == 3)
    let seen = Set(durations.flatMap { $0.dimensions.map { "\($0.0)=\($0.1)" } })
    #expect(
      seen == [
        "http.request.method=_OTHER", "server.address=host0", "server.address=host1", "server.port=80",
        "server.address=_OTHER", "error.type=_OTHER",
      ])
    #expect(metrics.meters(label: "headgate.client.limit").count == 3)
  }

  @Test("many concurrent threads leave every count at zero")
  func threads() async throws {
    let bench = try ObservedBench(
      requests: 3, waiting: 10_000, transport: ScriptedTransport { $0.respond() }, MetricsObserver(factory: metrics))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for number in 0..<50 {
            _ = try? await bench.dispatcher.data(for: DispatchRequest("http://host\(number % 3)/"))
          }
        }
      }
    }
    await bench.dispatcher.shutDown()
    for label in ["http.client.active_requests", "headgate.client.queue.length"] {
      #expect(metrics.meters(label: label).map(\.lastValue) == [0, 0, 0])
    }
    #expect(metrics.timers(label: "http.client.request.duration").map(\.values.count).reduce(0, +) == 400)
  }
}
