import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// What a request waited for, as its times and errors say.
@Suite struct WaitTimesTests {
  private let responses = Responses()

  private func last() throws -> DispatchTimes { try #require(responses.last).get().times }

  @Test("a request that starts at once has waited for nothing, and one in the queue for the limit")
  func limit() throws {
    let bench = try Bench(requests: 1)
    for _ in 0..<2 { bench.send(try bench.request(), into: responses) }
    try #require(bench.transport.takeStarted()).respond()
    #expect(try last().waited.isEmpty)
    try #require(bench.transport.takeStarted()).respond()
    bench.clock.advance(by: .seconds(1))
    for _ in 0..<2 { bench.send(try bench.request(), into: responses) }
    bench.clock.advance(by: .seconds(3))
    for _ in 0..<2 { try #require(bench.transport.takeStarted()).respond() }
    #expect(try last().waited.description == "limit 3.0 s")
    #expect(try last().queued == .seconds(3))
    #expect(bench.isClean())
  }

  @Test("a request that ends in the queue has the causes of its wait in its error", arguments: [0, 1, 2])
  func ends(how: Int) throws {
    let bench = try Bench(requests: 1, waiting: 1, overflow: .dropOldest)
    bench.send(try bench.request(), into: responses)
    var request = try bench.request()
    if how == 0 { request.deadline = .seconds(5) }
    let operation = bench.send(request, into: responses)
    bench.clock.advance(by: .seconds(5))
    if how == 1 { operation.cancel() }
    // The queue has room for one.
    if how == 2 { bench.send(try bench.request(), into: responses) }
    let error = try #require(responses.last?.error)
    let codes: [DispatchError.Code] = [.deadlineExceeded, .cancelled, .displaced]
    #expect(error.code == codes[how])
    #expect(error.waited == .seconds(5) && error.waitTimes[.limit] == .seconds(5))
    #expect(error.waitTimes.total == .seconds(5) && operation.times?.waited == error.waitTimes)
    while let exchange = bench.transport.takeStarted() { exchange.respond() }
    #expect(bench.isClean())
  }

  @Test("a stop by hand, a socket, memory and bandwidth have their own causes, and a backoff none")
  func others() throws {
    let bench = try Bench(requests: 4)
    let endPoint = try bench.request().endPoint
    bench.dispatcher.gate.stop(endPoint)
    bench.send(try bench.request(), into: responses)
    bench.clock.advance(by: .seconds(7))
    bench.dispatcher.gate.resume(endPoint)
    let exchange = try #require(bench.transport.takeStarted())
    exchange.startSocketWait()
    bench.clock.advance(by: .seconds(2))
    exchange.endSocketWait()
    bench.clock.advance(by: .seconds(1))
    exchange.respond()
    #expect(try last().waited.description == "stopped 7.0 s, socket 2.0 s")
    #expect(try last().queued == .seconds(9))
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(8)), budget: .none)
    bench.send(request, into: responses)
    try #require(bench.transport.takeStarted()).end(DispatchError(.connectFailed, phase: .connecting))
    bench.clock.advance(by: .seconds(8))
    try #require(bench.transport.takeStarted()).respond()
    #expect(try last().waited.isEmpty && last().attempts == 2)
    #expect(bench.isClean())
  }

  @Test("a body that waits for memory counts that time")
  func memory() throws {
    let (clock, transport) = (ManualClock(), ScriptedTransport())
    let dispatcher = URLDispatcher(
      transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 3)), timers: clock,
      logger: .silent, maxBodyMemory: 250_000)
    var exchanges: [ScriptedExchange] = []
    for _ in 0..<3 {
      dispatcher.dispatch(try DispatchRequest("http://memory.example/")) { [responses] in responses.add($0) }
      let exchange = try #require(transport.takeStarted())
      exchange.head()
      exchanges.append(exchange)
    }
    let piece = [UInt8](repeating: 1, count: 100_000)
    #expect(exchanges.map { $0.body(piece) } == [.more, .more, .pause])
    clock.advance(by: .seconds(6))
    for exchange in exchanges { exchange.end() }
    #expect(try last().waited.description == "memory 6.0 s")
  }

  @Test("a body that waits for its turn under a bandwidth limit counts that time")
  func bandwidth() throws {
    let bench = try Bench(transport: ScriptedTransport(capabilities: .backPressure))
    bench.dispatcher.gate.updateLimits { $0.bandwidth = 1_000 }
    bench.send(try bench.request(), into: responses)
    let exchange = try #require(bench.transport.takeStarted())
    exchange.head()
    while exchange.body([UInt8](repeating: 1, count: 500)) == .more {}
    bench.clock.advance(by: .seconds(5))
    exchange.end()
    let times = try last()
    #expect(times.queued > .zero && times.waited[.bandwidth] == times.queued && times.waited.total == times.queued)
    bench.dispatcher.dispose()
  }

  @Test("two limits that bind in turn share the wait as they did")
  func inTurn() throws {
    let bench = try Bench(requests: 2, total: 3, rates: [.spaced(1, per: .seconds(1))])
    // The rate holds the second back for a second and its fiftieth, and the limit the third.
    let interval = Duration.milliseconds(1_020)
    for _ in 0..<3 { bench.send(try bench.request(), into: responses) }
    let first = try #require(bench.transport.takeStarted())
    bench.clock.advance(by: interval)
    let second = try #require(bench.transport.takeStarted())
    bench.clock.advance(by: .seconds(10) - interval)
    second.respond()
    #expect(try last().waited.all.map(\.kind) == [.rate] && last().waited[.rate] == interval)
    let third = try #require(bench.transport.takeStarted())
    first.respond()
    third.respond()
    let waited = try last().waited
    #expect(waited.total == .seconds(10) && waited[.rate] == interval)
    #expect(waited[.limit] == .seconds(10) - interval)
    #expect(bench.dispatcher.gate.snapshot().waited.total == .seconds(10) + interval)
    #expect(bench.isClean())
  }
}
