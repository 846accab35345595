import Foundation
import HeadgateOrigin
import Testing

extension AcceptanceTests {
  /// `--adaptive` against nginx, with limits on concurrent requests (limit_conn) and on their rate (limit_req) that the
  /// command does not know.
  @Suite struct LearningTests {
    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin()
    }

    private struct Limit {
      let name: String
      let lines: String
      /// The throughput of a client that knew the limits, per second.
      let oracle: Double
    }

    /// The duration of the long form of these tests; nil: the short form.
    private static let seconds = ProcessInfo.processInfo.environment["HEADGATE_PACE_SECONDS"].flatMap { Int($0) }

    // nginx refuses requests that arrive a millisecond early, and those that pile up while the machine stalls. In the
    // short form it tolerates five. A client that does not keep to the rate exhausts them at once: the 64 requests that
    // it may run are refused within milliseconds, again and again.
    private static let rate = "limit_req zone=pace\(seconds == nil ? " burst=5 nodelay" : "");"

    private static let limits = [
      Limit(name: "12 at once", lines: "limit_conn number 12;", oracle: 60),
      Limit(name: "30/s", lines: rate, oracle: 30),
      Limit(name: "4 at once and 30/s", lines: "limit_conn number 4; \(rate)", oracle: 20),
    ]

    /// Answers after 200 ms, or with 429 at once.
    private func startNginx(_ limit: Limit) async throws -> Nginx {
      try await Nginx.start(ports: 1, in: folder) { ports in
        """
        limit_conn_zone $server_port zone=number:1m;
        limit_req_zone $server_port zone=pace:1m rate=30r/s;
        log_format times "$msec $status";
        server {
          listen 127.0.0.1:\(ports[0]);
          limit_conn_status 429;
          limit_req_status 429;
          access_log nginx-times times;
          location / {
            \(limit.lines)
            proxy_pass \(origin.url("/delay/200?path="));
          }
        }
        """
      }
    }

    private struct Counts {
      var served = 0
      var refused = 0
      /// Relative to the oracle's throughput, in the measured time.
      var share = 0.0
    }

    /// nginx's responses in the second half of the run, in whole seconds without the last one.
    private func counts(_ limit: Limit) throws -> Counts {
      let answers = (folder.text(of: "nginx-times") ?? "").split(separator: "\n").compactMap {
        line -> (second: Double, status: Int)? in
        let parts = line.split(separator: " ")
        guard parts.count == 2, let second = Double(parts[0]), let status = Int(parts[1]) else { return nil }
        return (second, status)
      }
      let (first, last) = (try #require(answers.first).second, try #require(answers.last).second)
      let (from, to) = (first + (last - first) / 2, last - 1)
      let half = answers.filter { $0.second >= from && $0.second < to }
      var counts = Counts()
      counts.served = half.count { $0.status == 200 }
      counts.refused = half.count { $0.status == 429 }
      counts.share = Double(counts.served) / (to - from) / limit.oracle
      return counts
    }

    @Test(
      "unknown limits of number, of rate, and of both are fully used, with almost no refusals",
      arguments: limits.indices)
    func learns(place: Int) async throws {
      let seconds = Self.seconds ?? 6
      let limit = Self.limits[place]
      let nginx = try await startNginx(limit)
      let list = (0..<Int(limit.oracle * Double(seconds))).map { nginx.url("/\($0)") }
      try folder.write(list.joined(separator: "\n").utf8, to: "list")
      let fetched = try await Fetched(
        ["-i", "@/list", "-P", "@/out", "--per-host", "64", "--adaptive-file", "@/learned"], in: folder)
      await nginx.stop()
      #expect(fetched.records.count == list.count)
      let counts = try counts(limit)
      print(
        "\(limit.name): \(counts.share) of the oracle, \(counts.refused) of \(counts.served + counts.refused) refused")
      // On a slow machine it has only begun after some seconds.
      let isLong = seconds >= 30
      #expect(counts.share >= (isLong ? 0.85 : 0.3), "\(limit.name)")
      let most = (isLong ? 0.02 : 0.2) * Double(counts.served + counts.refused)
      #expect(Double(counts.refused) <= max(3, most), "\(limit.name)")
      #expect(folder.text(of: "learned")?.contains("127.0.0.1:\(nginx.ports[0]) requests=") ?? false)
    }
  }
}
