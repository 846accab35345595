#if AsyncHTTPClient
import AsyncHTTPClient
import HeadgateAsyncHTTPClient
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

/// async-http-client's own client through a gate, counted by the origin.
@Suite(.timeLimit(.minutes(2))) struct GatedClientTests {
  private static let patience = Deadline.after(.seconds(60))

  private let origin: Origin

  init() throws { origin = try Origin(endPoints: 2) }

  private func endPoint(_ index: Int = 0) throws -> EndPoint { try EndPoint(origin.url(endPoint: index)) }

  /// Runs `body` with a client that follows no redirects, and shuts it down.
  private func withClient<Value: Sendable>(
    _ redirects: HTTPClient.Configuration.RedirectConfiguration = .disallow,
    on group: any EventLoopGroup = HTTPClient.defaultEventLoopGroup, _ body: (HTTPClient) async throws -> Value
  ) async throws -> Value {
    var configuration = HTTPClient.Configuration(redirectConfiguration: redirects)
    // More than the gate's limit, so that only the gate limits.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 100
    configuration.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(eventLoopGroup: group, configuration: configuration)
    let result: Result<Value, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    try await client.shutdown()
    return try result.get()
  }

  private func gate(requests: Int, long: Int = 1, pauses: PausePolicy? = nil) throws -> EndPointGate {
    EndPointGate(limits: try GateLimits(endPoint: EndPointLimits(requests: requests, long: long), pauses: pauses))
  }

  private func get(_ path: String, endPoint index: Int = 0) -> HTTPClientRequest {
    HTTPClientRequest(url: origin.url(path, endPoint: index))
  }

  private func failure(_ body: () async throws -> Void) async -> DispatchError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? DispatchError
    }
  }

  @Test(
    "1,000 calls with slow bodies beside 50 streams, some dropped or cancelled: never more than the limit, none lost")
  func storm() async throws {
    let gate = try gate(requests: 8, long: 4)
    let ended = try await withClient { client in
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<1000 {
          group.addTask {
            let response = try await client.execute(
              get("/trickle?bytes=4&every=1"), through: gate, timeout: .seconds(60))
            // The response is dropped unread.
            if number % 10 == 0 { return true }
            return try await response.body.collect(upTo: 10).readableBytes == 4
          }
        }
        for number in 0..<50 {
          group.addTask {
            let response = try await client.execute(
              get("/stream?chunks=0&every=2"), through: gate, lane: .long, timeout: .seconds(60))
            let reader = Task {
              var parts = 0
              for try await _ in response.body {
                parts += 1
                if parts == 5 && number % 2 == 0 { break }
              }
              return parts
            }
            if number % 2 == 0 { return try await reader.value == 5 }
            try await Task.sleep(for: .milliseconds(10))
            reader.cancel()
            _ = await reader.result
            return true
          }
        }
        var ended = 0
        for try await isWhole in group where isWhole { ended += 1 }
        return ended
      }
    }
    #expect(ended == 1050)
    let counts = origin.counts()
    #expect(counts.received == 1050)
    #expect(counts.peakRequests <= 8)
    // The limit was used.
    #expect(counts.peakRequests >= 7)
    // Every permit is free again.
    var permits: [Permit] = []
    for _ in 0..<8 { permits.append(try await gate.permit(for: try endPoint(), deadline: .seconds(30))) }
    for permit in permits { permit.release() }
  }

  @Test("a redirect gets a permit of its own end-point, after the first one was returned")
  func redirect() async throws {
    let gate = try gate(requests: 8)
    gate.setLimits(try EndPointLimits(requests: 2), for: try endPoint(1))
    let target = origin.url("/delay/2", endPoint: 1)
    try await withClient { client in
      try await withThrowingTaskGroup { group in
        for _ in 0..<100 {
          group.addTask {
            let response = try await client.execute(get("/redirect?to=\(target)"), through: gate)
            #expect(response.status == .ok)
            #expect(response.history.count == 2)
            #expect(response.history.last?.request.url == target)
            _ = try await response.body.collect(upTo: 100)
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(origin.counts().served == 100)
    #expect(origin.counts().peakRequests <= 8)
    #expect(origin.counts(endPoint: 1).served == 100)
    #expect(origin.counts(endPoint: 1).peakRequests <= 2)
  }

  @Test("a redirect to another origin keeps no secret; one that asks for the body again is the response")
  func redirectedRequest() async throws {
    // The responses are kept unread.
    let gate = try gate(requests: 8)
    let echo = origin.url("/echo", endPoint: 1)
    try await withClient { client in
      var request = get("/redirect?to=\(echo)")
      request.headers = ["X-Api-Key": "secret", "Accept": "text/x"]
      let echoed = try await client.execute(request, through: gate)
      #expect(echoed.headers["X-Echo-X-Api-Key"].isEmpty)
      #expect(echoed.headers["X-Echo-Accept"] == ["text/x"])

      request.method = .POST
      request.body = .bytes(ByteBuffer(string: "order"))
      let seen = try await client.execute(request, through: gate)
      #expect(seen.headers["X-Method"] == ["GET"])

      request.url = origin.url("/redirect?to=\(echo)&code=307")
      let kept = try await client.execute(request, through: gate)
      #expect(kept.status == .temporaryRedirect)

      let unfollowed = try await client.execute(get("/redirect?to=\(echo)"), through: gate, maxRedirects: 0)
      #expect(unfollowed.status == .found)
      let error = await failure {
        _ = try await client.execute(get("/redirect?to=\(echo)"), through: gate, redirects: .sameOrigin)
      }
      #expect(error?.code == .redirectRefused)
    }
  }

  @Test("a redirect whose body never ends is followed")
  func endlessRedirect() async throws {
    var endless = OriginAnswer.stream(chunks: 0, size: 1, every: .seconds(3600))
    endless.status = 302
    endless.headers = [OriginHeader("Location", "/target")]
    origin.setScript(OriginScript(handler: { [endless] in $0.path == "/target" ? .text("here") : endless }))
    let gate = try gate(requests: 1)
    try await withClient { client in
      let response = try await client.execute(get("/"), through: gate)
      #expect(try await response.body.collect(upTo: 10) == ByteBuffer(string: "here"))
    }
  }

  @Test("a client that follows redirects by itself is refused, and told what to do")
  func follows() async throws {
    let gate = try gate(requests: 2)
    try await withClient(.follow(max: 5, allowCycles: false)) { client in
      let error = await failure { _ = try await client.execute(get("/"), through: gate) }
      #expect(error?.code == .unsupported)
      #expect(error?.description.contains("`.disallow`") == true)
      #expect(origin.counts().received == 0)
    }
  }

  @Test("a 429 pauses all that passes the gate, for as long as it asks")
  func pause() async throws {
    let gate = try gate(requests: 4, pauses: PausePolicy())
    try await withClient { client in
      let refused = try await client.execute(get("/status/429?retry-after=3600"), through: gate)
      #expect(refused.status == .tooManyRequests)
      let error = await failure { _ = try await client.execute(get("/"), through: gate, deadline: .seconds(10)) }
      #expect(error?.code == .pausedUntil)
      #expect(error?.waitReason?.until != nil)
      let other = try await client.execute(get("/", endPoint: 1), through: gate)
      #expect(other.status == .ok)
    }
    #expect(origin.counts().received == 1)
  }

  @Test("the permit is held until the body has ended; a response without one holds none")
  func held() async throws {
    let gate = try gate(requests: 1)
    let endPoint = try endPoint()
    try await withClient { client in
      let response = try await client.execute(get("/bytes/1000"), through: gate)
      #expect(gate.tryPermit(for: endPoint) == nil)
      var bytes = 0
      for try await part in response.body { bytes += part.readableBytes }
      #expect(bytes == 1000)
      #expect(gate.tryPermit(for: endPoint)?.release() == true)
      var request = get("/bytes/1000")
      request.method = .HEAD
      let head = try await client.execute(request, through: gate)
      let next = try await client.execute(request, through: gate)
      #expect(head.status == next.status)
    }
  }

  @Test("the permit of a dropped response is returned after the client's event loop has closed the connection")
  func dropped() async throws {
    let gate = try gate(requests: 1)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    try await withClient(on: group) { client in
      var response: HTTPClientResponse? = try await client.execute(get("/stream?chunks=0&every=5"), through: gate)
      #expect(response?.status == .ok)
      let busy = Semaphore(permits: 0)
      group.next().execute { try? busy.wait() }
      response = nil
      #expect(gate.tryPermit(for: try endPoint()) == nil)
      busy.signal()
      try await gate.permit(for: try endPoint(), deadline: .seconds(30)).release()
      #expect(await origin.waitUntil({ $0.aborted == 1 }, until: Self.patience))
    }
    try await group.shutdownGracefully()
  }

  @Test("a call that is cancelled before the head returns its permit")
  func cancelled() async throws {
    let gate = try gate(requests: 1)
    try await withClient { client in
      let call = Task { try await client.execute(get("/hold"), through: gate) }
      #expect(await origin.waitUntil({ $0.requests == 1 }, until: Self.patience))
      call.cancel()
      _ = await call.result
      let response = try await client.execute(get("/"), through: gate)
      #expect(response.status == .ok)
    }
    #expect(origin.counts().peakRequests == 1)
  }

  @Test("an end-point that can't be reached opens the breaker")
  func unreachable() async throws {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 1))
    limits.breaker = BreakerPolicy(failures: 1)
    let gate = EndPointGate(limits: limits)
    origin.stop()
    try await withClient { client in
      let error = await failure { _ = try await client.execute(get("/"), through: gate) }
      #expect(error == nil, "the client's own error")
      let next = await failure { _ = try await client.execute(get("/"), through: gate, deadline: .milliseconds(10)) }
      #expect(next?.code == .pausedUntil)
    }
  }
}
#endif
