import Foundation
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Bulk calls in separate processes that are killed, against a server that breaks off one connection in a hundred
  /// after it has processed the request.
  @Suite struct CallTests {
    /// The effects at the server: the number of times for each idempotency key, or for each row without one, and the
    /// number of requests.
    private struct Done {
      var effects: [String: Int] = [:]
      var requests = 0
      var random = SeededRandom(seed: 8)
    }

    private let folder: TemporaryFolder
    private let rows: Int
    private let kills: Int
    private let origin: Origin
    private let done = LockedBox(Done())

    /// 300 rows and 3 kills; with `HEADGATE_CALL_KILLS`, that number of kills and 10,000 rows.
    init() throws {
      folder = try TemporaryFolder()
      let asked = ProcessInfo.processInfo.environment["HEADGATE_CALL_KILLS"].flatMap { Int($0) }
      (rows, kills) = (asked == nil ? 300 : 10_000, asked ?? 3)
      origin = try Origin()
      origin.setScript(
        OriginScript(
          delay: .milliseconds(2),
          handler: { [done] request in
            let name = request.header("Idempotency-Key") ?? request.path
            return done.withLock { done in
              done.effects[name, default: 0] += 1
              done.requests += 1
              return Int.random(in: 0..<100, using: &done.random) == 0 ? .reset : .text("{\"done\":true}")
            }
          }))
    }

    private func start(_ program: String, _ options: [String]) throws -> StartedProcess {
      let arguments = [
        "call", "-i", folder.file("rows"), "--url", origin.url("/items/{n}"), "--json", "{\"name\":{name}}", "-o",
        folder.file("results"), "--session", folder.file("run"), "--retry", "8", "--per-host", "8",
      ]
      return try StartedProcess(program, arguments + options)
    }

    private struct Result: Decodable {
      struct Row: Decodable { var n: Int }
      var key: String
      var outcome: String
      var row: Row
    }

    /// The results; every line must be complete.
    private func results() throws -> [Result] {
      let decoder = JSONDecoder()
      return try (folder.text(of: "results") ?? "").split(separator: "\n").map {
        try decoder.decode(Result.self, from: Data($0.utf8))
      }
    }

    /// Starts runs and kills them at random moments, each time with the list in another order, and lets the last one
    /// end. Returns its exit status.
    private func runThroughKills(_ options: String...) async throws -> Int32 {
      let program = try #require(Tool.headgate)
      var random = SeededRandom(seed: 20)
      var lines = (0..<rows).map { "{\"n\":\($0),\"name\":\"row \($0)\"}\n" }
      for _ in 0..<kills {
        lines.shuffle(using: &random)
        try folder.write(lines.joined().utf8, to: "rows")
        let goal = done.withLock { $0.requests } + Int.random(in: 1...max(1, 3 * rows / (2 * kills)), using: &random)
        let run = try start(program, options)
        _ = try await eventually("so many requests came, or all") {
          done.withLock { $0.requests } >= goal || run.hasEnded ? true : nil
        }
        if !run.hasEnded { run.send(SIGKILL) }
        await run.finish()
      }
      return try await start(program, options).finish()
    }

    @Test(
      "With automatic keys each row takes effect exactly once and has one result, despite kills and lost connections")
    func automaticKeys() async throws {
      #expect(try await runThroughKills("--idempotency-key", "auto") == 0)
      let done = done.withLock { $0 }
      #expect(done.effects.count == rows)
      #expect(done.requests > rows)
      let results = try results()
      #expect(results.count == rows && Set(results.map(\.row.n)).count == rows)
      #expect(results.allSatisfy { $0.outcome == "ok" })
      // Nothing is left to do.
      #expect(try await start(try #require(Tool.headgate), ["--idempotency-key", "auto"]).finish() == 0)
      #expect(self.done.withLock { $0.requests } == done.requests)
    }

    @Test("Without keys no row takes effect twice, and each row with an unknown outcome is reported")
    func withoutKeys() async throws {
      let status = try await runThroughKills()
      let done = done.withLock { $0 }
      #expect(done.effects.values.allSatisfy { $0 == 1 })
      let results = try results()
      #expect(results.count == rows && Set(results.map(\.row.n)).count == rows)
      let known = results.filter { $0.outcome == "ok" }
      #expect(known.allSatisfy { done.effects["/items/\($0.row.n)"] == 1 })
      let others = results.filter { $0.outcome != "ok" }
      #expect(others.allSatisfy { $0.outcome == "unknown" })
      #expect(status == (others.isEmpty ? 0 : 9))
      // At most eight were in progress at each kill; all others are lost connections.
      #expect(others.count <= 8 * kills + rows / 20)
    }
  }
}
