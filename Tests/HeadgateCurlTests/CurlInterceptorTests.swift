import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// Interceptors over sockets, with a counting server.
@Suite struct CurlInterceptorTests {
  /// A server that requires a token, and issues one for each request to `/token`.
  private final class Guard: Sendable {
    let fetches = LockedBox(0)
    private let good = LockedBox("fresh")

    func answer(_ request: OriginRequest) -> OriginAnswer? {
      if request.path == "/token" {
        fetches.withLock { $0 += 1 }
        return .text("fresh")
      }
      let isGood = request.header("Authorization") == "Bearer " + good.withLock { $0 }
      return isGood ? .text("in") : .text("out", status: 401)
    }
  }

  @Test("fifty requests with an old token at a limit of four: one fetch, and the limit holds at the server")
  func fifty() async throws {
    let gatekeeper = Guard()
    let server = try Origin(script: OriginScript(connectionLimit: 4, delay: .milliseconds(2)) { gatekeeper.answer($0) })
    let tokens = BearerTokens(for: try EndPoint(server.url()), token: BearerToken("old")) { fetch in
      BearerToken(try await fetch.send(try DispatchRequest(server.url("/token"), method: .post)).text)
    }
    let recording = RecordingObserver()
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 4)),
      observers: [recording], interceptors: [tokens])
    let request = try DispatchRequest(server.url("/items"))
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await dispatcher.data(for: request).text } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(texts == Array(repeating: "in", count: 50))
    await dispatcher.shutDown()
    let counts = server.counts()
    #expect(gatekeeper.fetches.withLock { $0 } == 1)
    #expect(counts.peakSockets <= 4 && counts.peakRequests <= 4 && counts.refused == 0)
    // Each request once or twice, and the fetch.
    #expect((52...101).contains(counts.received))
    #expect(dispatcher.gate.counts.peak <= 4)
    #expect(recording.violations == [] && recording.unfinished == 0)
    server.stop()
  }

  @Test("an upload that is refused early is resent completely with a token, and an accepted stream stays a stream")
  func uploadAndStream() async throws {
    let gatekeeper = Guard()
    let server = try Origin(
      script: OriginScript { request in
        guard request.path != "/token", request.header("Authorization") == "Bearer fresh" else {
          return gatekeeper.answer(request)
        }
        return nil
      })
    let tokens = BearerTokens(for: try EndPoint(server.url()), token: BearerToken("old")) { fetch in
      BearerToken(try await fetch.send(try DispatchRequest(server.url("/token"))).text)
    }
    let dispatcher = URLDispatcher(transport: try CurlTransport(), interceptors: [tokens])
    let folder = try TemporaryFolder()
    var request = try DispatchRequest(server.url("/sink"), method: .put)
    request.body = RequestBody(file: try folder.sparseFile(of: 2_000_000))
    #expect(try await dispatcher.data(for: request).text == "2000000")
    tokens.setToken(BearerToken("old"))
    let stream = try await dispatcher.stream(for: DispatchRequest(server.url("/bytes/1000000")), lane: .long)
    #expect(try await stream.body.collect(upTo: 2_000_000).count == 1_000_000)
    #expect(gatekeeper.fetches.withLock { $0 } == 2)
    await dispatcher.shutDown()
    server.stop()
  }
}
