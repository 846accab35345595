import Foundation
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Commands in separate processes that share permits, against a server that counts.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct HoldTests {
    private let folder: TemporaryFolder
    private let shared: String
    private let origin: Origin
    private let program: String

    init() throws {
      folder = try TemporaryFolder()
      // The path of a socket must be short.
      shared = "/tmp/hg-" + String(UInt32.random(in: 0 ... .max), radix: 36)
      origin = try Origin()
      program = try #require(Tool.headgate)
    }

    private var endPoint: String { "127.0.0.1:\(origin.port)" }

    /// Stops the server, and removes the folder.
    private func cleanUp() { PermitServers.end(in: shared, by: SIGTERM) }

    private var servers: [pid_t] { PermitServers.serving(shared) }

    /// Starts a command under a permit.
    private func hold(_ command: [String], _ options: [String] = ["--per-host", "4"]) throws -> StartedProcess {
      try StartedProcess(program, ["hold", endPoint, "--folder", shared] + options + ["--"] + command)
    }

    /// Commands that send one request, in four kinds of programs.
    private func commands() -> [[String]] {
      let url = origin.url("/delay/20")
      return [
        [program, "fetch", "-q", url],
        ["curl", "-s", url],
        ["python3", "-c", "import urllib.request; urllib.request.urlopen('\(url)').read()"],
        ["sh", "-c", "curl -s '\(url)'"],
      ]
    }

    @Test("the command raises its own limit on open files, and not that of a program that it starts")
    func openFiles() async throws {
      defer { cleanUp() }
      let limited = ["-c", "ulimit -S -n 777; exec \"$@\"", "bash", program]
      let shell = try await Tool(
        "bash", limited + ["hold", endPoint, "--folder", shared, "--", "bash", "-c", "ulimit -S -n; ulimit -H -n"])
      let limits = String(decoding: shell.output, as: UTF8.self).split(separator: "\n")
      #expect(shell.status == 0 && limits.first == "777" && limits.last != "777", "\(shell.messages)")
      #if os(Linux)
      let fetch = try StartedProcess("/bin/bash", limited + ["fetch", origin.url("/silence"), "-P", shared + "/out"])
      // The shell has become the command.
      _ = try await eventually("the limit is raised") {
        let table = try String(contentsOfFile: "/proc/\(fetch.process.processIdentifier)/limits", encoding: .utf8)
        let line = table.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        let words = line?.split(separator: " ") ?? []
        return words.count > 4 && words[3] == words[4] && words[3] != "777" ? true : nil
      }
      fetch.send(SIGKILL)
      await fetch.finish()
      #endif
    }

    @Test("Commands of four kinds never exceed the limit, even if some of them or their servers are killed")
    func kills() async throws {
      defer { cleanUp() }
      let asked = ProcessInfo.processInfo.environment["HEADGATE_HOLD_KILLS"].flatMap { Int($0) }
      let (crowd, kills) = (asked == nil ? 12 : 100, asked ?? 20)
      let commands = commands()
      var random = SeededRandom(seed: 22)
      var running: [StartedProcess] = []
      for number in 0..<kills {
        running.removeAll { $0.hasEnded }
        let more = Int.random(in: 1...3, using: &random)
        let goal = origin.counts().received + more
        // The others may have sent their requests already, and their ends may not be known yet.
        for _ in 0..<max(more, crowd - running.count) {
          running.append(try hold(commands[Int.random(in: 0..<4, using: &random)]))
        }
        #expect(await origin.waitUntil({ $0.received >= goal }, until: .after(.seconds(60))))
        if number % 10 == 9, let server = servers.first {
          kill(server, SIGKILL)
        } else if let victim = running.randomElement(using: &random) {
          victim.send(SIGKILL)
        }
      }
      for command in running { await command.finish() }
      let counts = origin.counts()
      #expect(counts.peakRequests <= 4, "\(counts)")
      #expect(counts.peakSockets <= 4, "\(counts)")
      #expect(counts.received >= kills)
    }

    @Test("The permit of a killed command is granted again, and that of a running one is not")
    func reuse() async throws {
      defer { cleanUp() }
      // The shell is killed, and its child continues.
      let parent = try hold(
        ["sh", "-c", "sleep 1000 & echo $! > \(folder.file("child")); wait"], ["--per-host", "1"])
      let child = try await eventually("the child runs") { [folder] in
        folder.text(of: "child").flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
      }
      parent.send(SIGKILL)
      let early = try await Tool(
        program, ["hold", endPoint, "--folder", shared, "--per-host", "1", "--wait", "0.5", "--", "true"])
      #expect(early.status == 6)
      #expect(early.messages.contains("no permit of \(endPoint)"))
      let next = try hold(["true"], ["--per-host", "1"])
      kill(child, SIGKILL)
      #expect(await next.finish() == 0)
    }

    @Test("The command replaces hold: it has its own exit status, signals and permit")
    func becomes() async throws {
      defer { cleanUp() }
      let status = try await Tool(program, ["hold", endPoint, "--folder", shared, "--", "sh", "-c", "exit 7"])
      #expect(status.status == 7)
      let missing = try await Tool(program, ["hold", endPoint, "--folder", shared, "--", "no-such-command"])
      #expect(missing.status == 127)
      #expect(missing.messages.contains("no-such-command can't be run"))
      // SIGTERM is not blocked in the command.
      let command = try hold(["sleep", "1000"], [])
      let executable = "/proc/\(command.process.processIdentifier)/exe"
      _ = try await eventually("the command runs") { [program] in
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: executable)
        return path == program ? nil : true
      }
      command.send(SIGTERM)
      #expect(await command.finish() == SIGTERM)
      #expect(command.process.terminationReason == .uncaughtSignal)
    }

    @Test("Two runs of fetch with --share share one limit, whatever their environments; status names the folder")
    func fetches() async throws {
      defer { cleanUp() }
      try folder.write(String(repeating: origin.url("/delay/10") + "\n", count: 40).utf8, to: "list")
      origin.holdFirst(3)
      let fetch = ["fetch", "-i", folder.file("list"), "--per-host", "3", "-P"]
      async let first = Tool(
        program, fetch + [folder.file("a"), "--share", "unix"],
        environment: ["HEADGATE_FOLDER": shared, "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path])
      async let second = Tool(program, fetch + [folder.file("b"), "--share", "unix:\(shared)"])
      #expect(await origin.release(atRequests: 3))
      let (one, two) = try await (first, second)
      #expect((one.status, two.status) == (0, 0))
      #expect(one.messages.contains("permits shared in \(shared); without it nothing starts"))
      let counts = origin.counts()
      #expect(counts.peakRequests == 3)
      #expect(counts.received == 80)
      // The server notices the ends of the two in its next iteration.
      _ = try await eventually("the server counts neither of them") { [program, shared] in
        let status = try await Tool(program, ["status", "unix:\(shared)"])
        let text = String(decoding: status.output, as: UTF8.self)
        #expect(text.hasPrefix("folder: \(shared)\n"))
        return text.contains("\nprograms connected: 0, permits held: 0") ? true : nil
      }
    }

    @Test("Two runs of fetch share the budget of a group of hosts, which is less than the limits of the hosts")
    func groups() async throws {
      defer { cleanUp() }
      let hosts = ["127.0.0.1", "localhost"].map { "http://\($0):\(origin.port)/delay/10" }
      try folder.write(Array(repeating: hosts, count: 20).joined().joined(separator: "\n").utf8, to: "list")
      origin.holdFirst(3)
      let fetch = [
        "fetch", "-i", folder.file("list"), "--group", "g=127.0.0.1,localhost", "--limit", "g=3", "--share",
        "unix:\(shared)", "-P",
      ]
      async let first = Tool(program, fetch + [folder.file("a")])
      async let second = Tool(program, fetch + [folder.file("b")])
      #expect(await origin.release(atRequests: 3))
      let (one, two) = try await (first, second)
      #expect((one.status, two.status) == (0, 0), "\(one.messages)")
      #expect(origin.counts().peakRequests == 3 && origin.counts().received == 80)
    }

    @Test("The snippets of the page hold a permit while they work", arguments: ["sh", "python"])
    func snippets(language: String) async throws { try await checkSnippet(language) }

    @Test("The page's snippet for Node does too", .enabled(if: Tool.has("node")))
    func snippetForNode() async throws { try await checkSnippet("js") }

    private func checkSnippet(_ language: String) async throws {
      defer { cleanUp() }
      let page = try DocumentedCommands.text(of: "sharing.md")
      let blocks = page.components(separatedBy: "```\(language)\n").dropFirst().map {
        $0.components(separatedBy: "\n```")[0]
      }
      let snippet = try #require(blocks.first { $0.contains("granted") })
        .replacing("https://api.example.com/", with: origin.url("/bytes/1?"))
        .replacing("api.example.com:443", with: endPoint)
        .replacing("--per-host 4", with: "--per-host 1 --folder \(shared)")
        .replacing("\"--per-host\", str(limit)", with: "\"--per-host\", \"1\", \"--folder\", \"\(shared)\"")
        .replacing("\"--per-host\", \"4\"", with: "\"--per-host\", \"1\", \"--folder\", \"\(shared)\"")
      let interpreter = ["sh": "bash", "python": "python3", "js": "node"][language] ?? ""
      try folder.write(snippet.utf8, to: "snippet")
      origin.setScript(OriginScript(delay: .milliseconds(5)))
      // Three at a time, under a limit of one.
      let lines = try (0..<3).map { _ in try ShellLine("\(interpreter) snippet", in: folder) }
      for line in lines {
        let (status, _, messages) = await line.finish()
        #expect(status == 0, "\(messages)")
      }
      #expect(origin.counts().peakRequests == 1)
      #expect(origin.counts().received == (language == "sh" ? 6 : 3))
    }
  }
}
