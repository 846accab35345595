import Foundation
import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Retries after a response head, while the caller has seen nothing of the response.
@Suite struct RetryAfterHeadTests {
  private static let policy = RetryPolicy(attempts: 3, backoff: .constant(.seconds(2)), budget: .none)
  private let responses = Responses()

  private func request(_ bench: Bench) throws -> DispatchRequest {
    var request = try bench.request()
    request.retry = Self.policy
    return request
  }

  /// Answers with a head, a part of the body and trailers, and breaks off.
  private func breakOff(_ exchange: ScriptedExchange, _ bytes: [UInt8] = Array("first".utf8)) throws {
    exchange.head(200)
    exchange.body(bytes)
    exchange.trailers([try #require(HTTPField.Name("x-first")): "1"])
    exchange.end(DispatchError(.connectionLost, phase: .receiving))
  }

  @Test("a buffered response that breaks off is retried, and nothing of it is left")
  func gathered() throws {
    let bench = try Bench(requests: 1)
    let operation = bench.send(try request(bench), into: responses)
    try breakOff(#require(bench.transport.takeStarted()))
    #expect((responses.count, bench.counts.running) == (0, 0))
    #expect((operation.state, operation.response == nil, operation.trailers.isEmpty) == (.waiting, true, true))
    bench.clock.advance(by: .seconds(2))
    (try #require(bench.transport.takeStarted())).respond(206, body: "second")
    let response = try #require(try responses.last?.get())
    #expect((response.statusCode, response.text, response.times.attempts) == (206, "second", 2))
    #expect(response.trailers.isEmpty)
    #expect(bench.isClean())
  }

  @Test("it is retried as often as the policy says; then the failure is reported, without a partial response")
  func exhausted() throws {
    let bench = try Bench()
    bench.send(try request(bench), into: responses)
    for _ in 1...3 {
      try breakOff(#require(bench.transport.takeStarted()))
      bench.clock.advance(by: .seconds(2))
    }
    #expect(responses.values.map(\.code) == [.connectionLost])
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }

  @Test("an attempt without a head is not complete after one that broke off")
  func failsThen() throws {
    let bench = try Bench()
    bench.send(try request(bench), into: responses)
    try breakOff(#require(bench.transport.takeStarted()))
    bench.clock.advance(by: .seconds(2))
    bench.transport.takeStarted()?.end(DispatchError(.badResponse))
    #expect(responses.values.map(\.code) == [.badResponse])
    #expect(bench.isClean())
  }

  @Test("an attempt after one that broke off has its timeout")
  func timeout() throws {
    let bench = try Bench()
    var request = try request(bench)
    request.timeout = .seconds(5)
    bench.send(request, into: responses)
    try breakOff(#require(bench.transport.takeStarted()))
    bench.clock.advance(by: .seconds(2))
    _ = try #require(bench.transport.takeStarted())
    bench.clock.advance(by: .seconds(5))
    #expect(responses.values.map(\.code) == [.timedOut])
    #expect(bench.isClean())
  }

  @Test(
    "an attempt that is silent for too long is retried, before and after its head; the last silence is the error"
  )
  func idle() throws {
    let bench = try Bench()
    var request = try request(bench)
    request.idleTimeout = .seconds(5)
    let operation = bench.send(request, into: responses)
    _ = try #require(bench.transport.takeStarted())
    bench.clock.advance(by: .seconds(5))
    #expect((responses.count, bench.counts.running, operation.state) == (0, 0, .waiting))
    bench.clock.advance(by: .seconds(2))
    let second = try #require(bench.transport.takeStarted())
    second.head(200)
    second.body(Array("half".utf8))
    bench.clock.advance(by: .seconds(7))
    _ = try #require(bench.transport.takeStarted())
    bench.clock.advance(by: .seconds(5))
    #expect(responses.values.map(\.code) == [.idleTimedOut])
    #expect((operation.error?.phase, operation.times?.attempts) == (.connecting, 3))
    #expect(bench.isClean())
  }

  @Test("late data of an attempt given up for its silence is ignored, and its end begins the pause")
  func lateAfterIdle() throws {
    let bench = try Bench(transport: ScriptedTransport(endsWhenCancelled: false))
    var request = try request(bench)
    request.idleTimeout = .seconds(5)
    bench.send(request, into: responses)
    let first = try #require(bench.transport.takeStarted())
    bench.clock.advance(by: .seconds(5))
    first.respond(200, body: "late")
    #expect(responses.count == 0)
    bench.clock.advance(by: .seconds(2))
    (try #require(bench.transport.takeStarted())).respond(200, body: "in time")
    #expect(try responses.last?.get().text == "in time")
    #expect(bench.isClean())
  }

  @Test("a cancellation during the pause after the head ends it at once")
  func cancelled() throws {
    let bench = try Bench()
    let operation = bench.send(try request(bench), into: responses)
    try breakOff(#require(bench.transport.takeStarted()))
    operation.cancel()
    #expect(responses.values.map(\.code) == [.cancelled])
    #expect(bench.isClean())
  }

  @Test("the timeout of a long request, which ended with its head, restarts with the next attempt")
  func long() throws {
    let bench = try Bench()
    var request = try request(bench)
    request.timeout = .seconds(60)
    bench.dispatcher.dispatch(request, lane: .long, policy: .fail) { responses.add($0) }
    let first = try #require(bench.transport.takeStarted())
    first.head(200)
    bench.clock.advance(by: .seconds(300))
    first.end(DispatchError(.connectionLost, phase: .receiving))
    bench.clock.advance(by: .seconds(2))
    _ = try #require(bench.transport.takeStarted())
    bench.clock.advance(by: .seconds(59))
    #expect(responses.count == 0)
    bench.clock.advance(by: .seconds(1))
    #expect(responses.values.map(\.code) == [.timedOut])
    #expect(bench.isClean())
  }

  @Test("a download that breaks off restarts its file")
  func download() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("headgate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appendingPathComponent("file").path
    let bench = try Bench()
    let files = Outcomes<Result<FileResponse, DispatchError>>()
    bench.dispatcher.dispatch(try request(bench), to: .numbered(path)) { files.add($0) }
    // More than is buffered before the file is made, and some buffered data.
    let exchange = try #require(bench.transport.takeStarted())
    exchange.head(200)
    exchange.body([UInt8](repeating: 1, count: 300_000))
    exchange.body([1, 1, 1])
    exchange.end(DispatchError(.connectionLost, phase: .receiving))
    #expect(files.count == 0)
    bench.clock.advance(by: .seconds(2))
    (try #require(bench.transport.takeStarted())).respond(200, body: "second")
    await files.wait(for: 1)
    let file = try #require(try files.last?.get())
    #expect((file.bytes, file.path, file.times.attempts) == (6, path, 2))
    #expect(FileManager.default.contents(atPath: path) == Data("second".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["file"])
    #expect(bench.isClean())
  }

  @Test("D82 delivered data is not sent again: a stream, and a delegate's response")
  func handedOn() async throws {
    let bench = try Bench()
    let request = try request(bench)
    async let opened = bench.dispatcher.stream(for: request)
    let exchange = try await bench.transport.next()
    exchange.head(200)
    let stream = try await opened
    exchange.end(DispatchError(.connectionLost, phase: .receiving))
    await #expect(throws: DispatchError.self) { for try await _ in stream.body {} }
    let delegate = Listener()
    bench.dispatcher.dispatchShort(request, delegate: delegate)
    let second = try await bench.transport.next()
    second.head(200)
    second.end(DispatchError(.connectionLost, phase: .receiving))
    await delegate.calls.wait(for: 2)
    #expect(delegate.heard == ["response 200", "failed connection_lost"])
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }
}
