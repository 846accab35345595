#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import HeadgateDispatch
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

@testable import HeadgateAsyncHTTPClient

/// The client's errors as the dispatcher's, and requests in the client's types.
@Suite struct ClientFailureTests {
  @Test("errors have a code and a phase")
  func codes() {
    let reset = IOError(errnoCode: 104, reason: "read")
    let cases: [(any Error, Bool, DispatchError.Code, DispatchError.Phase)] = [
      (HTTPClientError.remoteConnectionClosed, true, .connectionLost, .receiving),
      (HTTPClientError.requestStreamCancelled, true, .connectionLost, .receiving),
      (HTTPClientError.connectTimeout, false, .connectTimedOut, .connecting),
      (HTTPClientError.getConnectionFromPoolTimeout, false, .connectTimedOut, .connecting),
      (HTTPClientError.tlsHandshakeTimeout, false, .connectTimedOut, .securing),
      (HTTPClientError.cancelled, true, .cancelled, .receiving),
      (HTTPClientError.alreadyShutdown, false, .shutDown, .receiving),
      (HTTPClientError.invalidURL, false, .invalidURL, .receiving),
      (HTTPClientError.bodyLengthMismatch, true, .transportFailed, .receiving),
      (reset, true, .connectionLost, .receiving), (reset, false, .connectFailed, .connecting),
      (ChannelError.connectTimeout(.seconds(1)), false, .connectTimedOut, .connecting),
      (ChannelError.ioOnClosedChannel, true, .connectionLost, .receiving),
      (HTTPParserError.invalidEOFState, true, .connectionLost, .receiving),
      (HTTPParserError.headerOverflow, true, .headTooLarge, .receiving),
      (HTTPParserError.invalidConstant, true, .badResponse, .receiving),
      (NIOSSLError.uncleanShutdown, true, .connectionLost, .receiving),
      (NIOSSLError.handshakeFailed(.zeroReturn), false, .tlsFailed, .securing),
      (NIOSSLExtraError.failedToValidateHostname, false, .tlsFailed, .securing),
      (CancellationError(), true, .transportFailed, .receiving),
    ]
    for (error, isConnected, code, phase) in cases {
      let failure = DispatchError(client: error, isConnected: isConnected, phase: .receiving)
      #expect(failure.code == code, "\(error)")
      #expect(failure.phase == phase, "\(error)")
      #expect(!failure.detail.isEmpty)
    }
  }

  private func headers(_ url: String, _ fields: HTTPFields = [:], mayPause: Bool = false) throws -> HTTPHeaders {
    var request = try DispatchRequest(url)
    request.headerFields = fields
    let exchange = Exchange(request: request, mayPause: mayPause)
    return HTTPClientRequest(exchange, number: 7, userAgent: "test").headers
  }

  @Test(
    "D69 the host is written for the wire: brackets around IPv6 and no zone, no default port, no user, localhost for a path",
    arguments: [
      ("http://h/", "h"), ("http://h:80/", "h"), ("https://h:80/", "h:80"), ("https://h:443/", "h"),
      ("http://[::1]:8080/", "[::1]:8080"), ("http://[FE80::1%251]/", "[fe80::1]"), ("http://a:b@h:81/x", "h:81"),
      ("http+unix://%2Frun%2Fx.sock/a", "localhost"), ("http://127.1/", "127.0.0.1"),
    ])
  func host(url: String, host: String) throws { #expect(try headers(url)["Host"] == [host]) }

  @Test("a request's own fields are kept; fields of the exchange are omitted")
  func fields() throws {
    var fields: HTTPFields = [.userAgent: "mine", .acceptEncoding: "br", .contentLength: "5", .connection: "close"]
    fields[.transferEncoding] = "chunked"
    if let host = HTTPField.Name("Host"), let own = HTTPField.Name(ExchangeRegistry.fieldName) {
      fields[host] = "other"
      fields[own] = "99"
    }
    let headers = try headers("http://h/", fields, mayPause: true)
    #expect(headers["User-Agent"] == ["mine"])
    #expect(headers["Accept-Encoding"] == ["br"])
    #expect(headers["Host"] == ["other"])
    #expect(headers[ExchangeRegistry.fieldName] == ["7"])
    for name in ["Content-Length", "Connection", "Transfer-Encoding"] { #expect(headers[name] == []) }
  }

  @Test("the client's fields keep their order")
  func responseFields() throws {
    let fields = HTTPFields(HTTPHeaders([("A", "1"), ("b", "2"), ("not a name", "3"), ("a", "4")]))
    #expect(fields.map(\.value) == ["1", "2", "4"])
    #expect(fields[values: try #require(HTTPField.Name("a"))] == ["1", "4"])
  }
}
#endif
