import ArgumentParser
import Foundation
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateCommand

extension AcceptanceTests {
  /// The examples of the help, read from it and run. Their hosts are behind a proxy, which is the test's server.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct HelpExampleTests {
    private struct Asked {
      var requests: [OriginRequest] = []
      var hasFailed = false
    }

    private let folder: TemporaryFolder
    private let origin: Origin
    private let asked = LockedBox(Asked())
    /// For the permits of the examples. The path of a socket must be short.
    private let shared = "/tmp/hg-" + String(UInt32.random(in: 0 ... .max), radix: 36)

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin()
    }

    static let commands = [
      FetchHelp.text, CallHelp.text, ReportCommand.configuration.discussion, HoldCommand.configuration.discussion,
      RefusedCommand.configuration.discussion,
    ].flatMap(HelpExamples.commands)

    @Test("The help and the test have the same examples")
    func sameExamples() {
      #expect(Self.commands.filter { HelpEffect.all[$0] == nil } == [])
      #expect(Set(HelpEffect.all.keys).subtracting(Self.commands) == [])
    }

    @Test("Each example of the help has the described effect", arguments: commands)
    func effect(of command: String) async throws {
      defer { stopPermitServer() }
      let effect = try #require(HelpEffect.all[command])
      try prepare(effect)
      var there = files()
      if let before = effect.before {
        _ = try await run(before)
        if !effect.countsBefore {
          asked.withLock { $0.requests = [] }
          there = files()
        }
      }
      let (status, output, messages) = try await run(command)
      #expect(status == 0, "\(messages)")
      let requests = asked.withLock { $0.requests }
      #expect(requests.map(Self.name).sorted() == effect.requests.sorted(), "\(messages)")
      if let (field, value) = effect.field { #expect(requests.allSatisfy { $0.header(field) == value }) }
      #expect(files().subtracting(there) == Set(effect.files), "\(messages)")
      for (name, start) in effect.contents { #expect(folder.text(of: name)?.hasPrefix(start) == true, "\(name)") }
      if let expected = effect.output { #expect(String(decoding: output, as: UTF8.self) == expected) }
    }

    // MARK: The server and the files

    private func prepare(_ effect: HelpEffect) throws {
      origin.setScript(
        OriginScript(handler: { [asked] request in
          let path = request.path
          let fails = asked.withLock { asked in
            asked.requests.append(request)
            guard path == effect.failing, !asked.hasFailed else { return false }
            asked.hasFailed = true
            return true
          }
          if fails { return .text("", status: 500) }
          if path.hasSuffix(".json") { return .text("\"\(path)\"\n") }
          var answer = OriginAnswer.text("{\"usage\":{\"total_tokens\":5}}")
          answer.headers = [OriginHeader("Content-Type", "application/json")]
          return answer
        }))
      let urls = ["http://example.com/a.json", "http://example.com/b.json", "http://cdn.example.com/c.json"]
      let texts = [
        "urls.txt": urls.joined(separator: "\n") + "\n", "links.txt": urls[0] + "\n",
        "page.html": "<a href=\"\(urls[0])\">a</a>\n<a href=\"\(urls[1])\">b</a>\n",
        "downloads.aria2": "\(urls[0])\n  out=first.json\n\(urls[1])\n",
        "rows.ndjson": "{\"id\":1,\"query\":\"x y\"}\n{\"id\":2,\"query\":\"z\"}\n",
        "people.csv": "name,age\nAda,36\n", "prompts.ndjson": "{\"max_tokens\":9}\n",
        "body.json": "{\"n\":{max_tokens}}", "data.json": "{}",
        "upload": "#!/bin/sh\necho > \"$1.sent\"\n", "ask.py": "#!/bin/sh\necho > asked\n",
      ]
      for (name, text) in texts { try folder.write(text.utf8, to: name) }
      for name in ["upload", "ask.py"] {
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file(name))
      }
    }

    private func run(_ command: String) async throws -> (status: Int32, output: [UInt8], messages: String) {
      let variables = [
        "http_proxy": "http://127.0.0.1:\(origin.port)", "API_AUTHORIZATION": "Bearer t", "HEADGATE_FOLDER": shared,
      ]
      // The server has no certificates for these hosts.
      let line = try ShellLine(command.replacing("https://", with: "http://"), in: folder, variables: variables)
      return await line.finish()
    }

    /// Method, host and path.
    private static func name(_ request: OriginRequest) -> String {
      "\(request.method) \(request.header("Host") ?? "")\(request.path)\(request.query.isEmpty ? "" : "?")\(request.query)"
    }

    /// The existing files, without the test's own.
    private func files() -> Set<String> {
      let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
      return Set(names.filter { !$0.hasPrefix("line-") && $0 != "out" })
    }

    /// Ends the process that serves the permits, if the example has started one.
    private func stopPermitServer() {
      let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
      for process in processes.compactMap({ pid_t($0) }) {
        let line = (try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)) ?? ""
        let words = line.split(separator: "\0")
        if words.contains("serve"), words.contains(Substring(shared)) { kill(process, SIGTERM) }
      }
      try? FileManager.default.removeItem(atPath: shared)
    }
  }
}
