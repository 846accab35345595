import HeadgateDispatch
import HeadgateTesting
import Testing

/// A full end-point does not affect others.
@Suite struct FullEndPointTests {
  private let bench: Bench

  /// Two requests run at the end-point `full`, and ten thousand wait for it, which is the bound on waiting requests.
  init() throws {
    bench = try Bench(requests: 2, total: 3, waiting: 10_000, observers: [])
    for number in 0..<10_002 {
      var request = try bench.request(host: "full")
      request.priority = number % 2 == 0 ? .urgent : .normal
      bench.dispatcher.dispatch(request) { _ in }
    }
    #expect((bench.counts.running, bench.counts.waiting) == (2, 10_000))
    while bench.transport.takeStarted() != nil {}
  }

  @Test("D45 with ten thousand waiting for a full end-point a request to another starts inside its own submission")
  func startsAtOnce() async throws {
    var request = try bench.request(host: "other")
    request.priority = .background
    let responses = Responses()
    let operation = bench.send(request, into: responses)
    // Nothing was awaited and no clock has moved.
    #expect(operation.state == .running)
    let exchange = try #require(bench.transport.takeStarted())
    #expect(exchange.request.endPoint == request.endPoint)
    #expect(bench.counts.waiting == 10_000)
    exchange.respond()
    #expect(responses.count == 1)
    await bench.dispatcher.shutDown(.now)
    #expect(bench.isClean())
  }

  @Test("a request that waits for another end-point starts inside the end of the request that it waits for")
  func startsWhenFreed() async throws {
    // There is no room to wait while ten thousand do.
    bench.dispatcher.setLimits(try GateLimits(endPoint: EndPointLimits(requests: 1), total: 3, waiting: 10_001))
    let responses = Responses()
    bench.send(try bench.request(host: "other"), into: responses)
    let second = bench.send(try bench.request(host: "other"), into: responses)
    #expect(second.state == .waiting)
    (try #require(bench.transport.takeStarted())).respond()
    #expect(second.state == .running)
    #expect(bench.transport.takeStarted()?.request.endPoint.host == "other")
    await bench.dispatcher.shutDown(.now)
    #expect(bench.isClean())
  }
}
