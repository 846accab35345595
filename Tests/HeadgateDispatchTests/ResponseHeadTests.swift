import Foundation
import HTTPTypes
import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// What a head contains about its response.
@Suite struct ResponseHeadTests {
  @Test(
    "the version is that of the status line",
    arguments: [
      ("HTTP/1.0 200 OK\r\n\r\n", ResponseHead.Version.http10), ("HTTP/1.1 200\r\n", .http11),
      ("HTTP/2 200 \r\n\r\n", .http2), ("HTTP/3 200\r\n", .http3), ("HTTP/4 200\r\n", nil), ("HTTP/1 200\r\n", nil),
      ("HTTP/11 200\r\n", nil), ("ICY 200 OK\r\n", nil), ("", nil), ("HTTP/", nil), ("Server: x\r\n", nil),
    ])
  func version(block: String, version: ResponseHead.Version?) {
    #expect(ResponseHead(statusCode: 200, block: Array(block.utf8)).version == version)
  }

  @Test("values that the transport does not report are nil")
  func unknown() {
    let head = ResponseHead(statusCode: 200)
    #expect(head.version == nil && head.isConnectionReused == nil && head.redirects == [])
    let told = ResponseHead(statusCode: 200, version: .http2, isConnectionReused: true)
    #expect((told.version, told.isConnectionReused, told.version?.description) == (.http2, true, "HTTP/2"))
  }

  /// Answers `/0` with a redirect to another host, its target with one back, and then `/2`.
  private static func lead(_ exchange: ScriptedExchange) {
    switch exchange.request.url {
    case "http://a/0": exchange.respond(302, [.location: "http://b/1"])
    case "http://b/1": exchange.respond(307, [.location: "http://a/2"])
    default: exchange.respond(body: "there")
    }
  }

  @Test("a response lists the redirects before it, in every form of delivery")
  func redirects() async throws {
    let bench = try Bench(transport: ScriptedTransport { Self.lead($0) })
    let request = try bench.request("/0")
    let way = [
      FollowedRedirect(url: "http://a/0", statusCode: 302), FollowedRedirect(url: "http://b/1", statusCode: 307),
    ]
    #expect(try await bench.dispatcher.data(for: request).head.redirects == way)
    let stream = try await bench.dispatcher.stream(for: request)
    #expect(stream.head.redirects == way)
    _ = try await stream.body.collect(upTo: 10)
    let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = try await bench.dispatcher.download(for: request, to: .replacing(path))
    #expect(file.head.redirects == way)
    let listener = Listener()
    let operation = bench.dispatcher.dispatchShort(request, delegate: listener)
    await listener.calls.wait(for: 3)
    #expect(operation.response?.redirects == way)
    #expect(try await bench.dispatcher.data(for: bench.request("/2")).head.redirects == [])
    #expect(await bench.isCleanAtLast())
  }
}
