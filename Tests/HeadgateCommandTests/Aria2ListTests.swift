import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Lists in the format of aria2: mirrors, and options in indented lines.
@Suite struct Aria2ListTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  private static let sum = String(repeating: "0123456789abcdef", count: 4)

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin(endPoints: 2)
  }

  private func cut(_ text: String, by size: Int = 1000) -> [NumberedLine] {
    var cutter = Aria2Cutter()
    let bytes = Array(text.utf8)
    let lines = stride(from: 0, to: bytes.count, by: size).flatMap { cutter.cut(Array(bytes[$0...].prefix(size))) }
    return lines + cutter.finish()
  }

  private func run(_ list: String, _ options: String...) async throws -> Fetched {
    let arguments = ["-i", "-", "--list-format", "aria2", "--log", "@/log"]
    return try await FetchTrial(arguments + options, in: folder, input: list).finish()
  }

  @Test func `The URLs of one file are on one line, with its options below`() {
    let text = """
      # c
      http://a/x\thttp://b/x\t
        out=y
        # c

      \tchecksum=SHA-256=\(Self.sum)
        dir=/tmp
      http://c/\r
      http://d/
      """
    let entries = [
      ListEntry(
        urls: ["http://a/x", "http://b/x"], name: "y", checksum: Checksum(Self.sum), unknown: ["dir"]),
      ListEntry(urls: ["http://c/"]), ListEntry(urls: ["http://d/"]),
    ]
    for size in [1, 3, 1000] {
      #expect(cut(text, by: size).map(\.line) == entries.map { .entry($0) })
      #expect(cut(text, by: size).map(\.number) == [2, 8, 9])
    }
    #expect(cut("") == [])
  }

  @Test(arguments: [
    ("  out=x\n  out=y\nhttp://a/\n", 1, "it is an option without a URL above it"),
    ("http://b/\n  out=a/../b\n  out=c\nhttp://a/\n", 2, "it is not a valid path of a file below the folder"),
    ("http://b/\n  out=\nhttp://a/\n", 2, "it is not a valid path of a file below the folder"),
    ("http://b/\n  out=/a\nhttp://a/\n", 2, "it is not a valid path of a file below the folder"),
    ("http://b/\n  out=..\nhttp://a/\n", 2, "it is not a valid path of a file below the folder"),
    ("http://b/\n  checksum=md5=00\nhttp://a/\n", 2, "only sha-256 is supported: write checksum=sha-256=DIGITS"),
    ("http://b/\n  checksum=sha-256=00\nhttp://a/\n", 2, "a SHA-256 has 64 hexadecimal digits"),
    ("http://b/\u{1}\n  out=x\nhttp://a/\n", 1, "it contains control characters"),
  ])
  func `An error in an option is reported once, and its URL is not fetched`(
    list: String, number: Int, reason: String
  ) throws {
    let lines = cut(list)
    #expect(lines.map(\.number).first == number)
    guard case .bad(_, let told)? = lines.first?.line else { throw ListEntryError() }
    #expect(told.hasPrefix(reason))
    #expect(lines.dropFirst().map(\.line) == [.entry(ListEntry(urls: ["http://a/"]))])
  }

  private struct ListEntryError: Error {}

  @Test func `An indented URL is not an option`() {
    let lines = cut("http://b/\n  http://a/?x=y\n")
    #expect(lines.map(\.number) == [1, 2])
    guard case .bad? = lines.last?.line else { return #expect(Bool(false)) }
  }

  @Test func `In other formats, the error for such lines names the format to use`() async throws {
    let fetched = try await fetch(
      "-i", "-", "-P", "@/out", in: folder, input: "http://a/\thttp://b/\n  out=x\n  \(origin.url("/bytes/1"))\n")
    #expect(fetched.messages.contains(":1: \"http://a/\\u{9}http://b/\": it contains tabs; "))
    #expect(
      fetched.messages.contains(":2: \"out=x\": it is not a URL; for options in indented lines give --list-format"))
    #expect(folder.names(in: "out") == ["1"])
    #expect(throws: (any Error).self) { try FetchCommand.parse(["--list-format", "aria2", "http://a/"]) }
  }

  @Test func `The next mirror is tried if one fails permanently, and file names are those of the list`() async throws {
    let list = """
      http://127.0.0.1:1/x\t\(origin.url("/status/404"))\tftp://a/x\t\(origin.url("/bytes/5", endPoint: 1))\t\(origin.url("/bytes/6"))
        out=y
        split=5
      \(origin.url("/status/500"))\t\(origin.url("/status/410", endPoint: 1))
        split=5
      \(origin.url("/bytes/7"))\t\(origin.url("/bytes/8"))
      """
    for (round, session) in [[], ["--session", folder.file("run")]].enumerated() {
      let arguments = ["-i", "-", "--list-format", "aria2", "--log", "@/log", "-P", folder.file("out\(round)")]
      let fetched = try await FetchTrial(arguments + session, in: folder, input: list).finish()
      #expect(fetched.status == 8)
      #expect(folder.names(in: "out\(round)") == ["7", "y"])
      #expect(folder.bytes(of: "out\(round)/y")?.count == 5)
      #expect(fetched.messages.contains("ok 2  failed 1  "))
      let first = try #require(fetched.record("http://127.0.0.1:1/x"))
      #expect(first.mirror == origin.url("/bytes/5", endPoint: 1) && first.error == nil && first.status == 200)
      let failed = try #require(fetched.record(origin.url("/status/500")))
      #expect(failed.status == 410 && failed.mirror == origin.url("/status/410", endPoint: 1))
      #expect(fetched.record(origin.url("/bytes/7"))?.mirror == nil && fetched.records.count == 3)
      #expect(fetched.messages.contains("/status/404: status 404; trying the next mirror"))
      #expect(fetched.messages.split(separator: "split=").count == 2)
      #expect(fetched.messages.contains("ftp://a/x is not a valid URL; such mirrors are left out"))
    }
    #expect(origin.counts().refused == 0)
  }

  @Test func `Files get the folders of the list, which a session remembers, and no empty folder stays`()
    async throws
  {
    let list = """
      \(origin.url("/bytes/5"))
        out=a/b/x.iso
      \(origin.url("/bytes/6"))
        out=a/.b/x.iso
      \(origin.url("/bytes/7"))
        out=a
      \(origin.url("/status/404"))
        out=c/d
      """
    for round in 0..<2 {
      let fetched = try await run(list, "-P", "@/out", "--session", "@/run")
      #expect(fetched.status == 8)
      #expect(fetched.messages.contains(round == 0 ? "ok 3  failed 1  " : "ok 0  failed 1  done before 3  "))
      #expect(folder.names(in: "out").sorted() == ["a", "a.1"])
      #expect(folder.names(in: "out/a").sorted() == ["_b", "b"])
      #expect(folder.bytes(of: "out/a/b/x.iso")?.count == 5 && folder.bytes(of: "out/a/_b/x.iso")?.count == 6)
      #expect(folder.bytes(of: "out/a.1")?.count == 7)
    }
  }

  @Test func `Mirrors also replace each other on the standard output`() async throws {
    let list = "\(origin.url("/status/404"))\t\(origin.url("/bytes/5"))\n\(origin.url("/bytes/3"))\n"
    let fetched = try await run(list)
    #expect(fetched.status == 0)
    #expect(fetched.output == [5, 3].flatMap { (0..<$0).map(OriginAnswer.patternByte) })
  }

  @Test func `All URLs are checked, and the first one of a line counts for the others`() async throws {
    let list = "\(origin.url("/status/404"))\t\(origin.url("/bytes/5"))\n  out=x\n"
    let checked = try await run(list, "--check")
    #expect(checked.messages.contains("ok 1  failed 1  "))
    let twice = try await run(list + list, "--dedupe", "-P", "@/out")
    #expect(twice.messages.contains("ok 1  failed 0  excluded 1  "))
    #expect(folder.names(in: "out") == ["x"])
  }

  @Test func `A line that waits on disk keeps its mirrors and its checksum`() async throws {
    let list = (0..<100).map { "\(origin.url("/status/404?\($0)"))\t\(origin.url("/bytes/\($0)"))\n  out=f\($0)\n" }
    let fetched = try await run(list.joined(), "-P", "@/out", "--per-host", "2")
    #expect(fetched.status == 0 && folder.names(in: "out").count == 100)
    #expect(folder.bytes(of: "out/f77")?.count == 77)
    let line = StoredLine(
      url: "http://a/", name: "ä", index: 3, checksum: Checksum(Self.sum), mirrors: ["http://b/", "http://c/"])
    for line in [
      line, StoredLine(url: "u", name: "", index: 0, mirrors: ["v"]), StoredLine(url: "u", name: "n", index: 1),
    ] {
      var bytes: [UInt8] = []
      line.encode(into: &bytes)
      let decoded = try #require(StoredLine.decode(bytes[...]))
      #expect(decoded.line == line && decoded.length == bytes.count)
      #expect(StoredLine.decode(bytes.dropLast()) == nil)
    }
  }

  @Test func `A partial body from a mirror is not continued from another server`() async throws {
    let isCut = Locked(true)
    origin.setScript(
      OriginScript(handler: { request in
        guard request.path == "/mirror" else { return nil }
        var answer =
          isCut.withLock { $0 } ? OriginAnswer.truncated(declared: 900_000, sent: 600_000) : .pattern(count: 900_000)
        answer.headers.append(OriginHeader("ETag", "\"1\""))
        return answer
      }))
    let list = "\(origin.url("/status/404"))\t\(origin.url("/mirror"))\n  out=x\n"
    let options = ["-i", "-", "--list-format", "aria2", "-P", "@/out", "--session", "@/run"]
    let cut = try await FetchTrial(options, in: folder, input: list).finish()
    #expect(cut.status == 4 && folder.names(in: "out").isEmpty)
    let journal = try SessionState.peek(folder.file("run"))
    #expect(journal.failed == ["GET \(origin.url("/status/404"))"])
    isCut.withLock { $0 = false }
    let whole = try await FetchTrial(options, in: folder, input: list).finish()
    #expect(whole.status == 0)
    #expect(folder.bytes(of: "out/x") == (0..<900_000).map(OriginAnswer.patternByte))
    // Its tag is meaningless to the first server.
    #expect(folder.text(of: "run")?.contains("\"1\"") == false)
  }

  @Test func `After an interrupt no other mirror is tried`() async throws {
    let list = "\(origin.url("/hold"))\t\(origin.url("/bytes/5"))\n"
    let trial = try FetchTrial(["-i", "-", "--list-format", "aria2", "-P", "@/out"], in: folder, input: list)
    async let fetched = trial.finish()
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    trial.run.interrupt()
    trial.run.interrupt()
    #expect(await fetched.status == 130)
    #expect(folder.names(in: "out").isEmpty)
  }

  @Test(arguments: [[], ["--session", "@/run"]])
  func `A POST that a server may have processed is not sent to a mirror`(options: [String]) async throws {
    let list = "\(origin.url("/status/503"))\t\(origin.url("/bytes/5"))\n"
    func statuses(_ more: String...) async throws -> [Int?] {
      let arguments = ["-i", "-", "--list-format", "aria2", "--log", "@/log", "-P", "@/out", "--retry-after", "ignore"]
      return try await FetchTrial(arguments + options + more, in: folder, input: list).finish().records.map(\.status)
    }
    #expect(try await statuses("-d", "x") == [503])
    #expect(try await statuses() == [200])
  }
}
