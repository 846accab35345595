import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Requests through a proxy, plain and over TLS.
  @Suite struct ProxyTests {
    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin(endPoints: 3)
    }

    private func startNginx() async throws -> (Nginx, Certificates) {
      let certificates = try await Certificates(in: folder)
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        """
        server {
          listen 127.0.0.1:\(ports[0]) ssl http2; \(certificates.directives("here"))
          location / { proxy_pass http://127.0.0.1:\(origin.port); }
        }
        """
      }
      return (nginx, certificates)
    }

    private func dispatcher(
      _ rule: CurlProxyRule, _ certificates: Certificates? = nil, requests: Int = 4
    ) throws -> (URLDispatcher, CurlTransport) {
      var configuration = CurlTransport.Configuration()
      configuration.proxy = rule
      if let certificates { configuration.trust = .authority(file: certificates.authority) }
      let transport = try CurlTransport(configuration: configuration)
      let limits = try GateLimits(endPoint: EndPointLimits(requests: requests))
      return (URLDispatcher(transport: transport, limits: limits), transport)
    }

    @Test("D72 plain requests share the proxy's sockets, within each end-point's limit and the proxy's total")
    func plain() async throws {
      let proxy = try await ProxyServer(in: folder)
      let rule = CurlProxyRule.through(try CurlProxy("http://127.0.0.1:\(proxy.port)", maxConnections: 5))
      let (dispatcher, transport) = try self.dispatcher(rule, requests: 3)
      let urls = (0..<90).map { origin.url("/bytes/10?delay=5", endPoint: $0 % 3) }
      #expect(await statuses(dispatcher, urls) == Array(repeating: 200, count: 90))
      for place in 0..<3 { #expect(origin.counts(endPoint: place).peakRequests <= 3) }
      #expect(proxy.entries.count == 90)
      #expect(proxy.entries.allSatisfy { $0.open <= 5 && $0.target.hasPrefix("GET http://127.0.0.1:") })
      #expect(proxy.entries.contains { $0.open == 5 })
      #expect(transport.openSockets(to: try EndPoint(host: "127.0.0.1", port: proxy.port)) == 5)
      #expect(transport.openSockets(to: try EndPoint(origin.url("/"))) == 0)
      await dispatcher.shutDown(.drain)
    }

    @Test("D72 requests over TLS use tunnels, as many as their end-point and the proxy allow")
    func tunnels() async throws {
      let (nginx, certificates) = try await startNginx()
      let proxy = try await ProxyServer(in: folder)
      let rule = CurlProxyRule.through(try CurlProxy("127.0.0.1:\(proxy.port)"))
      let (dispatcher, _) = try self.dispatcher(rule, certificates, requests: 3)
      let url = nginx.url("/bytes/10?delay=5", scheme: "https")
      let response = try await dispatcher.data(for: url)
      // The proxy's reply to the tunnel request is not part of the response.
      #expect(response.headerFields[try #require(HTTPField.Name("X-Proxy"))] == nil)
      #expect(await statuses(dispatcher, Array(repeating: url, count: 40)) == Array(repeating: 200, count: 40))
      #expect(try await nginx.connections().accepted == 3)
      #expect(proxy.entries.map(\.target) == Array(repeating: "CONNECT 127.0.0.1:\(nginx.ports[0])", count: 3))
      // A stream also has a place within the end-point's limit.
      let stream = try await dispatcher.stream(for: DispatchRequest(url))
      _ = try await stream.body.collect(upTo: 100)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.allSatisfy { $0.open <= 3 && !$0.isHTTP2 })
    }

    @Test("an idle tunnel is closed for one to another end-point, if the proxy allows no more")
    func otherTunnels() async throws {
      let certificates = try await Certificates(in: folder)
      let nginx = try await Nginx.start(ports: 3, in: folder) { ports in
        ports.prefix(3).map {
          "server { listen 127.0.0.1:\($0) ssl; \(certificates.directives("here")) return 200 whole; }"
        }
        .joined(separator: "\n")
      }
      let proxy = try await ProxyServer(in: folder)
      let rule = CurlProxyRule.through(try CurlProxy("127.0.0.1:\(proxy.port)", maxConnections: 2))
      let (dispatcher, _) = try self.dispatcher(rule, certificates, requests: 3)
      for number in 0..<9 {
        let url = nginx.url("/", port: number % 3, scheme: "https")
        #expect(await statuses(dispatcher, [url, url]) == [200, 200])
      }
      await dispatcher.shutDown(.drain)
      await nginx.stop()
    }

    @Test("a proxy's credentials go only to the proxy, and fields for the end-point do not go to the proxy")
    func credentials() async throws {
      let (nginx, certificates) = try await startNginx()
      let proxy = try await ProxyServer(in: folder, credentials: "ada:se:cret")
      let rule = CurlProxyRule.through(try CurlProxy("http://ada:se%3Acret@127.0.0.1:\(proxy.port)"))
      let (dispatcher, _) = try self.dispatcher(rule, certificates)
      let name = try #require(HTTPField.Name("X-Echo-Proxy-Authorization"))
      for url in [origin.url("/echo"), nginx.url("/echo", scheme: "https")] {
        var request = try DispatchRequest(url)
        request.headerFields[.authorization] = "mine"
        let response = try await dispatcher.data(for: request)
        #expect(response.statusCode == 200)
        #expect(response.headerFields[name] == nil)
        #expect(response.headerFields[try #require(HTTPField.Name("X-Echo-Authorization"))] == "mine")
      }
      #expect(proxy.entries.count == 2)
      #expect(proxy.entries[1].target.hasPrefix("CONNECT"))
      #expect(proxy.entries[1].fields.contains("proxy-authorization"))
      #expect(!proxy.entries[1].fields.contains("authorization"))
      // A credential in the request goes to the proxy too, and not through its tunnel.
      let (bare, _) = try self.dispatcher(.through(try CurlProxy("127.0.0.1:\(proxy.port)")), certificates)
      var request = try DispatchRequest(nginx.url("/echo", scheme: "https"))
      request.headerFields[.proxyAuthorization] = "Basic YWRhOnNlOmNyZXQ="
      let response = try await bare.data(for: request)
      #expect(response.headerFields[name] == nil)
      await dispatcher.shutDown(.drain)
      await bare.shutDown(.drain)
      await nginx.stop()
    }

    @Test("D72 errors name the proxy and its failure, and contain no password")
    func errors() async throws {
      let proxy = try await ProxyServer(in: folder, credentials: "ada:secret", refuses: ":99")
      func failure(_ proxy: String, _ url: String) async throws -> DispatchError? {
        let (dispatcher, _) = try self.dispatcher(.through(try CurlProxy(proxy)))
        defer { dispatcher.dispose() }
        do throws(DispatchError) {
          _ = try await dispatcher.data(for: url)
          return nil
        } catch {
          return error
        }
      }
      let known = "http://ada:secret@127.0.0.1:\(proxy.port)"
      let here = "the proxy http://127.0.0.1:\(proxy.port)"
      let cases: [(String, String, DispatchError.Code, DispatchError.Phase, String)] = [
        (
          "http://bob:secret@127.0.0.1:\(proxy.port)", "https://h.test/", .proxyFailed, .tunnelling,
          "\(here) requires valid credentials"
        ),
        (known, "https://h.test:99/", .proxyFailed, .tunnelling, "\(here) answered the tunnel request with 403"),
        (known, "https://127.0.0.1:1/", .proxyFailed, .tunnelling, "\(here) did not open a tunnel"),
        ("http://ada:secret@127.0.0.1:1", "https://h.test/", .connectFailed, .connecting, "could not be reached"),
        (
          "http://ada:secret@127.0.0.1:1", "http://h.test/", .connectFailed, .connecting, "the proxy http://127.0.0.1:1"
        ),
        (
          "socks5://ada:secret@127.0.0.1:1", "http://h.test/", .connectFailed, .connecting,
          "the proxy socks5://127.0.0.1:1"
        ),
        ("http://nowhere.invalid:1", "http://h.test/", .nameNotResolved, .name, "the proxy http://nowhere.invalid:1"),
      ]
      for (proxy, url, code, phase, words) in cases {
        let error = try await failure(proxy, url)
        #expect(error?.code == code, "\(error as Any)")
        #expect(error?.phase == phase, "\(error as Any)")
        #expect(error?.endPoint == (try EndPoint(url)))
        #expect(error?.description.contains(words) == true, "\(error as Any)")
        #expect(error?.description.contains("secret") == false, "\(error as Any)")
      }
      // The end-point's certificate is not the proxy's.
      let (nginx, _) = try await startNginx()
      let untrusted = try await failure(known, nginx.url("/", scheme: "https"))
      #expect((untrusted?.code, untrusted?.phase) == (.tlsFailed, .securing))
      #expect(untrusted?.description.contains("not signed by a trusted authority") == true, "\(untrusted as Any)")
      #expect(untrusted?.description.contains("proxy") == false, "\(untrusted as Any)")
      await nginx.stop()
      // A plain request's 407 is a response, to which a delegate may reply.
      let (dispatcher, _) = try self.dispatcher(.through(try CurlProxy("127.0.0.1:\(proxy.port)")))
      #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 407)
      await dispatcher.shutDown(.drain)
    }
  }
}
