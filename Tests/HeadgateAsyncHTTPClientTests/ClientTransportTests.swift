#if AsyncHTTPClient
import HTTPTypes
import HeadgateAsyncHTTPClient
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// The specifics of the transport over async-http-client, counted by the origin. The common behaviour of transports is
/// tested in the contract suite.
@Suite struct ClientTransportTests {
  private final class Asked: Sendable {
    let requests = Mutex<[OriginRequest]>([])
  }

  private final class Told: Sendable {
    let progress = Mutex<[TransferProgress]>([])
  }

  private let origin: Origin

  init() throws { origin = try Origin(endPoints: 2) }

  private func dispatcher(requests: Int = 4) throws -> URLDispatcher {
    URLDispatcher(
      transport: try AsyncHTTPClientTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: requests)))
  }

  private func patient(_ path: String) throws -> DispatchRequest {
    var request = try DispatchRequest(origin.url(path))
    request.timeout = nil
    request.connectTimeout = nil
    return request
  }

  private func failure(_ dispatcher: URLDispatcher, _ request: DispatchRequest) async -> DispatchError? {
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      return nil
    } catch {
      return error
    }
  }

  @Test("a server sees the same request as from libcurl: target, host, fields; and nothing of the transport's own")
  func wire() async throws {
    let asked = Asked()
    origin.setScript(
      OriginScript { request in
        asked.requests.withLock { $0.append(request) }
        return .text("")
      })
    for transport in [try CurlTransport(), try AsyncHTTPClientTransport()] as [any Transport] {
      let dispatcher = URLDispatcher(transport: transport)
      for path in ["/a%2Fb;c//d?x=%20&y=a+b&z=%C3%A9%22", "/?", "/x?a=b?c=/d", "/%7Euser/..%2F?q"] {
        var request = try DispatchRequest(origin.url(path))
        request.headerFields[.accept] = "text/x"
        _ = try await dispatcher.data(for: request)
      }
      _ = try await dispatcher.stream(for: DispatchRequest(origin.url("/stream"))).body.collect(upTo: 10)
      await dispatcher.shutDown()
    }
    let requests = asked.requests.withLock { $0 }
    try #require(requests.count == 10)
    for (curls, clients) in zip(requests.prefix(5), requests.suffix(5)) {
      #expect(clients.target == curls.target)
      for name in ["Host", "Accept", "User-Agent"] where !(name == "Accept" && curls.path == "/stream") {
        #expect(clients.header(name) == curls.header(name), "\(name)")
      }
      #expect(!clients.headers.contains { $0.name.lowercased().hasPrefix("headgate") })
    }
    #expect(requests[5].header("Accept-Encoding") == "gzip, deflate")
    // A response with back-pressure must arrive unchanged.
    #expect(requests[9].header("Accept-Encoding") == "identity")
  }

  @Test("an empty body is sent too, with its progress")
  func emptyBody() async throws {
    let told = Told()
    let dispatcher = try dispatcher()
    var request = try DispatchRequest(origin.url("/sink"), method: .put, body: RequestBody([]))
    request.onUploadProgress = { progress in told.progress.withLock { $0.append(progress) } }
    #expect(try await dispatcher.data(for: request).text == "0")
    #expect(told.progress.withLock { $0 } == [TransferProgress(bytes: 0, total: 0)])
    await dispatcher.shutDown()
  }

  @Test("a body that its consumer does not read stays at the server, and resumes when it is read")
  func backPressure() async throws {
    let dispatcher = try dispatcher()
    let response = try await dispatcher.stream(for: patient("/bytes/200000000"), lane: .long)
    // The server has written what fits between it and an idle reader: far from all.
    #expect(try await dispatcher.data(for: origin.url("/bytes/10")).body.count == 10)
    #expect(origin.counts().served <= 1)
    var count = 0
    for try await piece in response.body { count += piece.count }
    #expect(count == 200_000_000)
    await dispatcher.shutDown()
  }

  @Test("a cancellation works in every state: sending, held by the server, in the body, idle", arguments: 0..<4)
  func cancels(_ place: Int) async throws {
    let dispatcher = try dispatcher(requests: 1)
    switch place {
    case 0:
      let operation = dispatcher.dispatch(try patient("/hold")) { _ in }
      operation.cancel()
    case 1:
      let operation = dispatcher.dispatch(try patient("/hold")) { _ in }
      #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
      operation.cancel()
    case 2:
      var response: StreamedResponse? = try await dispatcher.stream(
        for: patient("/stream?chunks=100000&every=5&size=10"))
      for try await _ in try #require(response).body.prefix(2) {}
      response = nil
    default:
      var response: StreamedResponse? = try await dispatcher.stream(for: patient("/bytes/200000000"))
      #expect(response?.statusCode == 200)
      response = nil
    }
    // The permit is back, and the connection is closed.
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    #expect(await origin.waitUntil({ $0.requests == 0 && $0.sockets <= 1 }, until: .after(.seconds(60))))
    #expect(origin.counts().peakRequests <= 1)
    await dispatcher.shutDown()
  }

  @Test("many requests and cancellations: never more at once than the limit, each with one end")
  func crowd() async throws {
    let dispatcher = try dispatcher(requests: 3)
    let ends = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<300 {
        group.addTask {
          let path = ["/delay/2", "/bytes/100000", "/reset?after=10", "/hold", "/echo", "/short?declared=50&sent=5"][
            number % 6]
          guard var request = try? DispatchRequest(origin.url(path)) else { return false }
          if number % 6 == 4 { request.body = RequestBody([UInt8](repeating: 1, count: 100_000)) }
          // Held requests end by their timeout, or by a cancellation from another thread.
          request.timeout = number % 6 == 3 ? .milliseconds(3) : .seconds(60)
          _ = await failure(dispatcher, request)
          return true
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(ends == 300)
    #expect(await origin.waitUntil({ $0.requests == 0 }, until: .after(.seconds(60))))
    #expect(origin.counts().peakSockets <= 3)
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown()
  }

  @Test("new limits close the idle connections of the old, and end no running request")
  func limitsChange() async throws {
    let dispatcher = try dispatcher(requests: 3)
    let held = try patient("/hold")
    let first = Task { try await dispatcher.data(for: held).statusCode }
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    _ = try await dispatcher.data(for: origin.url("/bytes/1"))
    dispatcher.setLimits(try GateLimits(endPoint: EndPointLimits(requests: 2)))
    #expect(try await dispatcher.data(for: origin.url("/bytes/1")).body.count == 1)
    origin.release()
    #expect(try await first.value == 200)
    // The single connection of the new limit is left.
    #expect(await origin.waitUntil({ $0.sockets == 1 }, until: .after(.seconds(60))))
    await dispatcher.shutDown()
    #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(.seconds(60))))
  }

  @Test("the shutdown closes every connection, and leaves the event loops to their owner")
  func shutDown() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let transport = try AsyncHTTPClientTransport(group: group)
    let dispatcher = URLDispatcher(transport: transport)
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown(.graceful)
    #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(.seconds(60))))
    #expect(try await group.next().submit { 7 }.get() == 7)
    let ended = Gate()
    let control = transport.start(
      Exchange(request: try DispatchRequest(origin.url("/")), mayPause: false), events: End(ended))
    try await ended.wait()
    control.cancel()
    control.resume()
    let again = Gate()
    transport.shutDown { again.open() }
    try await again.wait()
    try await group.shutdownGracefully()
  }

  @Test("a transport that is released unused, or in use, closes what it has")
  func letGo() async throws {
    _ = try AsyncHTTPClientTransport()
    let ended = Gate()
    do {
      let transport = try AsyncHTTPClientTransport()
      _ = transport.start(
        Exchange(request: try patient("/hold"), mayPause: false), events: End(ended))
      #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    }
    try await ended.wait()
    #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(.seconds(60))))
  }
}

/// Waits for the end of an exchange.
private final class End: ExchangeEvents {
  private let gate: Gate

  init(_ gate: Gate) { self.gate = gate }

  func received(_ head: ResponseHead) -> BodyFlow { .more }
  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { .more }
  func ended(_ end: ExchangeEnd) { gate.open() }
}
#endif
