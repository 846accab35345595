import Foundation
import HeadgateOrigin
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Rates, pauses and unreachable hosts, against an nginx that counts arrivals itself.
  @Suite struct PaceTests {
    private let folder: TemporaryFolder

    /// The duration of the long form of these tests; nil: the short form.
    private static let seconds = ProcessInfo.processInfo.environment["HEADGATE_PACE_SECONDS"].flatMap { Int($0) }

    init() throws {
      folder = try TemporaryFolder()
      try folder.write("same\n".utf8, to: "files/same.txt")
    }

    /// - Parameters:
    ///   - rate: What nginx lets through, as its `limit_req_zone` has it.
    ///   - burst: How many it lets through beyond that at once.
    ///   - origin: What it asks for its answers, which take 50 ms then.
    private func startNginx(rate: String, burst: Int, before origin: Origin? = nil) async throws -> Nginx {
      try await Nginx.start(ports: 1, in: folder) { ports in
        """
        limit_req_zone $server_port zone=pace:1m rate=\(rate);
        log_format times "$msec $status";
        server {
          listen 127.0.0.1:\(ports[0]);
          limit_req zone=pace\(burst > 0 ? " burst=\(burst) nodelay" : "");
          limit_req_status 429;
          add_header Retry-After 5 always;
          access_log nginx-times times;
          \(origin.map { "location / { proxy_pass \($0.url("/delay/50?path=")); }" } ?? "")
        }
        """
      }
    }

    private struct Arrival {
      let second: Double
      let status: Int
    }

    /// Complete once nginx has ended.
    private var arrivals: [Arrival] {
      (folder.text(of: "nginx-times") ?? "").split(separator: "\n").compactMap { line in
        let parts = line.split(separator: " ")
        guard parts.count == 2, let second = Double(parts[0]), let status = Int(parts[1]) else { return nil }
        return Arrival(second: second, status: status)
      }
    }

    private func fetch(_ count: Int, _ nginx: Nginx, _ options: String...) async throws -> Fetched {
      let list = (0..<count).map { nginx.url("/same.txt?\($0)") }
      try folder.write(list.joined(separator: "\n").utf8, to: "list")
      return try await Fetched(
        ["-i", "@/list", "-P", "@/out"] + options, in: folder, until: 110 + 2 * (Self.seconds ?? 0))
    }

    @Test("After the first 429 of 100 URLs only requests in flight arrive, then none until nginx's wait has passed")
    func pause() async throws {
      let origin = try Origin()
      // Reached even at 25 per second: after four seconds 91 are let through. After the pause there is room for all the
      // rest, at most 49.
      let nginx = try await startNginx(rate: "10r/s", burst: 50, before: origin)
      let fetched = try await fetch(100, nginx, "--per-host", "16", "--retry", "9")
      await nginx.stop()
      #expect(fetched.status == 0, "\(fetched.messages.suffix(500))")
      let arrivals = arrivals
      let first = try #require(arrivals.first { $0.status == 429 }).second
      let during = arrivals.filter { $0.second > first && $0.second < first + 5 }
      #expect(during.count < 16)
      let refused = arrivals.count { $0.status == 429 }
      #expect(refused <= 16)
      // Nothing starts in the last half second of the pause; what arrives before that was in flight.
      #expect(arrivals.allSatisfy { $0.second <= first + 4.5 || $0.second >= first + 5 })
      // The first one after it is alone: the next one starts after its response, which takes 50 ms too.
      let after = arrivals.filter { $0.second >= first + 5 }.prefix(2).map(\.second)
      #expect(after.count == 2 && after[1] - after[0] >= 0.045)
      #expect(arrivals.count == 100 + refused)
    }

    @Test("Sixteen simultaneous refusals without a wait cause one pause of a second")
    func burst() async throws {
      let origin = try Origin()
      let count = Locked(0)
      origin.setScript(
        OriginScript(handler: { _ in
          let number = count.withLock { count in
            defer { count += 1 }
            return count
          }
          var answer = number < 16 ? OriginAnswer.hold : .text("")
          if number < 16 { answer.status = 429 }
          return answer
        }))
      try folder.write((0..<100).map { origin.url("/\($0)") }.joined(separator: "\n").utf8, to: "list")
      async let run = Fetched(["-i", "@/list", "-P", "@/out", "--per-host", "16", "--retry", "9"], in: folder)
      // All sixteen are running before the first is answered.
      #expect(await origin.release(atRequests: 16))
      let fetched = try await run
      #expect(fetched.status == 0 && count.withLock { $0 } == 116, "\(fetched.messages.suffix(500))")
      #expect(fetched.seconds >= 1)
      // A second step would take two seconds.
      let pauses = fetched.messages.split(separator: "\n").filter { $0.contains(": paused ") }
      #expect(pauses.count == 1 && pauses[0].contains(": paused 1."), "\(pauses)")
    }

    @Test("--retry-after limits the wait that a server requests, and -v reports it")
    func cap() async throws {
      let origin = try Origin()
      let isFirst = Locked(true)
      origin.setScript(
        OriginScript(handler: { _ in
          let refuses = isFirst.withLock { first in
            defer { first = false }
            return first
          }
          var answer = OriginAnswer.text("", status: refuses ? 429 : 200)
          if refuses { answer.headers = [OriginHeader("Retry-After", "60")] }
          return answer
        }))
      let fetched = try await Fetched(
        [origin.url("/a"), "-P", "@/out", "--retry", "1", "--retry-after", "cap:1", "-v"], in: folder)
      #expect(fetched.status == 0 && fetched.seconds >= 1 && fetched.seconds < 50)
      #expect(fetched.messages.contains("the server requested 60.0 s"), "\(fetched.messages)")
    }

    @Test(
      "At 20/s with a small burst 500 URLs succeed, and after the first pause almost none is refused",
      .enabled(if: seconds != nil))
    func small() async throws {
      let nginx = try await startNginx(rate: "20r/s", burst: 20)
      let count = 500
      let fetched = try await fetch(count, nginx, "--per-host", "16", "--retry", "9")
      await nginx.stop()
      let arrivals = arrivals
      let refused = arrivals.filter { $0.status == 429 }
      #expect(fetched.status == 0 && arrivals.count == count + refused.count, "\(fetched.messages.suffix(500))")
      // The first refusals came together; each later pause began with at most two concurrent requests.
      var pauses: [Double] = []
      for arrival in refused where arrival.second > (pauses.last ?? 0) + 1 { pauses.append(arrival.second) }
      #expect(pauses.count <= 5 && refused.count <= 16 + 2 * (pauses.count - 1))
      for pause in pauses {
        let after = arrivals.filter { $0.second > pause + 1 }.prefix(2).map(\.second)
        #expect(after.first.map { $0 >= pause + 5 } ?? true)
        #expect(arrivals.count { $0.second > pause + 0.5 && $0.second < pause + 5 } == 0)
      }
    }

    // nginx refuses requests that arrive a millisecond early. In the short form it tolerates five, so that a machine
    // that stalls for some time does not fail this.
    @Test("With a rate of 10/s, an nginx with that limit refuses almost nothing, and its rate is fully used")
    func rate() async throws {
      let seconds = Self.seconds ?? 5
      let nginx = try await startNginx(rate: "10r/s", burst: Self.seconds == nil ? 5 : 0)
      let fetched = try await fetch(10 * seconds, nginx, "--per-host", "4", "--rate", "10/s", "--retry-after", "ignore")
      await nginx.stop()
      let arrivals = arrivals
      let refused = arrivals.count { $0.status == 429 }
      let (start, end) = (try #require(arrivals.first).second, try #require(arrivals.last).second)
      let share = Double(arrivals.count - 1) / (end - start) / 10
      #expect(refused <= 2)
      if seconds >= 60 { #expect(arrivals.count { $0.status == 200 && $0.second < start + 60 } >= 570) }
      // A machine that wakes late starts late, and delayed starts are not caught up.
      #expect(share >= (Self.seconds == nil ? 0.25 : 0.95))
      #expect(fetched.messages.contains("ok \(10 * seconds - refused)  "))
    }

    @Test(
      "Two windows and a limit on requests apply together, as the server sees them, and the tightest is fully used",
      .enabled(if: seconds != nil))
    func windows() async throws {
      let minutes = max(1, (Self.seconds ?? 60) / 60)
      // Each response takes 380 ms, so that 10 per second keep nearly 4 in progress: nginx refuses a fifth.
      let origin = try Origin()
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        """
        limit_conn_zone $server_port zone=all:1m;
        log_format times "$msec $status";
        server {
          listen 127.0.0.1:\(ports[0]);
          limit_conn all 4;
          limit_conn_status 429;
          access_log nginx-times times;
          location / { proxy_pass \(origin.url("/delay/380?path=")); }
        }
        """
      }
      // One more than fits in whole windows: it waits for the last of them.
      let fetched = try await fetch(
        300 * minutes + 1, nginx, "--per-host", "4", "--rate", "10/s", "--rate", "300/min", "--retry-after", "ignore")
      await nginx.stop()
      let times = arrivals.map(\.second)
      #expect(fetched.status == 0 && times.count == 300 * minutes + 1)
      func most(in window: Double) -> Int {
        times.indices.map { first in times[first...].prefix { $0 < times[first] + window }.count }.max() ?? 0
      }
      #expect(most(in: 60) <= 300 && most(in: 1) <= 11)
      let took = try #require(times.last) - (try #require(times.first))
      #expect(Double(60 * minutes) / took >= 0.95)
    }

    @Test("One URL among 1,000 that always answers 503 does not stop the others")
    func poisoned() async throws {
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        "server { listen 127.0.0.1:\(ports[0]); location /bad { return 503; } }"
      }
      var list = (0..<1000).map { nginx.url("/same.txt?\($0)") }
      list[500] = nginx.url("/bad")
      try folder.write(list.joined(separator: "\n").utf8, to: "list")
      let fetched = try await Fetched(["-i", "@/list", "-P", "@/out", "--retry", "2"], in: folder)
      await nginx.stop()
      // The benchmark compares the times. A pause would be reported.
      #expect(fetched.messages.contains("ok 999  failed 1  "), "\(fetched.messages.suffix(500))")
      #expect(!fetched.messages.contains(": paused "), "\(fetched.messages.suffix(500))")
    }

    @Test("The URLs of an unreachable host fail as unreachable, and another host's don't")
    func unreachable() async throws {
      let nginx = try await Nginx.start(ports: 1, in: folder) { ports in
        "server { listen 127.0.0.1:\(ports[0]); }"
      }
      let lines = (0..<500).flatMap { ["http://127.0.0.1:1/\($0)", nginx.url("/same.txt?\($0)")] }
      try folder.write(lines.joined(separator: "\n").utf8, to: "list")
      let fetched = try await Fetched(["-i", "@/list", "-P", "@/out", "--per-host", "4", "--retry", "0"], in: folder)
      await nginx.stop()
      #expect(fetched.status == 4)
      #expect(fetched.records.count == 1000)
      let errors = fetched.records.compactMap(\.error)
      let tried = errors.count { $0 == "connect_failed" }
      #expect((3...10).contains(tried))
      #expect(errors.count { $0 == "unreachable" } == 500 - tried)
      #expect(fetched.messages.contains("ok 500  failed 500  unreachable \(500 - tried)  "))
    }
  }
}
