import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// A bandwidth limit where it meets a request's other rules. The division itself is tested in the gate.
@Suite struct BandwidthTests {
  private let piece = [UInt8](repeating: 1, count: 1000)

  private func bench(bytesPerSecond: Int? = 1000) throws -> Bench {
    let bench = try Bench(requests: 6, transport: ScriptedTransport(capabilities: .backPressure))
    bench.dispatcher.gate.updateLimits { $0.bandwidth = bytesPerSecond }
    return bench
  }

  @Test("a response that has used the bandwidth waits: no time limit but the deadline runs meanwhile")
  func waits() async throws {
    let bench = try bench()
    let responses = Responses()
    var request = try bench.request()
    (request.timeout, request.idleTimeout) = (.seconds(10), .seconds(5))
    request.minimumSpeed = TransferSpeed(bytesPerSecond: 1_000_000, over: .seconds(2))
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    #expect(exchange.head() == .more)
    // A hundred seconds' worth at once.
    #expect(exchange.body([UInt8](repeating: 1, count: 100_000)) == .pause)
    bench.clock.advance(by: .milliseconds(99_900))
    #expect(responses.count == 0 && !exchange.resumed.isOpen)
    bench.clock.advance(by: .milliseconds(100))
    #expect(exchange.resumed.isOpen)
    exchange.end()
    let response = try #require(try responses.last?.get())
    #expect(response.times.queued >= .seconds(99))
    #expect(bench.isClean())
  }

  @Test("a response waits before its first byte too, unless it brings none")
  func head() async throws {
    let bench = try bench()
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    let first = try await bench.transport.next()
    first.respond(body: String(repeating: "a", count: 1000))
    bench.send(try bench.request(), into: responses)
    let empty = try await bench.transport.next()
    #expect(empty.head(200, [.contentLength: "0"]) == .more)
    empty.end()
    bench.send(try bench.request(), into: responses)
    let second = try await bench.transport.next()
    #expect(second.head(200, [.contentLength: "1000"]) == .pause)
    bench.clock.advance(by: .seconds(1))
    #expect(second.resumed.isOpen)
    // With its last byte, nothing is left to wait for.
    #expect(second.body(piece) == .more)
    second.end()
    #expect(responses.values.compactMap { try? $0.get().body.count } == [1000, 0, 1000])
    #expect(bench.isClean())
  }

  @Test(
    "a response continues when its turn has come and its consumer has room, in either order", arguments: [true, false])
  func both(turnIsFirst: Bool) async throws {
    let bench = try bench(bytesPerSecond: 1_000_000)
    async let started = bench.dispatcher.stream(for: try bench.request())
    let exchange = try await bench.transport.next()
    #expect(exchange.head() == .more)
    // More than a stream keeps for its reader.
    #expect(exchange.body([UInt8](repeating: 1, count: 1_000_000)) == .pause)
    var body = try await started.body.makeAsyncIterator()
    if turnIsFirst {
      bench.clock.advance(by: .seconds(1))
      #expect(!exchange.resumed.isOpen)
      #expect(try await body.next()?.count == 1_000_000)
    } else {
      #expect(try await body.next()?.count == 1_000_000)
      #expect(!exchange.resumed.isOpen)
      bench.clock.advance(by: .seconds(1))
    }
    #expect(exchange.resumed.isOpen)
    exchange.end()
    #expect(try await body.next() == nil)
    #expect(await bench.isCleanAtLast())
  }

  @Test("a request that is cancelled while it waits ends at once, and keeps no other from its turn")
  func cancelled() async throws {
    let bench = try bench()
    let responses = Responses()
    let operation = bench.send(try bench.request(), into: responses)
    let exchange = try await bench.transport.next()
    #expect(exchange.head() == .more && exchange.body(piece) == .pause)
    bench.send(try bench.request(), into: responses)
    let other = try await bench.transport.next()
    #expect(other.head() == .pause)
    operation.cancel()
    #expect(responses.last?.code == .cancelled && exchange.isCancelled)
    bench.clock.advance(by: .seconds(1))
    #expect(other.resumed.isOpen && !exchange.resumed.isOpen)
    other.end()
    #expect(bench.isClean())
  }

  @Test("a request's body waits where the transport reads it, and the server is not called silent")
  func upload() async throws {
    let bench = try bench()
    let responses = Responses()
    var request = try bench.request()
    request.method = .put
    request.body = RequestBody([UInt8](repeating: 1, count: 3000))
    (request.timeout, request.idleTimeout) = (.seconds(10), .milliseconds(500))
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    let source = try #require(exchange.exchange.body)
    let ready = Outcomes<Void>()
    var buffer = [UInt8](repeating: 0, count: 1500)
    func read() -> BodyRead { buffer.withUnsafeMutableBytes { source.read(into: $0) { ready.add(()) } } }
    #expect(read() == .bytes(1500))
    #expect(read() == .wait)
    bench.clock.advance(by: .milliseconds(1480))
    #expect(ready.count == 0 && responses.count == 0)
    bench.clock.advance(by: .milliseconds(20))
    #expect(ready.count == 1)
    #expect(read() == .bytes(1500))
    // The response waits for what the request's body has used.
    #expect(exchange.head() == .pause)
    bench.clock.advance(by: .milliseconds(1500))
    #expect(exchange.resumed.isOpen && responses.count == 0)
    exchange.end()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }

  @Test("a request's body that is stopped by the response does not wait for its turn", arguments: [false, true])
  func stoppedUpload(isCancelled: Bool) async throws {
    let bench = try bench()
    let responses = Responses()
    let body = RequestBody([UInt8](repeating: 1, count: 300_000))
    let request = try DispatchRequest("http://a/", method: .put, body: body)
    let operation = bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    let source = try #require(exchange.exchange.body)
    #expect(source.whole == nil && source.length == 300_000, "sent piece by piece, though it is in memory")
    let ready = Outcomes<Void>()
    var buffer = [UInt8](repeating: 0, count: 100_000)
    func read() -> BodyRead { buffer.withUnsafeMutableBytes { source.read(into: $0) { ready.add(()) } } }
    #expect(read() == .bytes(100_000) && read() == .wait)
    if isCancelled { operation.cancel() } else { #expect(exchange.head(403, [.contentLength: "0"]) == .more) }
    #expect(ready.count == 1 && read() == .failed)
    exchange.end()
    #expect(responses.count == 1)
    // Without another transfer, nothing waits for what was sent.
    #expect(bench.isClean())
  }

  @Test("bytes that a transport gathers first count when they are sent, also those that are sent again")
  func gathered() async throws {
    let bench = try bench()
    let responses = Responses()
    let request = try DispatchRequest("http://a/", method: .put, body: RequestBody([UInt8](repeating: 1, count: 100)))
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    let source = try #require(exchange.exchange.body)
    let ready = Outcomes<Void>()
    var buffer = [UInt8](repeating: 0, count: 1000)
    func take() -> BodyRead { buffer.withUnsafeMutableBytes { source.take(into: $0) { ready.add(()) } } }
    for _ in 0..<2 {
      #expect(take() == .bytes(100) && take() == .end)
      source.sent(100)
      #expect(source.rewind() && take() == .wait)
      bench.clock.advance(by: .milliseconds(100))
      #expect(ready.count > 0)
    }
    exchange.respond()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }

  @Test("a transport that delivers more though it was told to pause is resumed all the same")
  func afterThePause() async throws {
    let bench = try bench()
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    let exchange = try await bench.transport.next()
    #expect(exchange.head(200, [.contentLength: "2000"]) == .more)
    #expect(exchange.body(piece) == .pause)
    #expect(exchange.body(piece) == .more && exchange.resumed.isOpen)
    exchange.end()
    #expect(try responses.last?.get().body.count == 2000)
    #expect(bench.isClean())
  }

  @Test("nothing is kept of a request that is over, wherever its exchange ended", arguments: [false, true])
  func leak(endsInsideStart: Bool) async throws {
    final class Marker: Sendable {}
    weak var marker: Marker?
    @Sendable func respond(_ exchange: ScriptedExchange) { exchange.respond(body: "ok") }
    let transport = ScriptedTransport(capabilities: .backPressure, answer: endsInsideStart ? respond : nil)
    let bench = try Bench(requests: 6, transport: transport)
    bench.dispatcher.gate.updateLimits { $0.bandwidth = 1_000_000 }
    do {
      let responses = Responses()
      for method in [HTTPRequest.Method.get, .put] {
        let held = Marker()
        marker = held
        var request = try DispatchRequest("http://a/", method: method, body: method == .put ? RequestBody("text") : nil)
        request.onUploadProgress = { _ in withExtendedLifetime(held) {} }
        bench.send(request, into: responses)
        if !endsInsideStart { respond(try await transport.next()) }
        #expect(try responses.last?.get().text == "ok")
      }
    }
    #expect(marker == nil)
    #expect(bench.isClean())
  }

  @Test("a redirect to an end-point without a limit is not limited")
  func redirect() async throws {
    let bench = try bench(bytesPerSecond: nil)
    bench.dispatcher.gate.setLimits(
      try EndPointLimits(requests: 6, bandwidth: 1000), for: try EndPoint(host: "a", port: 80))
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    let first = try await bench.transport.next()
    // The body of a redirect counts, and the request goes on when it has been skipped.
    #expect(first.head(302, [.location: "http://b/"]) == .more)
    #expect(first.body(piece) == .pause)
    bench.clock.advance(by: .seconds(1))
    #expect(first.resumed.isOpen)
    first.end()
    let second = try await bench.transport.next()
    #expect(second.head() == .more && second.body(piece) == .more && second.body(piece) == .more)
    second.end()
    #expect(try responses.last?.get().body.count == 2000)
    #expect(bench.isClean())
  }

  @Test("over a transport that can't pause a response, the request fails unsent, and says what is missing")
  func unsupported() async throws {
    let bench = try Bench()
    bench.dispatcher.gate.updateLimits { $0.endPoint.bandwidth = 1000 }
    let error = await #expect(throws: DispatchError.self) { try await bench.dispatcher.data(for: bench.request()) }
    #expect(error?.code == .unsupported && error?.detail.contains("bandwidth") == true, "\(String(describing: error))")
    #expect(bench.transport.takeStarted() == nil && bench.isClean())
  }

  @Test("a limit that is removed lets those continue that wait")
  func removed() async throws {
    let bench = try bench()
    let responses = Responses()
    bench.send(try bench.request(), into: responses)
    let exchange = try await bench.transport.next()
    #expect(exchange.head() == .more && exchange.body(piece) == .pause)
    bench.dispatcher.gate.updateLimits { $0.bandwidth = nil }
    #expect(exchange.resumed.isOpen && exchange.body(piece) == .more)
    exchange.end()
    #expect(try responses.last?.get().body.count == 2000)
    #expect(bench.isClean())
  }
}
