import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The progress of an upload.
@Suite struct UploadProgressTests {
  private func request(_ bench: Bench, _ body: RequestBody, _ told: Outcomes<TransferProgress>) throws
    -> DispatchRequest
  {
    var request = try bench.request()
    request.method = .put
    request.body = body
    request.onUploadProgress = { told.add($0) }
    return request
  }

  @Test(
    "progress is reported after 64 KB or a hundredth, and at the end; never twice the same",
    arguments: [1_000_000, 10_000_000])
  func steps(_ size: Int) async throws {
    let bench = try Bench()
    let told = Outcomes<TransferProgress>()
    bench.send(try request(bench, RequestBody([UInt8](repeating: 1, count: size)), told), into: Responses())
    let exchange = try await bench.transport.next()
    while let piece = try await exchange.nextBody(upTo: 10_000), !piece.isEmpty {}
    let sent = told.values.map(\.bytes)
    #expect(sent == Array(Set(sent)).sorted())
    let step = max(65_536, size / 100)
    #expect(zip(sent, sent.dropFirst()).dropLast().allSatisfy { $1 - $0 >= step && $1 - $0 < step + 10_000 })
    #expect(told.last == TransferProgress(bytes: Int64(size), total: Int64(size)))
    #expect(told.last?.fraction == 1)
    exchange.respond()
  }

  @Test("a body of unknown length has a total at its end, an empty one is reported once")
  func unknownLength() async throws {
    let bench = try Bench()
    let told = Outcomes<TransferProgress>()
    let source = PieceSource { $0 < 2 ? [UInt8](repeating: 1, count: 100_000) : nil }
    bench.send(try request(bench, RequestBody(source.sequence), told), into: Responses())
    let first = try await bench.transport.next()
    _ = try await first.restOfBody()
    first.respond()
    #expect(told.values.dropLast().allSatisfy { $0.total == nil && $0.fraction == nil })
    #expect(told.last == TransferProgress(bytes: 200_000, total: 200_000))
    let none = Outcomes<TransferProgress>()
    bench.send(try request(bench, RequestBody([]), none), into: Responses())
    let second = try await bench.transport.next()
    _ = try await second.restOfBody()
    #expect(second.takeBody().read == .end)
    #expect(none.values == [TransferProgress(bytes: 0, total: 0)])
    second.respond()
  }

  @Test("D83 a body that is sent again counts once: it is reported only beyond what was sent before")
  func again() async throws {
    let bench = try Bench()
    let told = Outcomes<TransferProgress>()
    bench.send(try request(bench, RequestBody([UInt8](repeating: 1, count: 1_000_000)), told), into: Responses())
    let first = try await bench.transport.next()
    for _ in 0..<50 { _ = try await first.nextBody(upTo: 10_000) }
    let before = told.values.count
    first.respond(307, [.location: "/other"])
    let second = try await bench.transport.next()
    for _ in 0..<50 { _ = try await second.nextBody(upTo: 10_000) }
    #expect(told.values.count == before)
    while let piece = try await second.nextBody(upTo: 10_000), !piece.isEmpty {}
    let sent = told.values.map(\.bytes)
    #expect(sent == sent.sorted())
    #expect(sent.last == 1_000_000)
    second.respond()
  }

  @Test("a blocking call of the dispatcher inside the listener is refused")
  func noBlocking() async throws {
    let bench = try Bench()
    let codes = Outcomes<DispatchError.Code?>()
    var request = try bench.request()
    request.method = .put
    request.body = RequestBody("x")
    let (dispatcher, other) = (bench.dispatcher, try bench.request("/other"))
    request.onUploadProgress = { _ in codes.add(Self.blocked(dispatcher, other)) }
    bench.send(request, into: Responses())
    let exchange = try await bench.transport.next()
    _ = try await onThread { () throws(DispatchError) in exchange.takeBody().bytes.count }
    #expect(codes.values == [.wouldBlock])
    exchange.respond()
  }

  // Not in an async context, as in a caller's closure.
  private static func blocked(_ dispatcher: URLDispatcher, _ request: DispatchRequest) -> DispatchError.Code? {
    do throws(DispatchError) {
      _ = try dispatcher.dispatchSynchronously(request)
      return nil
    } catch {
      return error.code
    }
  }

  /// A slow progress listener.
  private final class Slow: URLDispatchDelegate {
    let calls = Outcomes<String>()
    let isInside = Gate()
    let mayLeave = Gate()

    func dispatchOperation(_ operation: URLDispatchOperation, didSend progress: TransferProgress) {
      calls.add("sent \(progress.bytes)")
      isInside.open()
      block(until: mayLeave)
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead) {
      calls.add("response")
    }

    func dispatchOperationDidFinish(_ operation: URLDispatchOperation) { calls.add("finished") }
  }

  @Test("a delegate is told in the order of its other calls, and only of the latest value while it is busy")
  func delegate() async throws {
    let bench = try Bench()
    let slow = Slow()
    var request = try bench.request()
    request.method = .put
    request.body = RequestBody([UInt8](repeating: 1, count: 1_000_000))
    bench.dispatcher.dispatchShort(request, delegate: slow)
    let exchange = try await bench.transport.next()
    #expect(try await exchange.nextBody(upTo: 100_000)?.count == 100_000)
    try await slow.isInside.wait()
    _ = try await exchange.restOfBody()
    exchange.respond()
    slow.mayLeave.open()
    await slow.calls.wait(for: 4)
    #expect(slow.calls.values == ["sent 100000", "sent 1000000", "response", "finished"])
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test("nothing is reported once the request has ended")
  func afterTheEnd() async throws {
    let bench = try Bench(transport: ScriptedTransport(endsWhenCancelled: false))
    let told = Outcomes<TransferProgress>()
    let responses = Responses()
    var request = try request(bench, RequestBody([UInt8](repeating: 1, count: 1_000_000)), told)
    request.timeout = .seconds(5)
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    bench.clock.advance(by: .seconds(6))
    #expect(responses.last?.code == .timedOut)
    exchange.exchange.body?.sent(500_000)
    #expect(told.values.isEmpty)
    exchange.end(DispatchError(.cancelled, phase: .awaitingHead))
  }

  @Test("the idle limit counts from the last sent bytes, and is suspended while the body has no data")
  func idle() async throws {
    let bench = try Bench()
    let responses = Responses()
    let next = Gate()
    let source = PieceSource { number in
      if number == 1 { await next.waitRegardless() }
      return number < 2 ? [UInt8](repeating: 1, count: 100_000) : nil
    }
    var request = try bench.request()
    request.method = .put
    request.body = RequestBody(source.sequence)
    (request.timeout, request.idleTimeout) = (nil, .seconds(10))
    bench.send(request, into: responses)
    let exchange = try await bench.transport.next()
    for _ in 0..<10 {
      bench.clock.advance(by: .seconds(8))
      #expect(try await exchange.nextBody(upTo: 10_000)?.count == 10_000)
    }
    let ready = Gate()
    var buffer = [UInt8](repeating: 0, count: 10)
    #expect(buffer.withUnsafeMutableBytes { exchange.exchange.body?.read(into: $0) { ready.open() } } == .wait)
    bench.clock.advance(by: .seconds(100))
    #expect(responses.count == 0, "the server waits for us")
    next.open()
    try await ready.wait()
    #expect(try await exchange.nextBody(upTo: 10_000)?.count == 10_000)
    bench.clock.advance(by: .seconds(9))
    #expect(responses.count == 0)
    bench.clock.advance(by: .seconds(2))
    #expect(responses.last?.code == .idleTimedOut)
    #expect(bench.isClean())
  }
}
