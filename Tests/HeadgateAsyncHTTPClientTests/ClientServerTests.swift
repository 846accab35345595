#if AsyncHTTPClient
import Foundation
import HTTPTypes
import HeadgateAsyncHTTPClient
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

/// The transport over async-http-client against a server with features that the origin lacks: TLS, trailers,
/// Unix-domain sockets, early answers, and connections that end when they are reused.
@Suite struct ClientServerTests {
  private func dispatcher(
    _ configuration: AsyncHTTPClientTransport.Configuration = .init(), requests: Int = 1
  ) throws -> URLDispatcher {
    URLDispatcher(
      transport: try AsyncHTTPClientTransport(configuration: configuration),
      limits: try GateLimits(endPoint: EndPointLimits(requests: requests)))
  }

  private func failure(_ dispatcher: URLDispatcher, _ request: DispatchRequest) async -> DispatchError? {
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      return nil
    } catch {
      return error
    }
  }

  // MARK: TLS

  private func serverTLS(asksClient: Bool = false) throws -> TLSConfiguration {
    var tls = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.certificate.utf8))
        .map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(TestCertificates.key.utf8), format: .pem)))
    if asksClient {
      tls.certificateVerification = .noHostnameVerification
      tls.trustRoots = try authority()
    }
    return tls
  }

  private func authority() throws -> NIOSSLTrustRoots {
    .certificates(try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.authority.utf8)))
  }

  private func trusting() throws -> AsyncHTTPClientTransport.Configuration {
    var configuration = AsyncHTTPClientTransport.Configuration()
    configuration.tls.trustRoots = try authority()
    return configuration
  }

  @Test("TLS with a custom authority; its times include the handshake once, and none on a reused connection")
  func ownAuthority() async throws {
    let server = try await ScriptedServer(tls: serverTLS()) { _ in .respond(.ok, body: "secret") }
    let dispatcher = try dispatcher(trusting())
    let first = try await dispatcher.data(for: "https://localhost:\(server.port)/")
    #expect(first.text == "secret")
    #expect(first.times.exchange.tls > .zero)
    #expect(first.times.exchange.firstByte >= first.times.exchange.tls)
    let second = try await dispatcher.data(for: "https://localhost:\(server.port)/")
    #expect(second.times.exchange.tls == .zero)
    #expect(second.times.exchange.connect == .zero)
    #expect(server.connections == 1)
    await dispatcher.shutDown()
    await server.stop()
  }

  @Test("an untrusted certificate ends the request in TLS, unless verification is disabled by name")
  func verification() async throws {
    let server = try await ScriptedServer(tls: serverTLS()) { _ in .respond(.ok, body: "secret") }
    let request = try DispatchRequest("https://localhost:\(server.port)/")
    let strict = try dispatcher()
    let error = try #require(await failure(strict, request))
    #expect(error.code == .tlsFailed, "\(error)")
    #expect(error.phase == .securing, "\(error)")
    #expect(server.requests.isEmpty)
    await strict.shutDown()
    var configuration = AsyncHTTPClientTransport.Configuration()
    configuration.tls.certificateVerification = .none
    let insecure = try dispatcher(configuration)
    #expect(try await insecure.data(for: request).text == "secret")
    await insecure.shutDown()
    await server.stop()
  }

  @Test("a server that requires the client's certificate gets it, and refuses clients without one")
  func clientCertificate() async throws {
    let server = try await ScriptedServer(tls: serverTLS(asksClient: true)) { _ in .respond(.ok, body: "secret") }
    let request = try DispatchRequest("https://localhost:\(server.port)/")
    let nobody = try dispatcher(trusting())
    #expect(await failure(nobody, request) != nil)
    await nobody.shutDown()
    var configuration = try trusting()
    configuration.tls.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.certificate.utf8))
      .map { .certificate($0) }
    configuration.tls.privateKey = .privateKey(
      try NIOSSLPrivateKey(bytes: Array(TestCertificates.key.utf8), format: .pem))
    let known = try dispatcher(configuration)
    #expect(try await known.data(for: request).text == "secret")
    await known.shutDown()
    await server.stop()
  }

  @Test("a missing file of authorities is detected when the transport is made")
  func missingFile() {
    var configuration = AsyncHTTPClientTransport.Configuration()
    configuration.tls.trustRoots = .file("/nonexistent/authority.pem")
    let error = #expect(throws: DispatchError.self) { try AsyncHTTPClientTransport(configuration: configuration) }
    #expect(error?.code == .tlsFailed)
  }

  @Test("a server without TLS ends the request in TLS")
  func noTLS() async throws {
    let server = try await ScriptedServer { _ in .respond(.ok) }
    let dispatcher = try dispatcher()
    let error = await failure(dispatcher, try DispatchRequest("https://127.0.0.1:\(server.port)/"))
    #expect(error?.code == .tlsFailed, "\(String(describing: error))")
    await dispatcher.shutDown()
    await server.stop()
  }

  // // MARK: Trailers, and sockets by path

  @Test("trailers are delivered with the response, also without a body")
  func trailers() async throws {
    let server = try await ScriptedServer { request in
      .respond(.ok, body: request.head.uri == "/empty" ? "" : "body", trailers: ["X-Sum": "seven", "x-sum": "eight"])
    }
    let dispatcher = try dispatcher()
    let name = try #require(HTTPField.Name("X-Sum"))
    for path in ["/", "/empty", "/"] {
      var request = try DispatchRequest("http://127.0.0.1:\(server.port)\(path)")
      request.requires = .trailers
      let response = try await dispatcher.data(for: request)
      #expect(response.trailers[values: name] == ["seven", "eight"])
      let streamed = try await dispatcher.stream(for: request)
      #expect(try await streamed.body.collect(upTo: 10).count == (path == "/" ? 4 : 0))
      #expect(streamed.body.trailers[values: name] == ["seven", "eight"])
    }
    await dispatcher.shutDown()
    await server.stop()
  }

  @Test("a Unix-domain socket is requested by its path, as localhost")
  func unixSocket() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "hg-\(UUID().uuidString.prefix(8)).sock").path
    let server = try await ScriptedServer(unixSocket: path) { _ in .respond(.ok, body: "here") }
    let dispatcher = try dispatcher()
    let escaped = path.replacingOccurrences(of: "/", with: "%2F")
    #expect(try await dispatcher.data(for: "http+unix://\(escaped)/a/b?c=d").text == "here")
    #expect(server.requests.first?.head.uri == "/a/b?c=d")
    #expect(server.requests.first?.head.headers["Host"] == ["localhost"])
    await dispatcher.shutDown()
    await server.stop()
  }

  // // MARK: Connections that end

  @Test("D122 a connection that ends when it is reused: repeatable requests go to another, the rest fails")
  func idleConnection() async throws {
    let server = try await ScriptedServer { $0.number == 1 ? .respond(.ok, body: "\($0.connection)") : .close }
    let dispatcher = try dispatcher()
    let url = "http://127.0.0.1:\(server.port)/"
    #expect(try await dispatcher.data(for: url).text == "1")
    #expect(try await dispatcher.data(for: url).text == "2")
    var put = try DispatchRequest(url, method: .put, body: RequestBody([UInt8](repeating: 1, count: 1000)))
    #expect(try await dispatcher.data(for: put).text == "3")
    #expect(server.requests.last?.bytes == 1000)
    // A body that can't be read again is not resent.
    put.body = RequestBody(
      AsyncStream<[UInt8]> {
        $0.yield([1]); $0.finish()
      })
    #expect(await failure(dispatcher, put)?.code == .connectionLost)
    #expect(try await dispatcher.data(for: url).text == "4")
    let post = try DispatchRequest(url, method: .post)
    #expect(await failure(dispatcher, post)?.code == .connectionLost)
    #expect(server.requests.count == 8)
    await dispatcher.shutDown()
    await server.stop()
  }

  @Test("a body that was half sent on such a connection is sent whole over another")
  func bodyAgain() async throws {
    let server = try await ScriptedServer(at: .atHead) { $0.number == 1 ? .respond(.ok) : .close }
    let dispatcher = try dispatcher()
    let url = "http://127.0.0.1:\(server.port)/"
    let put = try DispatchRequest(url, method: .put, body: RequestBody([UInt8](repeating: 1, count: 5_000_000)))
    for _ in 0..<10 {
      _ = try await dispatcher.data(for: url)
      #expect(try await dispatcher.data(for: put).statusCode == 200)
    }
    #expect(server.requests.filter { $0.bytes > 0 }.allSatisfy { $0.bytes == 5_000_000 })
    #expect(server.requests.contains { $0.bytes > 0 })
    await dispatcher.shutDown()
    await server.stop()
  }

  @Test("a server that ends every connection is asked once")
  func deadServer() async throws {
    let server = try await ScriptedServer { _ in .close }
    let dispatcher = try dispatcher(requests: 4)
    let error = await failure(dispatcher, try DispatchRequest("http://127.0.0.1:\(server.port)/"))
    #expect(error?.code == .connectionLost)
    #expect(error?.phase == .awaitingHead)
    #expect(server.requests.count == 1)
    await dispatcher.shutDown()
    await server.stop()
  }

  // // MARK: Early answers

  /// Pieces that report when they have been released.
  private struct Pieces: AsyncSequence, Sendable {
    private final class Token: Sendable {
      let gone: Gate
      init(_ gone: Gate) { self.gone = gone }
      deinit { gone.open() }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
      var left: Int
      mutating func next() async -> [UInt8]? {
        left -= 1
        return left < 0 ? nil : [UInt8](repeating: 1, count: 64 * 1024)
      }
    }

    let count: Int
    private let token: Token

    init(_ count: Int, gone: Gate) {
      self.count = count
      token = Token(gone)
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(left: count) }
  }

  private func refused(_ dispatcher: URLDispatcher, _ url: String, gone: Gate) async throws -> DispatchResponse {
    try await dispatcher.data(for: DispatchRequest(url, method: .put, body: RequestBody(Pieces(1000, gone: gone))))
  }

  @Test(
    "D05 a refusal while the upload is stuck is delivered whole, closes the connection, and leaves nothing of the upload",
    arguments: ["no", ""], [false, true])
  func refusal(_ body: String, isSecure: Bool) async throws {
    let server = try await ScriptedServer(tls: isSecure ? serverTLS() : nil, at: .unread) { _ in
      .respond(.payloadTooLarge, body: body)
    }
    var configuration = try trusting()
    // A server that doesn't read doesn't answer the end of TLS either.
    configuration.tls.shutdownTimeout = .hours(1)
    let dispatcher = try dispatcher(configuration)
    let gone = Gate()
    let url = isSecure ? "https://localhost:\(server.port)/" : "http://127.0.0.1:\(server.port)/"
    let response = try await refused(dispatcher, url, gone: gone)
    #expect(response.statusCode == 413)
    #expect(response.text == body)
    try await gone.wait()
    await dispatcher.shutDown()
    await server.stop()
  }

  @Test("an upload over TLS that a server does not read leaves its connection as soon as it is cancelled")
  func cancelledUpload() async throws {
    let server = try await ScriptedServer(tls: serverTLS(), at: .unread) { request in
      request.head.method == .PUT ? .wait : .respond(.ok, body: "next")
    }
    var configuration = try trusting()
    configuration.tls.shutdownTimeout = .hours(1)
    let dispatcher = try dispatcher(configuration)
    let url = "https://localhost:\(server.port)/"
    let put = try DispatchRequest(url, method: .put, body: RequestBody([UInt8](repeating: 1, count: 20_000_000)))
    let task = Task {
      defer { server.answered.open() }
      return await failure(dispatcher, put)
    }
    try await server.answered.wait()
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    #expect(try await dispatcher.data(for: url).text == "next")
    await dispatcher.shutDown()
    await server.stop()
  }

  @Test("a body that fails during a response without a length fails the request")
  func failedBody() async throws {
    let server = try await ScriptedServer(at: .atHead) { _ in .begin(body: "part") }
    let dispatcher = try dispatcher()
    let (pieces, end) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    end.yield([1])
    let put = try DispatchRequest(
      "http://127.0.0.1:\(server.port)/", method: .put, body: RequestBody(pieces))
    let response = try await dispatcher.stream(for: put)
    var bytes = response.body.makeAsyncIterator()
    #expect(try await bytes.next().map { Array($0) } == Array("part".utf8))
    end.finish(throwing: CancellationError())
    do {
      #expect(try await bytes.next() == nil)
      Issue.record("the response is not whole")
    } catch {
      #expect(error.code == .bodyFailed, "\(error)")
    }
    await dispatcher.shutDown()
    await server.stop()
  }

  @Test("a success before the body was sent does not end the upload")
  func earlySuccess() async throws {
    let answered = Gate()
    let server = try await ScriptedServer(at: .atHead) { _ in
      answered.open()
      return .respond(.ok, body: "fine")
    }
    let dispatcher = try dispatcher()
    let url = "http://127.0.0.1:\(server.port)/"
    let pieces = AsyncStream<[UInt8]> { continuation in
      continuation.yield([UInt8](repeating: 1, count: 100_000))
      Task {
        try? await answered.wait()
        for _ in 0..<100 { continuation.yield([UInt8](repeating: 1, count: 10_000)) }
        continuation.finish()
      }
    }
    let put = try DispatchRequest(url, method: .put, body: RequestBody(pieces))
    #expect(try await dispatcher.data(for: put).text == "fine")
    #expect(try await dispatcher.data(for: url).text == "fine")
    #expect(server.connections == 1)
    #expect(server.requests.first?.bytes == 1_100_000)
    await dispatcher.shutDown()
    await server.stop()
  }
}
#endif
