import Foundation
import HeadgateTesting
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Runs in separate processes that are killed, against an nginx that counts by itself.
  @Suite struct SessionTests {
    private let folder: TemporaryFolder
    private let files: Int
    private let kills: Int

    /// 60 files and 3 kills; with `HEADGATE_KILLS`, that number of kills and 2,000 files.
    init() throws {
      folder = try TemporaryFolder()
      let asked = ProcessInfo.processInfo.environment["HEADGATE_KILLS"].flatMap { Int($0) }
      (files, kills) = (asked == nil ? 60 : 2_000, asked ?? 3)
      for index in 0..<files { try folder.write(content(index, version: 0), to: "files/\(index).bin") }
    }

    /// Every twentieth is longer than a single write, so that there are partial files to continue.
    private func content(_ index: Int, version: Int) -> [UInt8] {
      let size = index % 20 == 7 ? 400_000 : 100 + index * 37 % 20_000
      return (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index &+ version &* 101) }
    }

    /// A line of nginx's log: the path, the status, and the number of the run that sent the request.
    private struct Asked {
      let path: String
      let status: Int
      let run: Int
    }

    private var asked: [Asked] {
      (folder.text(of: "nginx-asked") ?? "").split(separator: "\n").compactMap { line in
        let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count == 3, let status = Int(parts[1]), let run = Int(parts[2]) else { return nil }
        return Asked(path: parts[0], status: status, run: run)
      }
    }

    private func startNginx() async throws -> Nginx {
      try await Nginx.start(ports: 1, in: folder) { ports in
        """
        log_format asked "$uri $status $http_x_run";
        server {
          listen 127.0.0.1:\(ports[0]);
          access_log nginx-asked asked;
          location / { limit_rate 1m; }
        }
        """
      }
    }

    private func start(_ program: String, run: Int, _ options: String...) throws -> StartedProcess {
      let arguments = [
        "fetch", "-i", folder.file("list"), "-P", folder.file("out"), "--session", folder.file("run"), "--per-host",
        "6", "-H", "X-Run: \(run)",
      ]
      return try StartedProcess(program, arguments + options)
    }

    /// The names of complete files.
    private func finals() -> Set<String> {
      Set(folder.names(in: "out").filter { !$0.hasSuffix(".part") })
    }

    @Test(
      "After kills at random moments and restarts the files are byte-identical, and only interrupted requests are repeated"
    )
    func kills() async throws {
      let program = try #require(Tool.headgate)
      let nginx = try await startNginx()
      var random = SeededRandom(seed: 20)
      var urls = (0..<files).map { nginx.url("/\($0).bin") }
      // The requests in progress at a kill: bodies with a partial file, six requests without one yet, and two batches
      // of bodies that wait for the disk, which may be slow.
      var running = 0
      // The files that had their names when each run began.
      var before: [Set<String>] = []
      for run in 0..<kills {
        before.append(finals())
        // A list in another order is the same list.
        urls.shuffle(using: &random)
        try folder.write(urls.joined(separator: "\n").utf8, to: "list")
        let goal = finals().count + Int.random(in: 1...max(1, 2 * files / (kills + 1)), using: &random)
        let killed = try start(program, run: run)
        _ = try await eventually("so many files are whole, or all") {
          finals().count >= min(goal, files) || killed.hasEnded ? true : nil
        }
        killed.send(SIGKILL)
        await killed.finish()
        running += folder.names(in: "out").count { $0.hasSuffix(".part") } + 6 + 2 * 64
        // A file with its final name is complete, at every moment.
        for name in finals().prefix(50) { #expect(bytes(of: name) == expected(name), "\(name)") }
      }
      before.append(finals())
      #expect(try await start(program, run: kills).finish() == 0)
      #expect(Set(folder.names(in: "out")) == Set((0..<files).map { "\($0).bin" }))
      for index in 0..<files { #expect(bytes(of: "\(index).bin") == content(index, version: 0), "\(index)") }

      before.append(finals())
      #expect(try await start(program, run: kills + 1).finish() == 0)
      await nginx.stop()
      let asked = asked
      #expect(asked.count <= files + running)
      #expect(asked.count >= files)
      #expect(Set(asked.map(\.path)).count == files)
      // No run requests a URL twice.
      #expect(Set(asked.map { "\($0.run) \($0.path)" }).count == asked.count)
      // A file with its final name is never requested again.
      #expect(asked.filter { before[$0.run].contains(String($0.path.dropFirst())) }.isEmpty)
    }

    @Test(
      "If a tenth of the files changed between a kill and a run with -N, those are complete and new, and the rest is kept"
    )
    func changes() async throws {
      let program = try #require(Tool.headgate)
      let nginx = try await startNginx()
      let urls = (0..<files).map { nginx.url("/\($0).bin") }
      try folder.write(urls.joined(separator: "\n").utf8, to: "list")
      let killed = try start(program, run: 0)
      _ = try await eventually("half of the files are whole") {
        finals().count >= files / 2 || killed.hasEnded ? true : nil
      }
      killed.send(SIGKILL)
      await killed.finish()
      let before = finals()
      // Some of these have a partial file.
      let changed = Set(stride(from: 7, to: files, by: 10).map { "\($0).bin" })
      for index in stride(from: 7, to: files, by: 10) {
        try folder.write(content(index, version: 1) + [1], to: "files/\(index).bin")
      }
      #expect(try await start(program, run: 1, "-N").finish() == 0)
      for index in 0..<files {
        let isNew = changed.contains("\(index).bin")
        #expect(bytes(of: "\(index).bin") == content(index, version: isNew ? 1 : 0) + (isNew ? [1] : []), "\(index)")
      }
      await nginx.stop()
      let asked = asked.filter { $0.run == 1 }
      let kept = Set(asked.filter { $0.status == 304 }.map { String($0.path.dropFirst()) })
      #expect(kept.isSuperset(of: before.subtracting(changed)) && kept.isDisjoint(with: changed))
    }

    private func bytes(of name: String) -> [UInt8]? {
      FileManager.default.contents(atPath: folder.file("out/" + name)).map { Array($0) }
    }

    private func expected(_ name: String) -> [UInt8]? {
      Int(name.split(separator: ".").first ?? "").map { content($0, version: 0) }
    }
  }
}
