import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import Testing

/// What libcurl's responses report about the connection, and which settings it refuses.
@Suite struct CurlHeadTests {
  @Test("a response reports its version and whether its connection was reused")
  func connection() async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 1)))
    let first = try await dispatcher.data(for: origin.url("/bytes/1"))
    let second = try await dispatcher.data(for: origin.url("/bytes/1"))
    #expect((first.head.version, first.head.isConnectionReused) == (.http11, false))
    #expect((second.head.version, second.head.isConnectionReused) == (.http11, true))
    await dispatcher.shutDown()
  }

  @Test("long requests and requests with back-pressure can't use HTTP/2, and are refused if they must")
  func http2() async throws {
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: try CurlTransport())
    var request = try DispatchRequest(origin.url("/bytes/1"))
    request.requires = .http2
    func code(_ work: () async throws -> Void) async -> DispatchError.Code? {
      do { try await work() } catch { return (error as? DispatchError)?.code }
      return nil
    }
    #expect(await code { _ = try await dispatcher.stream(for: request) } == .unsupported)
    #expect(await code { _ = try await dispatcher.data(for: request, lane: .long) } == .unsupported)
    #expect(
      await code { _ = try await dispatcher.download(for: request, to: .numbered("/nowhere/at/all")) } == .unsupported)
    #expect(origin.counts().received == 0)
    var configuration = CurlTransport.Configuration()
    configuration.httpVersion = .http1
    #expect(!(try CurlTransport(configuration: configuration).capabilities.contains(.http2)))
    await dispatcher.shutDown()
  }
}
