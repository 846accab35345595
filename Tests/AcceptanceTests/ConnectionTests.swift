import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Connections and bodies, against nginx.
  @Suite struct ConnectionTests {
    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin()
    }

    private func dispatcher(_ requests: Int) throws -> URLDispatcher {
      URLDispatcher(
        transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: requests)))
    }

    private func startNginx(_ directives: String = "") async throws -> Nginx {
      try await Nginx.start(ports: 1, in: folder) { ports in
        """
        server {
          listen 127.0.0.1:\(ports[0]);
          \(directives)
          location /origin/ { proxy_pass http://127.0.0.1:\(origin.port)/; }
        }
        """
      }
    }

    private func statuses(_ urls: [String], _ dispatcher: URLDispatcher) async -> [Int?] {
      await withTaskGroup(of: Int?.self) { group in
        for url in urls { group.addTask { try? await dispatcher.data(for: url).statusCode } }
        return await group.reduce(into: []) { $0.append($1) }
      }
    }

    @Test("D123 five hundred requests at a limit of four open four connections in all")
    func keepAlive() async throws {
      try folder.write("text\n".utf8, to: "files/text")
      let nginx = try await startNginx()
      let dispatcher = try dispatcher(4)
      // Four at once, so that four connections are certainly needed.
      let (held, url) = (Array(repeating: nginx.url("/origin/hold"), count: 4), nginx.url("/text"))
      async let first = statuses(held, dispatcher)
      #expect(await origin.waitUntil({ $0.requests == 4 }, until: .after(.seconds(60))))
      async let rest = statuses(Array(repeating: url, count: 496), dispatcher)
      origin.release()
      #expect(await first + rest == Array(repeating: 200, count: 500))
      let connections = try await nginx.connections()
      #expect(connections.accepted == 4)
      #expect(connections.open == 4)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.count == 500)
      #expect(Set(nginx.requests.map(\.connection)).count == 4)
      #expect(nginx.requests.allSatisfy { $0.open <= 4 })
    }

    @Test("A body that nginx compresses is decompressed in memory, and streamed as the server encoded it")
    func gzip() async throws {
      let text = (0..<5_000).map { "line \($0) of a text that nginx compresses\n" }.joined()
      try folder.write(text.utf8, to: "files/text")
      let nginx = try await startNginx("gzip on; gzip_types text/plain; gzip_min_length 1;")
      let dispatcher = try dispatcher(4)
      let url = nginx.url("/text")

      let response = try await dispatcher.data(for: url)
      #expect(response.head[.contentEncoding] == "gzip")
      #expect(response.text == text)

      var request = try DispatchRequest(url)
      let plain = try await dispatcher.stream(for: request)
      #expect(plain.head[.contentEncoding] == nil)
      #expect(try await plain.body.collect(upTo: 1 << 20) == Array(text.utf8))

      request.headerFields[.acceptEncoding] = "gzip"
      let encoded = try await dispatcher.stream(for: request)
      #expect(encoded.head[.contentEncoding] == "gzip")
      let bytes = try await encoded.body.collect(upTo: 1 << 20)
      #expect(bytes.count < text.utf8.count / 2)
      try folder.write(bytes, to: "text.gz")
      let inflated = try await Tool("gzip", ["-dc", folder.file("text.gz")])
      #expect(inflated.status == 0 && inflated.output == Array(text.utf8))

      await dispatcher.shutDown(.drain)
      await nginx.stop()
    }

    @Test("D122 a server that closes idle connections loses no request, and its limit is never exceeded")
    func idleConnectionsThatEnd() async throws {
      let nginx = try await startNginx("keepalive_timeout 1s;")
      let dispatcher = try dispatcher(2)
      let urls = Array(repeating: nginx.url("/origin/delay/20"), count: 6)
      for round in 1...3 {
        #expect(await statuses(urls, dispatcher) == Array(repeating: 200, count: 6))
        #expect(try await nginx.connections().accepted >= 2 * round)
        try await eventually("nginx closes what is idle") { try await nginx.connections().open == 0 ? () : nil }
      }
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.count == 18)
      #expect(nginx.requests.allSatisfy { $0.status == 200 && $0.open <= 2 })
    }

    @Test(
      "The environment's proxies are used as by curl: http_proxy in lower case only, and not for the hosts in no_proxy",
      .enabled(if: Tool.headgate != nil, "the program was not built along with the tests"))
    func proxies() async throws {
      try folder.write("direct\n".utf8, to: "files/text")
      let nginx = try await startNginx()
      let headgate = try #require(Tool.headgate)
      // No server listens there: requests through the proxy fail.
      let dead = "http://127.0.0.1:1"
      let cases: [([String: String], Bool)] = [
        (["http_proxy": dead], false), (["all_proxy": dead], false), (["ALL_PROXY": dead], false),
        (["HTTP_PROXY": dead], true), (["https_proxy": dead, "HTTPS_PROXY": dead], true),
        (["http_proxy": dead, "no_proxy": "h.test, 127.0.0.1"], true), (["all_proxy": dead, "NO_PROXY": "*"], true),
      ]
      for (set, isDirect) in cases {
        let none = ["http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"].filter { set[$0] == nil }
        let fetched = try await Tool(
          "env", none.flatMap { ["-u", $0] } + [headgate, "fetch", nginx.url("/text")], environment: set)
        #expect((fetched.status == 0) == isDirect, "\(set): \(fetched.messages)")
        #expect(fetched.output == (isDirect ? Array("direct\n".utf8) : []))
      }
      await nginx.stop()
      #expect(nginx.requests.count == cases.filter(\.1).count)
    }
  }
}
