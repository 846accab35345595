import Dispatch
import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// The code of docs/migrating.md for LSURLDispatcher, LSURLDispatchOperation and LSURLDispatchDelegate.
@Suite struct MigratingDispatcherTests {
  private final class Download: URLDispatchDelegate {
    private let body = Locked<[UInt8]>([])
    let ends = Outcomes<String>()
    let sent = Outcomes<TransferProgress>()

    var bytes: [UInt8] { body.withLock { $0 } }

    func dispatchOperation(
      _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
    ) -> AuthenticationAnswer {
      if challenge.isProxy { return .default }
      return challenge.previousFailures == 0 ? .credential(user: "ada", password: "secret") : .cancel
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead) {
      body.withLock { $0 = [] }
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didReceiveData data: [UInt8]) {
      body.withLock { $0 += data }
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didSend progress: TransferProgress) {
      sent.add(progress)
    }

    func dispatchOperationDidFinish(_ operation: URLDispatchOperation) {
      ends.add("finished")
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) {
      ends.add("\(error)")
    }

    func dispatchOperationWasCancelled(_ operation: URLDispatchOperation) {
      ends.add("cancelled")
    }
  }

  /// Answers each request at once.
  private static let echo: @Sendable (ScriptedExchange) -> Void = { $0.respond(200, [.server: "echo"], body: "hello") }

  @Test("LSURLDispatcher: creation, synchronous requests, delegates, end")
  func dispatcher() async throws {
    let transport = ScriptedTransport(answer: Self.echo)
    let limits = try GateLimits(endPoint: EndPointLimits(requests: 4, long: 2))
    let dispatcher = URLDispatcher(transport: transport, limits: limits)
    #expect(dispatcher.limits.endPoint.requests == 4)
    #expect(dispatcher.limits.endPoint.long == 2)
    #expect(throws: LimitError.self) { try EndPointLimits(requests: 4, long: 4) }
    dispatcher.updateLimits { $0.endPoint.long = 3 }
    #expect(dispatcher.limits.endPoint.long == 3)

    var request = try DispatchRequest("http://a/")
    request.timeout = .seconds(10)
    request.deadline = .seconds(60)
    request.idleTimeout = .seconds(5)
    request.headerFields[.authorization] = "Bearer token"
    let text = try await onThread { [request] () throws(DispatchError) in
      let response = try dispatcher.dispatchSynchronously(request)
      return "\(response.head.statusCode) \(response.text)"
    }
    // In a task it would occupy a thread that other tasks need.
    func blocking() throws { _ = try dispatcher.dispatchSynchronously(request) }
    let refused = #expect(throws: DispatchError.self) { try blocking() }
    #expect(refused?.code == .wouldBlock)
    #expect(try text.get() == "200 hello")
    #expect(try await dispatcher.data(for: request).body.count == 5)

    let download = Download()
    let operation = dispatcher.dispatchShort(request, delegate: download)
    await download.ends.wait(for: 1)
    #expect(download.ends.values == ["finished"])
    #expect(download.bytes == Array("hello".utf8))
    #expect(operation.response?[.server] == "echo")
    let completed = Responses()
    dispatcher.dispatch(request) { result in completed.add(result) }
    try dispatcher.dispatch("http://a/") { result in completed.add(result) }
    #expect(completed.count == 2)

    let onMain = Download()
    let loop = try ThreadLoop(name: "main")
    dispatcher.dispatchShort(request, delegate: onMain, on: .loop(loop))
    let pool = try ThreadPool(name: "delegates", size: 2)
    for target in [Delivery.pool(pool), .executor(pool.taskExecutor), .queue(.global())] {
      dispatcher.dispatchShort(request, delegate: onMain, on: target)
    }
    await onMain.ends.wait(for: 4)
    pool.dispose()
    #expect(onMain.ends.values == Array(repeating: "finished", count: 4))
    #expect(dispatcher.limits.endPoint.requests == 4)
    dispatcher.updateLimits { $0.endPoint.requests = 5 }
    #expect(dispatcher.limits.endPoint.requests == 5)
    await dispatcher.shutDown(.now)
    loop.stop()
  }

  @Test("LSURLDispatcher: the contents of a request, and how much of it was sent")
  func body() async throws {
    let bench = try Bench()
    let (file, download, sent) = (try BodyFileFixture([1, 2, 3]), Download(), Outcomes<TransferProgress>())
    let path = file.path
    var request = try DispatchRequest("http://a/", method: .put)
    request.onUploadProgress = { sent.add($0) }
    request.body = RequestBody("text")
    bench.dispatcher.dispatchShort(request, delegate: download)
    request.body = RequestBody(file: path)
    bench.dispatcher.dispatchShort(request, delegate: download)
    for _ in 0..<2 {
      let exchange = try await bench.transport.next()
      _ = try await exchange.restOfBody()
      exchange.respond()
    }
    await download.ends.wait(for: 2)
    #expect(sent.values.map(\.bytes).sorted() == [3, 4])
    #expect(download.sent.values.map(\.bytes).sorted() == [3, 4])
    await bench.dispatcher.shutDown(.drain)
  }

  @Test("LSURLDispatcher: long requests, their policies, and queries")
  func long() async throws {
    let bench = try Bench(requests: 4, long: 2)
    let dispatcher = bench.dispatcher
    let request = try DispatchRequest("http://a/")
    let download = Download()
    let stream = try dispatcher.dispatchLong(request, delegate: download)
    #expect(dispatcher.gate.isLongRequestAllowed(at: request.endPoint))
    #expect(try dispatcher.gate.isLongRequestAllowed(at: EndPoint("http://a/")))
    #expect(try dispatcher.gate.isLongRequestAllowed(at: EndPoint(host: "a", port: 80)))
    if let other = dispatcher.tryDispatchLong(request, delegate: download) {
      #expect(other.state == .running)
    }
    #expect(try dispatcher.gate.runningLongRequests(at: EndPoint("http://a/")) == 2)
    #expect(try dispatcher.gate.runningLongRequests(at: EndPoint(host: "a", port: 80)) == 2)
    #expect(throws: DispatchError.self) { try dispatcher.dispatchLong(request, delegate: download, policy: .throw) }
    let failed = try dispatcher.dispatchLong(request, delegate: download, policy: .fail)
    #expect(failed.error?.code == .longLaneFull)
    let later = try dispatcher.dispatchLong(request, delegate: download, policy: .enqueue)
    #expect(later.state == .waiting)
    #expect(dispatcher.gate.availability(for: request.endPoint, lane: .long) == .waits(before: 1))
    await #expect(throws: DispatchError.self) { try await dispatcher.stream(for: request, lane: .long, policy: .throw) }
    let short = dispatcher.dispatchShort(request, delegate: download)
    #expect(!short.moveToLong())
    stream.cancel()
    #expect(later.state == .running)
    await dispatcher.shutDown(.now)
    #expect(bench.isClean())
  }

  @Test("LSURLDispatchDelegate: a challenge is answered by the method's return value")
  func challenge() async throws {
    let bench = try Bench(requests: 1)
    let download = Download()
    bench.dispatcher.dispatchShort(try bench.request(), delegate: download)
    try await bench.transport.next().respond(401, [.wwwAuthenticate: "Basic"])
    try await bench.transport.next().respond(401, [.wwwAuthenticate: "Basic"])
    await download.ends.wait(for: 1)
    #expect(download.ends.values == ["cancelled"])
    #expect(bench.isClean())
  }

  @Test("LSURLDispatchOperation: the state of a handle, and its cancellation")
  func operation() async throws {
    let bench = try Bench(requests: 1)
    let download = Download()
    let operation = bench.dispatcher.dispatchShort(try DispatchRequest("http://a/"), delegate: download)
    let exchange = try await bench.transport.next()
    exchange.head()
    #expect(operation.request.url == "http://a/")
    #expect(operation.endPoint.description == "a:80")
    #expect((operation.lane == .long) == false)
    #expect(operation.state == .running)
    #expect(operation.response?.statusCode == 200)
    #expect(operation.error == nil)
    operation.cancel()
    #expect(operation.error?.code == .cancelled)
    #expect(operation.times?.queued == .zero)
    await download.ends.wait(for: 1)
    #expect(download.ends.values == ["cancelled"])
    #expect(bench.isClean())
  }
}
