import HTTPTypes
import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// Tokens are not sent over insecure connections.
@Suite struct BearerTokensPlainTests {
  private func token(
    _ url: String, overPlainHTTP: Bool? = nil
  ) async throws -> String? {
    let endPoint = try DispatchRequest(url).endPoint
    let fetch: @Sendable (TokenFetch) async throws -> BearerToken? = { _ in BearerToken("t") }
    let tokens =
      overPlainHTTP.map { BearerTokens(for: endPoint, overPlainHTTP: $0, fetch: fetch) }
      ?? BearerTokens(for: endPoint, fetch: fetch)
    let bench = try Bench(transport: ScriptedTransport(capabilities: .unixSockets), interceptors: [tokens])
    let responses = Responses()
    bench.send(try DispatchRequest(url), into: responses)
    let exchange = try await bench.transport.next()
    exchange.respond()
    await bench.dispatcher.shutDown()
    return exchange.request.headerFields[.authorization]
  }

  @Test(
    "a token is sent over TLS and to this machine, over plain http only if allowed",
    arguments: [
      ("https://a/", true), ("https://a:80/", true), ("http://a/", false), ("http://a:443/", false),
      ("http://10.0.0.1/", false),
      ("http://localhost:81/", true), ("http://127.0.0.1/", true), ("http://127.9.9.9/", true),
      ("http://[::1]:81/", true),
      ("http://127.0.0.1.example/", false), ("http://localhost.example/", false), ("http+unix://%2Fx/", true),
    ])
  func plain(url: String, isGiven: Bool) async throws {
    for said in [nil, false] {
      #expect(try await token(url, overPlainHTTP: said) == (isGiven ? "Bearer t" : nil))
    }
    #expect(try await token(url, overPlainHTTP: true) == "Bearer t")
  }

  @Test("a redirect from https to http on the same port carries no token")
  func downgrade() async throws {
    let tokens = BearerTokens(for: try EndPoint("https://a:8443/"), token: BearerToken("t")) { _ in nil }
    let bench = try Bench(interceptors: [tokens])
    let responses = Responses()
    var request = try DispatchRequest("https://a:8443/")
    request.redirects = .all
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    #expect(first.request.headerFields[.authorization] == "Bearer t")
    first.respond(302, [.location: "http://a:8443/"])
    let second = try await bench.transport.next()
    #expect(second.request.endPoint == first.request.endPoint && !second.request.isSecure)
    #expect(second.request.headerFields[.authorization] == nil)
    second.respond()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }
}
