import HeadgateOrigin
import Testing

extension AcceptanceTests {
  /// Servers that refuse more than four requests at once: nginx's limit_conn, in front of an origin whose answers take
  /// 50 ms each.
  @Suite struct ConnectionLimitTests {
    #if DEBUG
    private static let requests = 1_200
    #else
    private static let requests = 5_000
    #endif

    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin(endPoints: 3, script: OriginScript(delay: .milliseconds(50)))
    }

    private func startNginx() async throws -> Nginx {
      try await Nginx.start(ports: 3, in: folder) { ports in
        "limit_conn_zone $server_port zone=port:1m; limit_conn port 4; limit_conn_status 503;\n"
          + zip(ports, origin.ports).map { port, origin in
            """
            server {
              listen 127.0.0.1:\(port);
              location / { proxy_pass http://127.0.0.1:\(origin); proxy_redirect off; }
            }

            """
          }.joined()
      }
    }

    /// Every fourth URL is redirected to the next server, and therefore causes two requests. Each body has its own
    /// length, which is also its name.
    private func list(of count: Int, _ nginx: Nginx) -> [String] {
      (0..<count).map { index in
        let path = "/bytes/\(index)"
        guard index % 4 == 3 else { return nginx.url(path, port: index % 3) }
        return nginx.url("/redirect?to=\(nginx.url(path, port: (index + 1) % 3))&n=\(index)", port: index % 3)
      }
    }

    @Test(
      """
      nginx with limit_conn 4, whose responses last 50 ms or more, refuses nobody under --per-host 4: three servers, \
      5,000 requests with redirects between them
      """)
    func nobodyIsRefused() async throws {
      let nginx = try await startNginx()
      let list = list(of: Self.requests / 5 * 4, nginx)
      try folder.write(list.joined(separator: "\n").utf8, to: "list")
      let fetched = try await Fetched(["-i", "@/list", "-P", "@/out", "--per-host", "4"], in: folder)
      // It can't be faster: each response takes 50 ms, and at most twelve run at once.
      #expect(fetched.seconds >= Double(Self.requests) * 0.05 / 12)
      #expect(fetched.status == 0)
      #expect(fetched.records.count == list.count)
      for (index, url) in list.enumerated() {
        let record = try #require(fetched.byURL[url], "\(url) has no record")
        #expect(record.status == 200 && record.error == nil && record.bytes == index, "\(record)")
      }
      #expect(fetched.messages.hasSuffix("peak 4/host\n"))
      await nginx.stop()
      #expect(nginx.requests.count == Self.requests)
      #expect(nginx.requests.allSatisfy { $0.status == 200 || $0.status == 302 })
      #expect(!nginx.errors.contains("limiting connections"))
      let counts = (0..<3).map { origin.counts(endPoint: $0) }
      #expect(counts.map(\.peakRequests) == [4, 4, 4])
      #expect(counts.map(\.received).reduce(0, +) == Self.requests)
    }

    @Test("The same list at --per-host 8 is refused some requests, which shows that this check can fail")
    func theServersDoRefuse() async throws {
      let nginx = try await startNginx()
      let list = list(of: 240, nginx)
      try folder.write(list.joined(separator: "\n").utf8, to: "list")
      let fetched = try await Fetched(
        ["-i", "@/list", "-P", "@/out", "--per-host", "8", "--retry-after", "ignore", "--retry", "0"], in: folder)
      #expect(fetched.status == 8)
      #expect(fetched.records.count == 240)
      #expect(Set(fetched.records.map(\.status)) == [200, 503])
      await nginx.stop()
      #expect(nginx.errors.contains("limiting connections"))
      #expect((0..<3).map { origin.counts(endPoint: $0).peakRequests } == [4, 4, 4])
    }
  }
}
