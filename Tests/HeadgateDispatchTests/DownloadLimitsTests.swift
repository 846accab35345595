import Foundation
import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Limits on the size and the speed of downloads.
@Suite struct DownloadLimitsTests {
  private let responses = Responses()

  private func exchange(_ bench: Bench) throws -> ScriptedExchange { try #require(bench.transport.takeStarted()) }

  // MARK: Size

  private func request(_ bench: Bench, most: Int) throws -> DispatchRequest {
    var request = try bench.request()
    request.maxDownloadBytes = most
    return request
  }

  @Test("a declared length beyond the limit fails at the head, one within it does not")
  func declared() async throws {
    let bench = try Bench()
    await #expect(throws: DispatchError.self) {
      _ = try await withStream(bench, try request(bench, most: 9)) { $0.head(200, [.contentLength: "10"]) }
    }
    let response = try await withStream(bench, try request(bench, most: 10)) {
      $0.head(200, [.contentLength: "10"])
      $0.body(Array(repeating: 1, count: 10))
      $0.end()
    }
    var bytes = 0
    for try await piece in response.body { bytes += piece.count }
    #expect(bytes == 10)
    #expect(bench.isClean())
  }

  @Test("data beyond the limit fails the request, with any declared length", arguments: [nil, "3"])
  func counted(declared: String?) async throws {
    let bench = try Bench()
    let exchanges = Outcomes<ScriptedExchange>()
    let response = try await withStream(bench, try request(bench, most: 4)) { exchange in
      exchange.head(200, declared.map { [.contentLength: $0] } ?? [:])
      exchange.body([1, 2])
      exchanges.add(exchange)
    }
    let exchange = try #require(exchanges.last)
    #expect(exchange.body([3, 4]) == .more)
    #expect(exchange.body([5]) == .abort)
    let error = await #expect(throws: DispatchError.self) { for try await _ in response.body {} }
    #expect(error?.code == .bodyTooLarge)
    #expect(error?.detail.contains("4 bytes") == true)
    #expect(exchange.isCancelled)
    #expect(bench.isClean())
  }

  @Test("files, delegates and whole bodies have the limit too, and a file leaves nothing")
  func everywhere() async throws {
    let bench = try Bench()
    let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    let (dispatcher, limited) = (bench.dispatcher, try request(bench, most: 4))
    let download = Task { try await dispatcher.download(for: limited, to: .numbered(path)) }
    let exchange = try await bench.transport.next()
    exchange.head()
    exchange.body([1, 2, 3, 4, 5])
    let error = await #expect(throws: DispatchError.self) { try await download.value }
    #expect(error?.code == .bodyTooLarge)
    #expect(!FileManager.default.fileExists(atPath: path) && !FileManager.default.fileExists(atPath: path + ".part"))
    bench.send(try request(bench, most: 4), into: responses)
    try self.exchange(bench).respond(body: "12345")
    #expect(responses.last?.code == .bodyTooLarge)
    #expect(bench.isClean())
  }

  @Test("a response without a body ignores its length; bodies of redirects don't count")
  func bodiless() throws {
    let bench = try Bench()
    var request = try request(bench, most: 4)
    bench.send(request, into: responses)
    try exchange(bench).respond(304, [.contentLength: "1000"])
    request.method = .head
    bench.send(request, into: responses)
    try exchange(bench).respond(200, [.contentLength: "1000"])
    request.method = .get
    bench.send(request, into: responses)
    try exchange(bench).respond(302, [.location: "/x", .contentLength: "9"], body: "elsewhere")
    try exchange(bench).respond(body: "1234")
    #expect(responses.values.map(\.code) == [nil, nil, nil])
    #expect(bench.isClean())
  }

  // MARK: Speed

  private func request(_ bench: Bench, _ method: HTTPRequest.Method = .get) throws -> DispatchRequest {
    var request = try bench.request()
    request.method = method
    request.timeout = nil
    request.minimumSpeed = TransferSpeed(bytesPerSecond: 10, over: .seconds(10))
    return request
  }

  @Test("a server below the minimum speed fails at the end of the first interval that misses it")
  func trickle() throws {
    let bench = try Bench()
    bench.send(try request(bench), into: responses)
    let exchange = try exchange(bench)
    exchange.head()
    // 100 bytes in each interval, at its start or at its end.
    for _ in 0..<5 {
      exchange.body(Array(repeating: 1, count: 60))
      bench.clock.advance(by: .seconds(9))
      exchange.body(Array(repeating: 1, count: 40))
      bench.clock.advance(by: .seconds(1))
    }
    #expect(responses.count == 0)
    exchange.body(Array(repeating: 1, count: 99))
    bench.clock.advance(by: .seconds(10))
    #expect(responses.last?.code == .tooSlow)
    #expect(responses.last?.error?.phase == .receiving)
    #expect(exchange.isCancelled)
    #expect(bench.isClean())
  }

  @Test("the time until the head counts, and so do sent bytes of the request's body")
  func sending() async throws {
    let bench = try Bench()
    bench.send(try request(bench), into: responses)
    _ = try exchange(bench)
    bench.clock.advance(by: .seconds(10))
    #expect(responses.last?.code == .tooSlow)
    var upload = try request(bench, .put)
    upload.body = RequestBody([UInt8](repeating: 1, count: 1_000))
    bench.send(upload, into: responses)
    let exchange = try exchange(bench)
    for _ in 0..<5 {
      _ = try await exchange.nextBody(upTo: 100)
      bench.clock.advance(by: .seconds(10))
    }
    #expect(responses.count == 1)
    _ = try await exchange.nextBody(upTo: 99)
    bench.clock.advance(by: .seconds(10))
    #expect(responses.count == 2 && responses.last?.code == .tooSlow)
    #expect(bench.isClean())
  }

  @Test("a interval in which the consumer held the transfer, even briefly, does not count")
  func held() async throws {
    let bench = try Bench()
    let exchanges = Outcomes<ScriptedExchange>()
    let response = try await withStream(bench, try request(bench)) {
      $0.head()
      exchanges.add($0)
    }
    let exchange = try #require(exchanges.last)
    #expect(exchange.body(Array(repeating: 1, count: StreamingSinkWater.high)) == .pause)
    bench.clock.advance(by: .seconds(3_600))
    #expect(bench.counts.running == 1)
    // The read is in the middle of a interval.
    bench.clock.advance(by: .seconds(5))
    var iterator = response.body.makeAsyncIterator()
    _ = try await iterator.next()
    #expect(exchange.resumed.isOpen)
    bench.clock.advance(by: .seconds(5))
    #expect(bench.counts.running == 1)
    bench.clock.advance(by: .seconds(10))
    await #expect(throws: DispatchError.self) { while try await iterator.next() != nil {} }
    #expect(bench.isClean())
  }

  @Test("nor does a interval in which the request's body had no data, or the request waited for a socket")
  func waiting() async throws {
    let bench = try Bench()
    let goesOn = Gate()
    let source = PieceSource { number in
      if number == 1 { await goesOn.waitRegardless() }
      return number < 2 ? [1] : nil
    }
    var upload = try request(bench, .put)
    upload.body = RequestBody(source.sequence)
    bench.send(upload, into: responses)
    let exchange = try exchange(bench)
    _ = try await exchange.nextBody()
    #expect(exchange.takeBody().read == .wait)
    bench.clock.advance(by: .seconds(100))
    goesOn.open()
    _ = try await exchange.restOfBody()
    exchange.startSocketWait()
    bench.clock.advance(by: .seconds(105))
    exchange.endSocketWait()
    bench.clock.advance(by: .seconds(5))
    #expect(responses.count == 0)
    bench.clock.advance(by: .seconds(10))
    #expect(responses.last?.code == .tooSlow)
    #expect(bench.isClean())
  }

  @Test("waiting for a permit and between attempts does not count; the next exchange begins a new interval")
  func permits() throws {
    let bench = try Bench(requests: 1)
    bench.send(try bench.request(), into: Responses())
    let blocking = try exchange(bench)
    var slow = try request(bench)
    slow.retry = RetryPolicy(attempts: 2, backoff: .constant(.seconds(100)), budget: .none)
    bench.send(slow, into: responses)
    bench.clock.advance(by: .seconds(50))
    blocking.respond()
    let first = try exchange(bench)
    bench.clock.advance(by: .seconds(9))
    first.respond(503)
    bench.clock.advance(by: .seconds(100))
    let second = try exchange(bench)
    bench.clock.advance(by: .seconds(8))
    second.respond()
    #expect(responses.last?.code == nil)
    #expect(bench.isClean())
  }

  @Test(
    "extreme speeds never trap: zero and negative speeds are always reached, endless intervals never end",
    arguments: [0, -5, Int.min])
  func odd(speed: Int) throws {
    let bench = try Bench()
    var request = try request(bench)
    request.minimumSpeed = TransferSpeed(bytesPerSecond: speed, over: .zero)
    bench.send(request, into: responses)
    let first = try exchange(bench)
    bench.clock.advance(by: .milliseconds(20))
    first.respond()
    request.minimumSpeed = TransferSpeed(bytesPerSecond: .max, over: .seconds(Int64.max))
    bench.send(request, into: responses)
    bench.clock.advance(by: .seconds(1_000))
    try exchange(bench).respond()
    #expect(responses.values.map(\.code) == [nil, nil])
    #expect(bench.isClean())
  }
}
