import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import Testing

extension AcceptanceTests {
  /// Servers behind Unix-domain sockets.
  @Suite struct UnixSocketTests {
    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin()
      try folder.write("one\n".utf8, to: "files/one.txt")
    }

    /// Two sockets; requests to them are passed on to the origin, except for the files.
    private func startNginx(_ directives: String = "") async throws -> Nginx {
      try await Nginx.start(ports: 1, in: folder) { _ in
        (1...2).map { number in
          """
          server {
            listen unix:\(folder.file("\(number).sock"));
            \(directives)
            location = /one.txt { }
            location = /host { return 200 "$host$uri"; }
            location = /go { return 302 /one.txt; }
            location = /away { return 302 http+unix://%2Frun%2Fx.sock/; }
            location / { proxy_pass http://127.0.0.1:\(origin.port); }
          }

          """
        }.joined()
      }
    }

    private func url(_ path: String, socket: Int = 1) -> String {
      "http+unix://" + folder.file("\(socket).sock").split(separator: "/").map { "%2F" + $0 }.joined() + path
    }

    @Test("D71 a server on a Unix-domain socket is requested like any other; each path has its own limit")
    func limits() async throws {
      let nginx = try await startNginx()
      let transport = try CurlTransport()
      let dispatcher = URLDispatcher(
        transport: transport, limits: try GateLimits(endPoint: EndPointLimits(requests: 2)))
      #expect(try await dispatcher.data(for: url("/one.txt")).text == "one\n")
      #expect(try await dispatcher.data(for: url("/host")).text == "localhost/host")
      origin.holdFirst(4)
      async let all = statuses(dispatcher, (0..<60).map { url("/bytes/100", socket: 1 + $0 % 2) })
      #expect(await origin.release(atRequests: 4))
      #expect(await all == Array(repeating: 200, count: 60))
      // Two for each of the two.
      #expect(origin.counts().peakRequests == 4)
      #expect(transport.openSockets(to: try EndPoint(unixSocket: folder.file("1.sock"))) == 2)
      #expect(try await nginx.connections().accepted == 4)
      await dispatcher.shutDown(.drain)
      await nginx.stop()
    }

    @Test("D71 a redirect of a server on a socket stays on that socket, and leads to no other")
    func redirects() async throws {
      let nginx = try await startNginx("absolute_redirect off;")
      let dispatcher = URLDispatcher(transport: try CurlTransport())
      let response = try await dispatcher.data(for: url("/go"))
      #expect(response.text == "one\n")
      #expect(response.url == url("/one.txt"))
      await #expect(throws: DispatchError.self) { try await dispatcher.data(for: url("/away")) }
      await dispatcher.shutDown(.drain)
      await nginx.stop()
      // With its own name as the host, which it treats as localhost.
      let second = try await startNginx()
      let other = URLDispatcher(transport: try CurlTransport())
      #expect(try await other.data(for: url("/go")).text == "one\n")
      await other.shutDown(.drain)
      await second.stop()
    }
  }
}
