import Foundation
import HeadgateOrigin
import Testing

extension AcceptanceTests {
  /// The order of writes that docs/sessions.md promises, in the system calls of a process.
  @Suite(
    .enabled("the program was not built along with the tests") { Tool.headgate != nil },
    .enabled("strace is missing, or may not trace here") {
      (try? await Tool("strace", ["-qq", "-o", "/dev/null", "true"]).status) == 0
    })
  struct DurabilityTests {
    private static let sizes = [0, 1, 20_000, 300_000, 700_001]

    private let folder: TemporaryFolder
    private let origin: Origin

    init() throws {
      folder = try TemporaryFolder()
      origin = try Origin()
    }

    private func trace(_ options: String) async throws -> SystemCalls {
      let urls = Self.sizes.map { "$ORIGIN/bytes/\($0)" }.joined(separator: " ")
      return try await traced("fetch -P new/out --session state/run \(options) \(urls)")
    }

    private func traced(_ command: String) async throws -> SystemCalls {
      let calls = "trace=mkdir,mkdirat,write,pwrite64,fsync,fdatasync,/^rename"
      let line = try ShellLine(
        "strace -f -y -s 10000 -o trace -e '\(calls)' headgate \(command)", in: folder,
        variables: ["ORIGIN": "http://127.0.0.1:\(origin.port)"])
      let (status, _, messages) = await line.finish()
      #expect(status == 0, "\(messages)")
      return SystemCalls(folder.text(of: "trace") ?? "")
    }

    @Test(
      "Each body is on disk before its journal line, the journal line before the file's rename, and the folder after it",
      arguments: [("", "new/out"), ("-o '{host}/{name}'", "new/out/127.0.0.1")])
    func order(options: String, below parent: String) async throws {
      try folder.write([], to: "state/other")
      let calls = try await trace(options)
      for size in Self.sizes {
        let (name, part) = ("\(parent)/\(size)", "\(parent)/\(size).part")
        let written = calls.last("write", "pwrite64") { $0.isOf(part) }
        #expect(size == 0 || written != nil, "\(size)")
        let synced = try #require(calls.last("fsync", "fdatasync") { $0.isOf(part) }, "\(size)")
        #expect((written?.end ?? -1) < synced.start, "\(size)")
        // The text of a line shows tabs in the way of strace.
        let noted = try #require(
          calls.first("write", "pwrite64") { call in
            call.isOf("state/run") && call.arguments.contains("\\twhole\\tGET \(origin.url("/bytes/\(size)"))\\t")
          }, "\(size)")
        #expect(synced.end < noted.start, "\(size)")
        let kept = try #require(
          calls.first(after: noted.end, "fsync", "fdatasync") { $0.isOf("state/run") }, "\(size)")
        let renamed = try #require(
          calls.first("rename", "renameat", "renameat2") {
            $0.arguments.contains("\"\(part)\"") && $0.arguments.contains("\"\(name)\"")
          }, "\(size)")
        #expect(kept.end < renamed.start, "\(size)")
        let listed = calls.first(after: renamed.end, "fsync", "fdatasync") { $0.isOf(parent) }
        #expect(listed != nil, "\(size)")
      }
    }

    @Test("Before any file gets its name, the journal and all new folders are synced in their parent folders")
    func entries() async throws {
      try folder.write([], to: "state/other")
      let calls = try await trace("-o '{host}/{name}'")
      let first = try #require(calls.first("rename", "renameat", "renameat2") { _ in true })
      let above = URL(fileURLWithPath: folder.path).lastPathComponent
      for (made, parent) in [("new", above), ("new/out", "new"), ("new/out/127.0.0.1", "new/out")] {
        let making = try #require(calls.first("mkdir", "mkdirat") { $0.arguments.contains("\"\(made)\"") }, "\(made)")
        let synced = try #require(calls.first(after: making.end, "fsync", "fdatasync") { $0.isOf(parent) }, "\(made)")
        #expect(synced.end < first.start, "\(made)")
      }
      let begun = try #require(calls.first("write") { $0.isOf("state/run") })
      let synced = try #require(calls.first(after: begun.end, "fsync", "fdatasync") { $0.isOf("state") })
      #expect(synced.end < first.start)
    }

    @Test("The file of a row and the entries of its new folders are on disk before the row's result")
    func row() async throws {
      try folder.write(Array("{\"n\":3}\n".utf8), to: "rows")
      let calls = try await traced(
        "call -i rows --url \"$ORIGIN/bytes/{n}\" -P out --save 'a/b/{n}' --session run -o results")
      let result = try #require(calls.first("write", "pwrite64") { $0.isOf("results") })
      for (made, parent) in [("out/a", "out"), ("out/a/b", "out/a")] {
        let making = try #require(calls.first("mkdir", "mkdirat") { $0.arguments.contains("\"\(made)\"") }, "\(made)")
        let synced = try #require(calls.first(after: making.end, "fsync", "fdatasync") { $0.isOf(parent) }, "\(made)")
        #expect(synced.end < result.start, "\(made)")
      }
      let body = try #require(calls.first("fsync", "fdatasync") { $0.isOf("out/a/b/3.part") })
      let name = try #require(calls.first(after: body.end, "fsync", "fdatasync") { $0.isOf("out/a/b") })
      #expect(name.end < result.start)
    }
  }
}
