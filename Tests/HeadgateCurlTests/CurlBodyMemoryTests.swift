import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

/// The bound on the memory of all bodies over sockets.
@Suite struct CurlBodyMemoryTests {
  @Test(
    "large bodies all arrive completely within little common memory, plain and compressed",
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

  /// Pauses after each piece, until the test resumes it.
  private final class Sipping: ExchangeEvents {
    let pieces = LockedBox<[Int]>([])
    /// Each piece, and nil at the end.
    let (news, tell) = AsyncStream.makeStream(of: Int?.self)
    let failure = LockedBox<DispatchError?>(nil)

    func received(_ head: ResponseHead) -> BodyFlow { .more }
    func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
      pieces.withLock { $0.append(bytes.count) }
      tell.yield(bytes.count)
      return .pause
    }
    func ended(_ end: ExchangeEnd) {
      failure.withLock { $0 = end.failure }
      tell.yield(nil)
    }
  }

  @Test(
    "a paused compressed body is inflated piece by piece: no more data arrives until it resumes, and then the rest")
  func pausedInflating() async throws {
    let origin = try Origin()
    let transport = try CurlTransport()
    let events = Sipping()
    let request = try DispatchRequest(origin.url("/gzip?bytes=3000000"))
    let control = transport.start(Exchange(request: request, mayPause: false), events: events)
    var taken = 0
    for await piece in events.news {
      guard piece != nil else { break }
      taken += 1
      #expect(events.pieces.withLock { $0.count } == taken)
      control.resume()
    }
    #expect(events.failure.withLock { $0?.code } == nil)
    #expect(events.pieces.withLock { $0.reduce(0, +) } == 3_000_000)
    #expect(events.pieces.withLock { $0.max() ?? 0 } <= 64 * 1024)
    let closed = AsyncStream.makeStream(of: Void.self)
    transport.shutDown { closed.continuation.finish() }
    for await _ in closed.stream {}
    origin.stop()
  }
}
