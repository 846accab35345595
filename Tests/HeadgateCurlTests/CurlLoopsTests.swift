import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// A transport on several threads.
@Suite struct CurlLoopsTests {
  @Test("with several loops each end-point keeps to its limit, new limits reach all loops, and all of them end")
  func limits() async throws {
    let origin = try Origin(endPoints: 8)
    let transport = try CurlTransport(loops: 4)
    let dispatcher = URLDispatcher(
      transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 3)))
    let urls = (0..<8).map { origin.url("/bytes/100", endPoint: $0) }
    func run() async {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<400 {
          group.addTask { #expect((try? await dispatcher.data(for: urls[number % 8]).statusCode) == 200) }
        }
      }
    }
    for place in 0..<8 { try await holdAtOnce(3, dispatcher, origin, endPoint: place) }
    // Not before: a request that is delayed is not held yet, and would miss its release.
    origin.setScript(OriginScript(delay: .milliseconds(2)))
    await run()
    for place in 0..<8 { #expect(origin.counts(endPoint: place).peakSockets == 3) }
    dispatcher.setLimits(try GateLimits(endPoint: EndPointLimits(requests: 1)))
    for place in 0..<8 {
      #expect(await origin.waitUntil({ $0.sockets <= 1 }, endPoint: place, until: .after(.seconds(60))))
    }
    await run()
    for place in 0..<8 { #expect(origin.counts(endPoint: place).sockets <= 1) }
    await dispatcher.shutDown(.drain)
    for place in 0..<8 {
      #expect(await origin.waitUntil({ $0.sockets == 0 }, endPoint: place, until: .after(.seconds(60))))
      #expect(transport.openSockets(to: try EndPoint(urls[place])) == 0)
    }
    origin.stop()
  }

  @Test("a queue of requests that fail at once does not hold up another response on their thread")
  func failing() async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(loops: 1), limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    let response = Task { try await dispatcher.data(for: DispatchRequest(origin.url("/hold"))).statusCode }
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    // The connection to a socket that does not exist fails inside the call.
    let missing = try DispatchRequest("http+unix://%2Fnowhere.sock/")
    let failed = Locked(0)
    let (all, firstHasFailed) = (5_000, Gate())
    for _ in 0..<all {
      dispatcher.dispatch(missing) { _ in
        failed.withLock { $0 += 1 }
        firstHasFailed.open()
      }
    }
    try await firstHasFailed.wait()
    origin.release()
    #expect(try await response.value == 200)
    #expect(failed.withLock { $0 } < all)
    await dispatcher.shutDown(.now)
    origin.stop()
  }

  @Test("a number of loops out of range is an error", arguments: [0, -1, 65])
  func number(loops: Int) {
    let error = #expect(throws: DispatchError.self) { try CurlTransport(loops: loops) }
    #expect(error?.code == .transportFailed)
  }
}
