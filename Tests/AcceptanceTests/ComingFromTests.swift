import Foundation
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

extension AcceptanceTests {
  /// The commands of docs/coming-from.md, read from the page and run.
  @Suite(.enabled("the program was not built along with the tests") { Tool.headgate != nil })
  struct ComingFromTests {
    /// The hosts of the page, in the order of the origin's end-points.
    private static let hosts = ["example.com", "cdn.example.com", "api.example.com", "proxy:3128"]

    private struct Asked {
      var requests: [OriginRequest] = []
      var seen: Set<String> = []
    }

    private let folder: TemporaryFolder
    private let origin: Origin
    private let asked = LockedBox(Asked())

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin(endPoints: Self.hosts.count)
    }

    static func page() throws -> DocumentedCommands { try DocumentedCommands("coming-from.md") }

    @Test("The page and the test have the same commands, in the same rows")
    func sameCommands() throws {
      let page = try Self.page()
      #expect(page.strange == [])
      #expect(page.commands.filter { ComingFrom.effects[$0] == nil } == [])
      #expect(Set(ComingFrom.effects.keys).subtracting(page.commands) == [])
    }

    @Test("Each command of the page does what the page says", arguments: (try? page().commands) ?? [])
    func effect(of command: String) async throws {
      let effect = try #require(ComingFrom.effects[command])
      try prepare(effect)
      var there = files()
      if let before = effect.before { _ = try await run(before) }
      if !effect.countsBefore {
        asked.withLock { $0.requests = [] }
        there = files()
      }
      let start = Deadline.now
      let (status, output, messages) = try await run(command)
      #expect((Deadline.now - start).inSeconds >= effect.seconds)
      #expect(status == 0, "\(messages)")

      let requests = asked.withLock { $0.requests }
      #expect(requests.map(name).sorted() == effect.requests.sorted(), "\(messages)")
      for (field, value) in effect.fields {
        #expect(requests.allSatisfy { $0.header(field) == translated(value, scheme: false) }, "\(field)")
      }
      #expect(files().subtracting(there) == Set(effect.files), "\(messages)")
      for (name, text) in effect.contents { #expect(folder.text(of: name) == text) }
      let printed = String(decoding: output, as: UTF8.self)
      if let expected = effect.output { #expect(printed == translated(expected)) }
      if let bodies = effect.bodies {
        let results = try (folder.text(of: "results.ndjson") ?? printed).split(separator: "\n").map(Self.body)
        #expect(results.sorted() == bodies.sorted(), "\(messages)")
      }
      for place in origin.ports.indices { #expect(origin.counts(endPoint: place).peakRequests <= effect.most) }
    }

    // MARK: The servers and the files

    private func prepare(_ effect: CommandEffect) throws {
      origin.setScript(
        OriginScript(
          delay: .milliseconds(10),
          handler: { [asked] request in
            let isFirst = asked.withLock { asked in
              asked.requests.append(request)
              return asked.seen.insert(request.path).inserted
            }
            if isFirst, effect.busy.contains(request.path) { return .text("busy\n", status: 503) }
            if let answer = effect.answer { return answer }
            if request.header("If-None-Match") == "\"1\"" { return .bytes([], status: 304) }
            guard ["GET", "HEAD"].contains(request.method) else { return .echo }
            var answer = OriginAnswer.text(Self.path(of: request) + "\n")
            answer.headers = [OriginHeader("ETag", "\"1\"")]
            return answer
          }))
      let urls = CommandEffect.urls(effect.list)
      let texts = [
        "urls.txt": urls.joined(separator: "\n") + "\n",
        "page.html": "<a href=\"\(urls[0])\">a</a>\n<a href=\"\(urls[1])\">b</a>\n",
        "downloads.aria2": "\(urls[0])\n  out=first.json\n\(urls[1])\n", "ids.txt": "1\n2\n",
        "rows.csv": "id,name\n1,Ada L\n2,Bo\n",
        "rows.ndjson": "{\"id\":1,\"name\":\"Ada\"}\n{\"id\":2,\"name\":\"Bo\"}\n",
        "prompts.ndjson": ["1", "2"].map { "{\"max_tokens\":9,\"messages\":[{\"content\":\"\($0)\"}]}\n" }.joined(),
        "batch.ndjson": [1, 2].map { "{\"custom_id\":\"\($0)\",\"body\":{\"n\":\($0)}}\n" }.joined(),
        "fields.txt": "X-Key: 7\n", "cookies.txt": "127.0.0.1\tFALSE\t/\tFALSE\t0\tsugar\t7\n",
        "netrc": "machine 127.0.0.1 login ada password secret\n",
      ]
      for (name, text) in texts { try folder.write(translated(text).utf8, to: name) }
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file("netrc"))
    }

    private func run(_ command: String) async throws -> (status: Int32, output: [UInt8], messages: String) {
      try await ShellLine(translated(command), in: folder, variables: ["AUTHORIZATION": "Bearer t"]).finish()
    }

    /// The page's hosts as the origin's.
    private func translated(_ text: String, scheme: Bool = true) -> String {
      var text = scheme ? text.replacing("https://", with: "http://") : text
      // The longest first, because one name is the end of the others.
      for (place, host) in Self.hosts.enumerated().sorted(by: { $0.element.count > $1.element.count }) {
        text = text.replacing(host, with: "127.0.0.1:\(origin.ports[place])")
      }
      return text
    }

    private func name(_ request: OriginRequest) -> String {
      let host = Self.hosts[request.endPoint].split(separator: ":")[0]
      return "\(request.method) \(host)\(Self.path(of: request))\(request.query.isEmpty ? "" : "?")\(request.query)"
    }

    /// Without the scheme and host that a request to a proxy begins with.
    private static func path(of request: OriginRequest) -> String {
      guard request.path.hasPrefix("http://") else { return request.path }
      return "/" + (request.path.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).last ?? "")
    }

    /// The existing files, without the test's own.
    private func files() -> Set<String> {
      let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
      return Set(names.filter { !$0.hasPrefix("line-") && $0 != "out" })
    }

    private struct Result: Decodable {
      var outcome: String
      var bodyText: String?
      var body: Usage?
      struct Usage: Codable { var usage: [String: Int] }
    }

    /// The part of a result that describes the response.
    private static func body(of line: Substring) throws -> String {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      let result = try decoder.decode(Result.self, from: Data(line.utf8))
      #expect(result.outcome == "ok")
      guard let body = result.body else { return result.bodyText ?? "" }
      return String(decoding: try JSONEncoder().encode(body), as: UTF8.self)
    }
  }
}
