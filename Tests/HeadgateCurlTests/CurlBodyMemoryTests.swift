import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import Testing

/// The bound on the memory of all bodies over sockets.
@Suite struct CurlBodyMemoryTests {
  @Test(
    "large bodies all arrive whole however little memory they have together, plain and compressed",
    arguments: [0, 1 << 20])
  func arrive(memory: Int) async throws {
    let (first, second) = (try Origin(), try Origin())
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(loops: 2), limits: try GateLimits(endPoint: EndPointLimits(requests: 8)),
      maxBodyMemory: memory)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<32 {
        let origin = number % 2 == 0 ? first : second
        let path = number % 4 == 3 ? "/gzip?bytes=3000000" : "/bytes/3000000"
        group.addTask { try await dispatcher.data(for: origin.url(path)).body.count }
      }
      for try await count in group { #expect(count == 3_000_000) }
    }
    await dispatcher.shutDown()
  }
}
