import Foundation
import HeadgateOrigin
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Hosts that a server counts together, and a host that refuses everything beside one that does not.
  @Suite struct CommonBudgetTests {
    /// Fetches 60 URLs from each of two hosts behind one zone of nginx. Returns how many of them it refused.
    private func refusals(_ options: String...) async throws -> Int {
      let folder = try TemporaryFolder()
      defer { withExtendedLifetime(folder) {} }
      try folder.write("same\n".utf8, to: "files/same.txt")
      // 20 a second fit, even if some come half a second late. Twice as many don't.
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        """
        limit_req_zone $server_port zone=both:1m rate=25r/s;
        server {
          listen 127.0.0.1:\(ports[0]);
          limit_req zone=both burst=10 nodelay;
          limit_req_status 429;
        }
        """
      }
      let list = (0..<60).flatMap { number in
        ["127.0.0.1", "localhost"].map { nginx.url("/same.txt?\(number)", host: $0) }
      }
      try folder.write(list.joined(separator: "\n").utf8, to: "list")
      let fetched = try await Fetched(
        ["-i", "@/list", "-P", "@/out", "--retry", "0", "--retry-after", "ignore"] + options, in: folder)
      await nginx.stop()
      let statuses = nginx.requests.map(\.status)
      #expect(
        statuses.count == 120 && statuses.allSatisfy { [200, 429].contains($0) }, "\(fetched.messages.suffix(500))")
      #expect(fetched.status == (statuses.contains(429) ? 8 : 0), "\(fetched.messages.suffix(500))")
      return statuses.count { $0 == 429 }
    }

    @Test("Of two hosts behind one zone of nginx, a group is refused nothing, and limits for each host are not enough")
    func zone() async throws {
      #expect(try await refusals("--group", "both=127.0.0.1,localhost", "--rate", "both=20/s") == 0)
      #expect(try await refusals("--rate", "20/s") > 0)
    }

    @Test("A host that always refuses ends within the patience and a pause, and the next run sends only its URLs")
    func refusing() async throws {
      let folder = try TemporaryFolder()
      defer { withExtendedLifetime(folder) {} }
      let (busy, good) = (try Origin(), try Origin())
      busy.setScript(OriginScript(handler: { _ in .text("busy", status: 429) }))
      let list = [busy, good].flatMap { origin in (0..<100).map { origin.url("/bytes/\($0)") } }
      try folder.write(list.joined(separator: "\n").utf8, to: "list")
      let arguments = ["-i", "@/list", "-P", "@/out", "--session", "@/run", "--host-patience", "2"]
      let first = try await Fetched(arguments, in: folder)
      #expect(first.status == 75, "\(first.messages.suffix(500))")
      // A pause of a second, then a probe; the next pause of two would end after the patience.
      #expect(first.seconds < 30)
      #expect(good.counts().received == 100 && good.counts().served == 100)
      #expect(busy.counts().received < 20)
      #expect(first.messages.contains("ok 100  failed 100  refusing 100  "), "\(first.messages.suffix(500))")
      busy.setScript(OriginScript())
      busy.resetCounts()
      good.resetCounts()
      // The log of a continued session is appended to.
      try FileManager.default.removeItem(atPath: folder.file("log"))
      let second = try await Fetched(arguments, in: folder)
      #expect(second.status == 0, "\(second.messages.suffix(500))")
      #expect(second.messages.contains("ok 100  failed 0  done before 100"), "\(second.messages.suffix(500))")
      #expect(busy.counts().received == 100 && good.counts().received == 0)
    }
  }
}
