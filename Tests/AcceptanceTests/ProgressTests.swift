import Foundation
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

extension AcceptanceTests {
  /// The command in a separate process, with a terminal for its messages.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil }, .timeLimit(.minutes(2)))
  struct ProgressTests {
    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin()
      // More than can be fetched before the test ends.
      let urls = (0..<20_000).map { origin.url($0 % 20 == 3 ? "/status/404?n=\($0)" : "/delay/20?n=\($0)") }
      try folder.write(Array(urls.joined(separator: "\n").utf8), to: "list")
    }

    private func run(_ terminal: PseudoTerminal, _ environment: [String: String]) throws -> StartedProcess {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments =
        ["-u", "NO_COLOR"] + environment.map { "\($0.key)=\($0.value)" }
        + [Tool.headgate ?? "", "fetch", "-i", folder.file("list"), "-P", folder.file("out"), "--per-host", "2"]
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle(fileDescriptor: terminal.slave, closeOnDealloc: false)
      return try StartedProcess(process)
    }

    /// The state of a process in the system's terms: T is stopped.
    private func isStopped(_ started: StartedProcess) -> Bool {
      let stat = "/proc/\(started.process.processIdentifier)/stat"
      let text = (try? String(contentsOfFile: stat, encoding: .utf8)) ?? ""
      return text.split(separator: ")").last?.split(separator: " ").first == "T"
    }

    @Test("D129 the panel survives a resize, Ctrl-Z, SIGUSR1 and Ctrl-C, and the last line is correct")
    func panel() async throws {
      let terminal = try PseudoTerminal(columns: 80, rows: 24)
      let command = try run(terminal, ["TERM": "xterm"])
      try await terminal.wait(for: "running 2  queued")
      try await terminal.wait(for: "/20,000")
      #expect(terminal.text.contains("\u{1B}["))

      terminal.resize(columns: 40, rows: 24)
      command.send(SIGWINCH)
      // A failure before the signal draws the old panel once more.
      _ = try await eventually("the panel is as narrow as the terminal") {
        let panel = terminal.panel.filter { !$0.hasPrefix("headgate: ") }.map { DisplayWidth.ofPainted(String($0)) }
        return panel.count >= 4 && panel.allSatisfy { $0 <= 37 } ? true : nil
      }

      command.send(SIGTSTP)
      _ = try await eventually("it has stopped") { isStopped(command) ? true : nil }
      // A failure may have been printed after the panel was erased, and before the process stopped.
      _ = try await eventually("the panel is gone") {
        terminal.panel.allSatisfy { $0.hasPrefix("headgate: ") } ? true : nil
      }
      var place = terminal.count
      command.send(SIGCONT)
      try await terminal.wait(for: "/20,000", after: place)

      place = terminal.count
      command.send(SIGUSR1)
      try await terminal.wait(for: "limit 2/2", after: place)

      place = terminal.count
      command.send(SIGINT)
      #expect(await command.finish() == 130)
      terminal.close()
      try await terminal.wait(for: "peak 2/host", after: place)
      let summary = try #require(terminal.text.split(separator: "\n").last)
      let numbers = ["ok ", "failed ", "skipped "].map { word -> Int in
        let rest = summary.firstRange(of: word).map { summary[$0.upperBound...] } ?? ""
        return Int(rest.prefix { $0.isNumber }) ?? -1
      }
      // A slow machine may not have the time to count the rest of the list, and says so by a plus.
      let isCounted = summary.firstMatch(of: /skipped [0-9]+\+/) == nil
      #expect(isCounted ? numbers.reduce(0, +) == 20_000 : numbers.reduce(0, +) <= 20_000)
      #expect(folder.names(in: "out").count == numbers[0])
      let failures = terminal.text.split(separator: "\n").count { $0.contains(": status 404") }
      #expect(failures == numbers[1])
    }

    @Test("With NO_COLOR the panel has no colours")
    func colourless() async throws {
      let terminal = try PseudoTerminal(columns: 80, rows: 24)
      let command = try run(terminal, ["TERM": "xterm", "NO_COLOR": "1"])
      try await terminal.wait(for: "running 2  queued")
      command.send(SIGINT)
      await command.finish()
      terminal.close()
      try await terminal.wait(for: "peak 2/host")
      #expect(terminal.text.contains("\u{1B}[") && !terminal.text.contains(/\u{1B}\[[0-9;]*m/))
    }

    @Test("D129 a dumb terminal gets no escape sequences")
    func dumb() async throws {
      let terminal = try PseudoTerminal(columns: 80, rows: 24)
      let command = try run(terminal, ["TERM": "dumb"])
      try await terminal.wait(for: ": status 404")
      command.send(SIGINT)
      await command.finish()
      terminal.close()
      try await terminal.wait(for: "peak 2/host")
      #expect(!terminal.text.contains("\u{1B}"))
    }
  }
}
