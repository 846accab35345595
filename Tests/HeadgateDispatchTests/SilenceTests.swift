import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Which time limits apply to a response that takes long: by its destination.
@Suite struct SilenceTests {
  @Test("a stream that is silent for a minute and a half lives: the timeout ended with its head")
  func stream() async throws {
    let bench = try Bench()
    let request = try bench.request()
    async let response = bench.dispatcher.stream(for: request)
    let exchange = try await bench.transport.next()
    exchange.head()
    let body = try await response.body
    bench.clock.advance(by: .seconds(90))
    _ = exchange.body([1])
    exchange.end()
    #expect(try await body.collect(upTo: 10) == [1])
    #expect(bench.isClean())
  }

  @Test("a delegate's short request may last longer than its timeout, and fails after a minute of silence")
  func delegate() async throws {
    let bench = try Bench()
    let listener = Listener()
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head()
    for _ in 0..<3 {
      bench.clock.advance(by: .seconds(50))
      _ = exchange.body([1])
    }
    #expect(operation.state == .running)
    bench.clock.advance(by: .seconds(60))
    #expect(operation.error?.code == .idleTimedOut)
    await listener.calls.wait(for: 1)
    await bench.dispatcher.shutDown(.drain)
  }

  @Test("a timeout that covers the body, and a body in memory, end as before")
  func covered() async throws {
    let bench = try Bench(requests: 2)
    let listener = Listener()
    var request = try bench.request()
    request.timeoutEndsWithHead = false
    request.idleTimeout = nil
    let operation = bench.dispatcher.dispatchShort(request, delegate: listener)
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    for exchange in [try await bench.transport.next(), try await bench.transport.next()] { exchange.head() }
    bench.clock.advance(by: .seconds(60))
    #expect(operation.error?.code == .timedOut)
    #expect(responses.last?.code == .timedOut)
    await listener.calls.wait(for: 1)
    await bench.dispatcher.shutDown(.drain)
  }

  @Test("the usual limit on silence ends when a short request moves to the long lane")
  func movesToLong() async throws {
    let bench = try Bench(requests: 2, long: 1)
    let listener = Listener()
    let operation = bench.dispatcher.dispatchShort(try bench.request(), delegate: listener)
    let exchange = try await bench.transport.next()
    exchange.head()
    #expect(operation.moveToLong())
    bench.clock.advance(by: .seconds(90))
    #expect(operation.state == .running)
    exchange.end()
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }
}
