import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Client certificates, custom authorities, TLS versions; and the errors if the handshake fails.
  @Suite struct TLSOptionTests {
    private let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      try folder.write("secret\n".utf8, to: "files/secret.txt")
    }

    private func dispatcher(_ change: (inout CurlTransport.Configuration) -> Void) throws -> URLDispatcher {
      var configuration = CurlTransport.Configuration()
      change(&configuration)
      return URLDispatcher(transport: try CurlTransport(configuration: configuration))
    }

    private func outcome(
      _ url: String, _ change: (inout CurlTransport.Configuration) -> Void
    ) async throws -> Result<Int, DispatchError> {
      let dispatcher = try dispatcher(change)
      defer { dispatcher.dispose() }
      do throws(DispatchError) {
        return .success(try await dispatcher.data(for: url).statusCode)
      } catch {
        return .failure(error)
      }
    }

    private func failure(
      _ url: String, _ change: (inout CurlTransport.Configuration) -> Void
    ) async throws -> DispatchError? {
      guard case .failure(let error) = try await outcome(url, change) else { return nil }
      return error
    }

    @Test("a server that requires a client certificate gets it, with an encrypted key or a plain one")
    func clientCertificate() async throws {
      let certificates = try await Certificates(in: folder)
      try await certificates.makeClient(password: "open sesame")
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        """
        server {
          listen 127.0.0.1:\(ports[0]) ssl http2; \(certificates.directives("here"))
          ssl_client_certificate \(certificates.authority); ssl_verify_client on;
        }
        """
      }
      let url = nginx.url("/secret.txt", scheme: "https")
      let (file, key, locked) = (folder.file("client.pem"), folder.file("client.key"), folder.file("client.locked"))
      for certificate in [
        CurlClientCertificate(file: file, keyFile: key),
        CurlClientCertificate(file: file, keyFile: locked, password: "open sesame"),
      ] {
        let status = try await outcome(url) {
          $0.trust = .authority(file: certificates.authority)
          $0.clientCertificate = certificate
        }
        #expect(try status.get() == 200)
      }
      // nginx itself answers requests without a certificate, by HTTP.
      #expect(try await outcome(url) { $0.trust = .authority(file: certificates.authority) }.get() == 400)
      for password in [nil, "wrong"] {
        let error = try await failure(url) {
          $0.trust = .authority(file: certificates.authority)
          $0.clientCertificate = CurlClientCertificate(file: file, keyFile: locked, password: password)
        }
        #expect(error?.code == .tlsFailed)
        #expect(error?.description.contains("check the files and the password") == true, "\(error as Any)")
      }
      await nginx.stop()
    }

    @Test("certificates are verified, and a TLS error says what was wrong, where, and what to do")
    func words() async throws {
      let certificates = try await Certificates(in: folder)
      try await certificates.makeExpired()
      let nginx = try await Nginx.start(ports: 5, in: folder) { ports in
        """
        server { listen 127.0.0.1:\(ports[0]) ssl; \(certificates.directives("here")) }
        server { listen 127.0.0.1:\(ports[1]) ssl; \(certificates.directives("other")) }
        server { listen 127.0.0.1:\(ports[2]) ssl; \(certificates.directives("expired")) }
        server { listen 127.0.0.1:\(ports[3]); }
        server { listen 127.0.0.1:\(ports[4]) ssl; \(certificates.directives("here")) ssl_protocols TLSv1.2; }
        """
      }
      let known = CurlTrust.authority(file: certificates.authority)
      let here = "127.0.0.1"
      let cases: [(Int, String, CurlTrust, CurlTLSVersion, String)] = [
        (0, here, .system, .tls12, "the server's certificate is not signed by a trusted authority"),
        (0, "localhost", .system, .tls12, "the server's certificate is not signed by a trusted authority"),
        (1, here, known, .tls12, "the certificate does not match the name 127.0.0.1"),
        (1, "localhost", known, .tls12, "the certificate does not match the name localhost"),
        (2, here, known, .tls12, "has expired"),
        (3, here, known, .tls12, "does not speak TLS: check the port"),
        (3, here, .insecure, .tls12, "does not speak TLS: check the port"),
        (4, here, known, .tls13, "no TLS version that is new enough"),
      ]
      for (port, host, trust, version, words) in cases {
        let url = nginx.url("/secret.txt", port: port, scheme: "https", host: host)
        let error = try await failure(url) { configuration in
          configuration.trust = trust
          configuration.minimumTLS = version
        }
        #expect(error?.code == .tlsFailed, "\(error as Any)")
        #expect(error?.phase == .securing, "\(error as Any)")
        #expect(error?.endPoint == (try EndPoint(url)), "\(error as Any)")
        #expect(error?.description.hasPrefix("\(host):\(nginx.ports[port]): ") == true, "\(error as Any)")
        #expect(error?.description.contains(words) == true, "\(error as Any)")
      }
      #expect(try await outcome(nginx.url("/secret.txt", port: 4, scheme: "https")) { $0.trust = known }.get() == 200)
      await nginx.stop()
      // No other request was sent; the port without TLS treats the handshake as a bad request.
      #expect(nginx.requests.count { $0.port == nginx.ports[4] && $0.status == 200 } == 1)
      let others = nginx.requests.filter { $0.port != nginx.ports[4] }
      #expect(others.allSatisfy { $0.port == nginx.ports[3] && $0.status == 400 })
    }

    @Test(
      "the error says so if a server ends the handshake because the client certificate is missing",
      arguments: ["-tls1_2", "-tls1_3"])
    func certificateRequired(version: String) async throws {
      let certificates = try await Certificates(in: folder)
      let server = try ServerProcess(
        [
          "/usr/bin/env", "openssl", "s_server", "-accept", "127.0.0.1:0", version, "-www", "-Verify", "1",
          "-verify_return_error", "-CAfile", certificates.authority, "-cert", folder.file("here.pem"), "-key",
          folder.file("here.key"),
        ], in: folder.path, output: folder.file("openssl"))
      // Its output contains its port.
      let port = try await eventually("openssl's server accepts") { [folder] () -> Substring? in
        folder.text(of: "openssl")?.firstMatch(of: /ACCEPT 127\.0\.0\.1:(\d+)\n/)?.output.1
      }
      let ended = try await failure("https://127.0.0.1:\(port)/") {
        $0.trust = .authority(file: certificates.authority)
      }
      await server.stop()
      #expect(ended?.code == .tlsFailed, "\(ended as Any)")
      #expect(ended?.description.contains("requires a client certificate") == true, "\(ended as Any)")
    }

    @Test("authorities in a folder are trusted like those in a file")
    func authorityFolder() async throws {
      let certificates = try await Certificates(in: folder)
      try folder.write(folder.bytes(of: "authority.pem") ?? [], to: "authorities/authority.pem")
      let tool = try await Tool("openssl", ["rehash", folder.file("authorities")])
      try #require(tool.status == 0, "\(tool.messages)")
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        "server { listen 127.0.0.1:\(ports[0]) ssl; \(certificates.directives("here")) }"
      }
      let url = nginx.url("/secret.txt", scheme: "https")
      #expect(try await outcome(url) { $0.trust = .authorities(folder: folder.file("authorities")) }.get() == 200)
      #expect(try await failure(url) { $0.trust = .authorities(folder: folder.file("files")) }?.code == .tlsFailed)
      await nginx.stop()
    }

    @Test(
      "a missing certificate file is detected when the transport is created, and an invalid one at the first request")
    func missing() async throws {
      let none = folder.file("none")
      let changes: [@Sendable (inout CurlTransport.Configuration) -> Void] = [
        { $0.trust = .authority(file: none) }, { $0.trust = .authority(file: "") },
        { $0.trust = .authorities(folder: none) },
        { $0.clientCertificate = CurlClientCertificate(file: none) },
      ]
      for change in changes {
        let error = #expect(throws: DispatchError.self) { try dispatcher(change) }
        #expect(error?.code == .tlsFailed)
        #expect(error?.description.contains("can't be read") == true)
      }
      // An unusable authority never disables verification.
      let certificates = try await Certificates(in: folder)
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        "server { listen 127.0.0.1:\(ports[0]) ssl; \(certificates.directives("here")) }"
      }
      try folder.write([], to: "empty")
      for file in ["empty", "files/secret.txt", "here.key"] {
        let error = try await failure(nginx.url("/secret.txt", scheme: "https")) {
          $0.trust = .authority(file: folder.file(file))
        }
        #expect(error?.code == .tlsFailed, "\(file): \(error as Any)")
      }
      await nginx.stop()
      #expect(nginx.requests.isEmpty)
    }
  }
}
