import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// TLS, against nginx with temporary certificates.
  @Suite struct TLSTests {
    private let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      try folder.write("secret\n".utf8, to: "files/secret.txt")
    }

    /// The first port has a certificate for this machine, the second one for another name.
    private func startNginx(_ certificates: Certificates) async throws -> Nginx {
      try await Nginx.start(ports: 2, in: folder) { ports in
        """
        server { listen 127.0.0.1:\(ports[0]) ssl; \(certificates.directives("here")) }
        server { listen 127.0.0.1:\(ports[1]) ssl; \(certificates.directives("other")) }
        """
      }
    }

    private func dispatcher(_ trust: CurlTrust, requests: Int = 4) throws -> URLDispatcher {
      var configuration = CurlTransport.Configuration()
      configuration.trust = trust
      return URLDispatcher(
        transport: try CurlTransport(configuration: configuration),
        limits: try GateLimits(endPoint: EndPointLimits(requests: requests)))
    }

    private func failure(_ url: String, _ trust: CurlTrust) async throws -> DispatchError? {
      let dispatcher = try dispatcher(trust)
      defer { dispatcher.dispose() }
      do throws(DispatchError) {
        _ = try await dispatcher.data(for: url)
        return nil
      } catch {
        return error
      }
    }

    @Test("A known authority, or disabled verification, lets the request succeed, and its times include the handshake")
    func trust() async throws {
      let certificates = try await Certificates(in: folder)
      let nginx = try await startNginx(certificates)
      let known = CurlTrust.authority(file: certificates.authority)
      let cases = [
        (nginx.url("/secret.txt", scheme: "https"), known),
        (nginx.url("/secret.txt", scheme: "https", host: "localhost"), known),
        (nginx.url("/secret.txt", scheme: "https"), CurlTrust.insecure),
        (nginx.url("/secret.txt", port: 1, scheme: "https"), CurlTrust.insecure),
      ]
      for (url, trust) in cases {
        let dispatcher = try dispatcher(trust)
        let response = try await dispatcher.data(for: url)
        #expect(response.statusCode == 200)
        #expect(response.text == "secret\n")
        let times = response.times.exchange
        #expect(times.connect > .zero)
        #expect(times.tls > times.connect)
        #expect(times.firstByte >= times.tls)
        #expect(times.total >= times.firstByte)
        // An open connection needs no handshake.
        let second = try await dispatcher.data(for: url)
        #expect(second.statusCode == 200)
        #expect(second.times.exchange.tls == .zero)
        await dispatcher.shutDown(.drain)
      }
      await nginx.stop()
    }

    @Test("The command verifies certificates by default: exit status 5")
    func command() async throws {
      let certificates = try await Certificates(in: folder)
      let nginx = try await startNginx(certificates)
      let url = nginx.url("/secret.txt", scheme: "https")
      let strict = try await Fetched([url, "-P", "@/strict"], in: folder)
      #expect(strict.status == 5)
      #expect(strict.records.map(\.error) == ["tls_failed"])
      #expect(folder.names(in: "strict").isEmpty)
      for option in [["--cacert", certificates.authority], ["--insecure"]] {
        let fetched = try await Fetched([url, "-P", "@/out", "--overwrite"] + option, in: folder)
        #expect(fetched.status == 0)
        #expect(folder.text(of: "out/secret.txt") == "secret\n")
        #expect(try #require(fetched.byURL[url]?.tls) > 0)
      }
      await nginx.stop()
    }

    @Test("Forty requests under a limit of two use two TLS connections")
    func limit() async throws {
      let certificates = try await Certificates(in: folder)
      let origin = try Origin(script: OriginScript(delay: .milliseconds(25)))
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        """
        limit_conn_zone $server_port zone=port:1m; limit_conn port 2; limit_conn_status 503;
        server {
          listen 127.0.0.1:\(ports[0]) ssl;
          \(certificates.directives("here"))
          location / { proxy_pass http://127.0.0.1:\(origin.port); }
        }
        """
      }
      let dispatcher = try dispatcher(.authority(file: certificates.authority), requests: 2)
      let url = nginx.url("/bytes/1000", scheme: "https")
      let statuses = await withTaskGroup(of: Int?.self) { group in
        for _ in 0..<40 { group.addTask { try? await dispatcher.data(for: url).statusCode } }
        return await group.reduce(into: [Int?]()) { $0.append($1) }
      }
      #expect(statuses == Array(repeating: 200, count: 40))
      let connections = try await nginx.connections()
      #expect(connections.accepted == 2)
      #expect(connections.open == 2)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.count == 40)
      #expect(nginx.requests.allSatisfy { $0.status == 200 && $0.open <= 2 })
      #expect(Set(nginx.requests.map(\.connection)).count == 2)
      #expect(origin.counts().peakRequests == 2)
    }

    @Test("Plain and secure requests to one port share its limit: idle connections in excess of it are closed")
    func bothSchemes() async throws {
      let certificates = try await Certificates(in: folder)
      let nginx = try await startNginx(certificates)
      let dispatcher = try dispatcher(.authority(file: certificates.authority), requests: 1)
      for _ in 0..<3 {
        #expect(try await dispatcher.data(for: nginx.url("/secret.txt", scheme: "https")).statusCode == 200)
        // nginx's answer to plain HTTP on a TLS port.
        #expect(try await dispatcher.data(for: nginx.url("/secret.txt")).statusCode == 400)
      }
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      #expect(nginx.requests.count == 6)
      #expect(nginx.requests.allSatisfy { $0.open <= 1 })
    }

    @Test(
      "C07 RFC 9112 9.8: a body that ends with the connection is complete only after the server's closing alert",
      arguments: [true, false], [true, false])
    func closingAlert(isSent: Bool, isChunked: Bool) async throws {
      let certificates = try await Certificates(in: folder)
      let script = """
        import os, socket, ssl
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("\(folder.file("here.pem"))", "\(folder.file("here.key"))")
        listener = socket.create_server(("127.0.0.1", 0))
        print("ready", os.getpid(), listener.getsockname()[1], flush=True)
        while True:
          client = context.wrap_socket(listener.accept()[0], server_side=True)
          client.recv(65536)
          client.sendall(b"HTTP/1.1 200 OK\\r\\n\(isChunked ? "Transfer-Encoding: chunked\\r\\n" : "")\\r\\n5\\r\\nparts\\r\\n")
          try:
            if \(isSent ? "True" : "False"): client.unwrap()
          except OSError: pass
          client.close()
        """
      try folder.write(script.utf8, to: "server.py")
      let server = try ServerProcess(
        ["/usr/bin/env", ServerProcess.python, folder.file("server.py")], in: folder.path, output: folder.file("said"))
      let port = try await server.waitForPort(saidIn: "said", of: folder)
      let error = try await failure(
        "https://127.0.0.1:\(port)/", .authority(file: certificates.authority))
      // Chunks without a last one are never complete.
      #expect(error?.code == (isSent && !isChunked ? nil : .connectionLost), "\(error as Any)")
      await server.stop()
    }
  }
}
