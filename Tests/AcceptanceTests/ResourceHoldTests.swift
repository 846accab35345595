import Foundation
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// Resources of the machine, which commands in separate processes share.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct ResourceHoldTests {
    private let folder: TemporaryFolder
    private let shared: String
    private let program: String

    init() throws {
      folder = try TemporaryFolder()
      // The path of a socket must be short.
      shared = "/tmp/hg-" + String(UInt32.random(in: 0 ... .max), radix: 36)
      program = try #require(Tool.headgate)
    }

    /// Stops the server, and removes the folder.
    private func cleanUp() { PermitServers.end(in: shared, by: SIGKILL) }

    private var servers: [pid_t] { PermitServers.serving(shared) }

    private func hold(_ options: [String], _ command: String) throws -> StartedProcess {
      try StartedProcess(program, ["hold", "builds", "--folder", shared] + options + ["sh", "-c", command])
    }

    /// A script that needs one of two locks while it works, and notes if both are taken. The kernel may release the lock
    /// of a process that dies a moment after its permit, so it looks twice.
    private func work(seconds: String) -> String {
      """
      cd '\(folder.path)'
      for try in 1 2; do
        for lock in 1 2; do
          exec 9> lock$lock
          if flock -n 9; then echo >> worked; sleep \(seconds); exit 0; fi
        done
        sleep 0.01
      done
      echo >> exceeded
      """
    }

    private func lines(of name: String) -> Int { folder.bytes(of: name)?.count { $0 == 10 } ?? 0 }

    @Test("No more commands than slots run, even if commands, their parents and the server are killed")
    func kills() async throws {
      defer { cleanUp() }
      let asked = ProcessInfo.processInfo.environment["HEADGATE_HOLD_KILLS"].flatMap { Int($0) }
      let (crowd, kills) = (asked == nil ? 20 : 50, asked ?? 30)
      var random = SeededRandom(seed: 40)
      var running: [StartedProcess] = []
      for number in 0..<kills {
        running.removeAll { $0.hasEnded }
        while running.count < crowd {
          let parent = Bool.random(using: &random) ? ["--refused-exit", "75"] : []
          running.append(try hold(["--slots", "2"] + parent, work(seconds: "0.03")))
        }
        let goal = lines(of: "worked") + 1
        _ = try await eventually("the next command runs") { lines(of: "worked") >= goal ? true : nil }
        switch number % 10 {
        case 4:
          // While the server is stopped, nothing begins, and what runs goes on.
          let stopped = servers
          for server in stopped { kill(server, SIGSTOP) }
          try await Task.sleep(for: .milliseconds(100))
          for server in stopped { kill(server, SIGCONT) }
        case 9: for server in servers { kill(server, SIGKILL) }
        // The oldest ones are those that hold.
        default: running.prefix(5).randomElement(using: &random)?.send(SIGKILL)
        }
      }
      for command in running { await command.finish() }
      #expect(lines(of: "exceeded") == 0)
      #expect(lines(of: "worked") >= kills)
    }

    @Test("A server with few descriptors lets programs wait, and refuses none")
    func fewDescriptors() async throws {
      defer { cleanUp() }
      let server = try StartedProcess(
        "/bin/sh", ["-c", "ulimit -n 64; exec \"$0\" share serve --folder \"$1\"", program, shared])
      _ = try await eventually("it serves") { FileManager.default.fileExists(atPath: shared + "/socket") ? true : nil }
      let commands = try (0..<80).map { _ in try hold(["--slots", "2"], work(seconds: "0.01")) }
      for command in commands { #expect(await command.finish() == 0) }
      #expect(lines(of: "worked") == 80 && lines(of: "exceeded") == 0)
      server.send(SIGTERM)
      await server.finish()
    }

    @Test("With --refused-exit the command's status, its death and signals pass through hold")
    func parent() async throws {
      defer { cleanUp() }
      let parent = ["--refused-exit", "75"]
      // If the command refuses, that is told, and the status is the command's all the same.
      for status in [7, 75] {
        let command = try hold(parent, "exit \(status)")
        #expect(await command.finish() == status)
      }
      let missing = try await Tool(
        program, ["hold", "builds", "--folder", shared, "--refused-exit", "75", "no-such-command"])
      #expect(missing.status == 127 && missing.messages.contains("no-such-command can't be run"))
      let dead = try hold(parent, "kill -9 $$")
      #expect(await dead.finish() == SIGKILL)
      #expect(dead.process.terminationReason == .uncaughtSignal)
      let ready = folder.file("ready")
      let trapping = try hold(parent, "trap 'exit 4' TERM; touch \(ready); while :; do sleep 0.01; done")
      _ = try await eventually("the command runs") { FileManager.default.fileExists(atPath: ready) ? true : nil }
      trapping.send(SIGTERM)
      #expect(await trapping.finish() == 4)
      #expect(trapping.process.terminationReason == .exit)
    }

    @Test(
      "A command gets the alarm that was set for hold, and the hang-up that only the leader of a session is told of")
    func signalsOfTheSystem() async throws {
      defer { cleanUp() }
      let rest = [program, "hold", "builds", "--folder", shared, "--refused-exit", "75", "sh", "-c"]
      let alarm = try StartedProcess(
        "/usr/bin/env",
        ["python3", "-c", "import os, signal, sys; signal.alarm(2); os.execv(sys.argv[1], sys.argv[1:])"] + rest
          + ["trap 'exit 4' ALRM; while :; do sleep 0.01; done"])
      #expect(await alarm.finish() == 4)
      // The terminal of a session ends as soon as the command runs.
      let script = """
        import os, pty, signal, sys
        process, terminal = pty.fork()
        if process == 0:
          signal.signal(signal.SIGHUP, signal.SIG_DFL)
          os.execv(sys.argv[1], sys.argv[1:])
        os.read(terminal, 1)
        os.close(terminal)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        """
      let leader = try StartedProcess(
        "/usr/bin/env",
        ["python3", "-c", script] + rest + ["trap 'exit 5' HUP; echo; while :; do sleep 0.01; done"])
      #expect(await leader.finish() == 5)
    }

    @Test("What a command says of its end-point by its status pauses the others")
    func refusal() async throws {
      defer { cleanUp() }
      let refused = try hold(
        ["--slots", "2", "--refused-exit", "75"], "date +%s%N > \(folder.file("refused")); exit 75")
      #expect(await refused.finish() == 75)
      let next = try hold(["--slots", "2"], "date +%s%N > \(folder.file("next"))")
      #expect(await next.finish() == 0)
      let times = try ["refused", "next"].map { name in
        let text = folder.text(of: name)?.trimmingCharacters(in: .whitespacesAndNewlines)
        return try #require(text.flatMap { Int($0) })
      }
      // The usual pause is a second. It is told in milliseconds.
      #expect(times[1] - times[0] >= 990_000_000)
    }

    @Test("The death of a parent frees nothing while its command runs, and the death of a command frees the slot")
    func deathOfParent() async throws {
      defer { cleanUp() }
      let number = folder.file("number")
      let parent = try hold(["--refused-exit", "75"], "echo $$ > \(number); exec sleep 1000")
      let child = try await eventually("the command runs") { [folder] in
        folder.text(of: "number").flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
      }
      parent.send(SIGKILL)
      // Foundation hears of its end only when no process has the socket any more that its children inherit.
      let status = "/proc/\(parent.process.processIdentifier)/status"
      _ = try await eventually("the parent is dead") {
        (try? String(contentsOfFile: status, encoding: .utf8))?.contains("State:\tZ") == false ? nil : true
      }
      let early = try await Tool(program, ["hold", "builds", "--folder", shared, "--wait", "0.5", "true"])
      #expect(early.status == 6)
      #expect(early.messages.contains("no permit of builds"))
      let next = try hold([], "true")
      kill(child, SIGKILL)
      await parent.finish()
      #expect(await next.finish() == 0)
    }

    @Test("status names holders and waiters, as JSON and as a table; the metrics have their numbers")
    func state() async throws {
      defer { cleanUp() }
      let port = Int.random(in: 20_000..<32_000)
      let server = try StartedProcess(
        program, ["share", "serve", "--folder", shared, "--metrics", "127.0.0.1:\(port)"])
      _ = try await eventually("it serves") { FileManager.default.fileExists(atPath: shared + "/socket") ? true : nil }
      let second = try await Tool(
        program, ["share", "serve", "--folder", shared, "--metrics", "127.0.0.1:\(port)"])
      #expect(second.status == 3 && second.messages.contains("another server already serves"))
      let holder = try hold([], "exec sleep 1000")
      let state = try await eventually("it holds") { [program, shared] () -> [String: Any]? in
        let status = try await Tool(program, ["status", "--json", "unix:\(shared)"])
        let state = try JSONSerialization.jsonObject(with: Data(status.output)) as? [String: Any]
        let people = state?["holders"] as? [[String: Any]]
        return people?.first?["command"] as? String == "sleep 1000" ? state : nil
      }
      let waiter = try hold([], "true")
      let held = try #require((state["holders"] as? [[String: Any]])?.first)
      #expect(held["end_point"] as? String == "builds")
      #expect(held["process"] as? Int == Int(holder.process.processIdentifier) && held["processes"] as? Int == 1)
      #expect((held["since"] as? String)?.hasSuffix("Z") == true)
      let table = try await eventually("the other waits") { [program, shared] () -> String? in
        let status = try await Tool(program, ["status", "unix:\(shared)"])
        let text = String(decoding: status.output, as: UTF8.self)
        return text.contains("waited for by") ? text : nil
      }
      #expect(table.contains("held by") && table.contains("sleep 1000"))
      #expect(table.contains("  \(waiter.process.processIdentifier)  "), "\(table)")
      let page = try await Tool("curl", ["-sSi", "http://127.0.0.1:\(port)/metrics"])
      let text = String(decoding: page.output, as: UTF8.self)
      #expect(text.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"), "\(page.messages)")
      #expect(text.contains("\nheadgate_permits_held{end_point=\"builds\"} 1\n"))
      #expect(text.contains("\nheadgate_permits_waiting{end_point=\"builds\"} 1\n"))
      #expect(text.hasSuffix("# EOF\n"))
      let other = try await Tool("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:\(port)/x"])
      #expect(String(decoding: other.output, as: UTF8.self) == "404")
      holder.send(SIGKILL)
      #expect(await waiter.finish() == 0)
      server.send(SIGTERM)
      #expect(await server.finish() == 0)
    }
  }
}
