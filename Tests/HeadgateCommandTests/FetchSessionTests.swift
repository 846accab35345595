import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Runs with a journal, and later runs that continue them.
@Suite struct FetchSessionTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  private let site = Site()

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
    origin.setScript(OriginScript(handler: site.answer))
  }

  /// Bodies with versions, and the requests for them.
  private final class Site: Sendable {
    struct Asked: Equatable {
      var path: String
      var range: String?
      var condition: String?
    }

    struct State {
      var version = 1
      var size = 1000
      var asked: [Asked] = []
      /// The largest piece that a request for a range gets.
      var piece = Int.max
      /// The status of a range, and of a refusal of all ranges.
      var rangeStatus = 206
      var refusesRanges: Int?
      /// The number of bytes after which bodies are truncated; nil: never.
      var cut: Int?
      var sendsTags = true
      var status: Int?
    }

    let state = Locked(State())

    static func body(_ version: Int, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ version) }
    }

    var asked: [Asked] {
      state.withLock { state in
        defer { state.asked = [] }
        return state.asked
      }
    }

    func answer(_ request: OriginRequest) -> OriginAnswer? {
      state.withLock { state in
        let range = request.header("Range")
        state.asked.append(
          Asked(
            path: request.path, range: range,
            condition: request.header("If-None-Match") ?? request.header("If-Range")
              ?? request.header("If-Modified-Since")))
        if let status = state.status { return .text("", status: status) }
        let tag = "\"\(state.version)\""
        let modified = "Sun, 0\(state.version) Nov 2026 00:00:00 GMT"
        let body = Self.body(state.version, state.size)
        var answer: OriginAnswer
        if request.header("If-None-Match") == tag || request.header("If-Modified-Since") == modified {
          answer = .bytes([], status: 304)
        } else if let range, request.header("If-Range") == tag, let offset = Int(range.dropFirst(6).dropLast()) {
          if let status = state.refusesRanges {
            answer = .text("no", status: status)
          } else if offset < body.count {
            let piece = body[offset...].prefix(state.piece)
            answer = .bytes(Array(piece), status: state.rangeStatus)
            answer.headers = [OriginHeader("Content-Range", "bytes \(offset)-\(piece.endIndex - 1)/\(body.count)")]
          } else {
            answer = .bytes([], status: 416)
            answer.headers = [OriginHeader("Content-Range", "bytes */\(body.count)")]
          }
        } else {
          answer = .bytes(body)
        }
        let validator = state.sendsTags ? OriginHeader("ETag", tag) : OriginHeader("Last-Modified", modified)
        answer.headers.append(validator)
        return answer
      }
    }
  }

  private func run(_ urls: [String], _ options: String...) async throws -> Fetched {
    let list = urls.map { $0 + "\n" }.joined()
    let arguments = ["-i", "-", "-P", "@/out", "--session", "@/run", "--log", "@/log"]
    return try await FetchTrial(arguments + options, in: folder, input: list).finish()
  }

  /// The remains of a body after a kill: its beginning, and the journal's line.
  private func leave(
    _ size: Int, of path: String, version: Int, name: String, modified: String? = nil
  ) throws {
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: true)
    let part = Site.body(version, 1000).prefix(size)
    try Data(part).write(to: URL(fileURLWithPath: folder.file("out/\(name).part")))
    let inode = Descriptor.found(folder.file("out/\(name).part"))?.inode ?? 0
    let validator = Validator(tag: "\"\(version)\"", modified: modified)
    let events: [SessionEvent] = [
      .began(boot: Descriptor.boot() ?? ""),
      .part(key: "GET " + origin.url(path), name: name, validator, PartIdentity(inode: inode, first: Array(part))),
    ]
    try folder.write(SessionEvent.header + "\n" + events.map(\.line).joined(), to: "run")
  }

  @Test func `Existing files are never requested again, even if the list has changed`() async throws {
    let urls = (0..<20).map { origin.url("/d\($0 % 3)/x\($0 / 2)") }
    let first = try await run(urls)
    #expect(first.status == 0 && first.messages.contains("ok 20  failed 0  bytes "))
    #expect(site.asked.count == 20)
    let names = folder.names(in: "out")
    let files = Dictionary(uniqueKeysWithValues: first.records.map { ($0.url, $0.file) })
    let added = [origin.url("/d9/x1"), origin.url("/d9/new")]
    let second = try await run(urls.dropFirst().reversed() + added)
    #expect(second.status == 0 && second.messages.contains("ok 2  failed 0  done before 19  bytes "))
    #expect(Set(site.asked.map(\.path)) == ["/d9/x1", "/d9/new"])
    #expect(folder.names(in: "out").count == names.count + 2)
    // The same file for the same URL.
    for record in second.records where !added.contains(record.url) { #expect(record.file == files[record.url]) }
    #expect(second.records.allSatisfy { $0.attempts == (added.contains($0.url) ? 1 : 0) })
    #expect(folder.mode(of: "run") == 0o600)
  }

  @Test func `The log of a run that continues another is continued, and that of a new session begins`() async throws {
    try folder.write("of something else\n", to: "log")
    _ = try await run([origin.url("/a")])
    let first = try #require(folder.text(of: "log"))
    #expect(first.hasPrefix("{"))
    // A kill has torn the last line.
    try folder.write(String(first.dropLast()), to: "log")
    _ = try await run([origin.url("/a"), origin.url("/b")])
    let both = try #require(folder.text(of: "log"))
    #expect(both.hasPrefix(first) && both.split(separator: "\n").count == 3)
  }

  @Test func `A file that is missing or has another size is fetched again, under its name`() async throws {
    let urls = ["/a/x", "/b/x", "/c/x"].map { origin.url($0) }
    _ = try await run(urls)
    _ = site.asked
    try FileManager.default.removeItem(atPath: folder.file("out/x.1"))
    try folder.write("short", to: "out/x.2")
    let again = try await run(urls)
    #expect(again.messages.contains("ok 2  failed 0  done before 1  "))
    #expect(Set(site.asked.map(\.path)) == ["/b/x", "/c/x"])
    #expect(folder.names(in: "out") == ["x", "x.1", "x.2"])
    #expect(folder.bytes(of: "out/x.2") == Site.body(1, 1000))
  }

  @Test(arguments: [1, 2])
  func `A complete body that a kill left without its name gets the name, and is revalidated with -N`(version: Int)
    async throws
  {
    let url = origin.url("/p")
    _ = try await run([url])
    _ = site.asked
    let journal = try #require(folder.text(of: "run"))
    let done = SessionEvent.done(key: "GET " + url).line
    #expect(journal.contains(done))
    try folder.write(journal.replacing(done, with: ""), to: "run")
    try FileManager.default.moveItem(atPath: folder.file("out/p"), toPath: folder.file("out/p.part"))
    site.state.withLock { $0.version = version }
    let fetched = try await run([url], "-N")
    #expect(fetched.messages.contains(version == 1 ? "done before 1" : "ok 1"))
    #expect(site.asked == [.init(path: "/p", range: nil, condition: "\"1\"")])
    #expect(folder.names(in: "out") == ["p"])
    #expect(folder.bytes(of: "out/p") == Site.body(version, 1000))
  }

  @Test func `A partial file is continued with If-Range`() async throws {
    try leave(400, of: "/p", version: 1, name: "p")
    let fetched = try await run([origin.url("/p")])
    #expect(fetched.status == 0)
    #expect(site.asked == [.init(path: "/p", range: "bytes=400-", condition: "\"1\"")])
    #expect(folder.names(in: "out") == ["p"])
    #expect(folder.bytes(of: "out/p") == Site.body(1, 1000))
    #expect(fetched.records.first?.status == 206)
    #expect(fetched.records.first?.bytes == 1000)
  }

  @Test func `A rest that comes in pieces is requested piece by piece, without a retry`() async throws {
    try leave(400, of: "/p", version: 1, name: "p")
    site.state.withLock { $0.piece = 250 }
    #expect(try await run([origin.url("/p")]).status == 0)
    #expect(site.asked.map(\.range) == ["bytes=400-", "bytes=650-", "bytes=900-"])
    #expect(folder.bytes(of: "out/p") == Site.body(1, 1000))
  }

  @Test func `With -R a body that is continued has the time that its first response told`() async throws {
    try leave(400, of: "/p", version: 1, name: "p", modified: "Wed, 21 Oct 2015 07:28:00 GMT")
    #expect(try await run([origin.url("/p")], "-R").status == 0)
    #expect(site.asked.map(\.range) == ["bytes=400-"])
    #expect(folder.modified("out/p") == 1_445_412_480)
  }

  @Test func `Pieces of another version are not joined`() async throws {
    try leave(400, of: "/p", version: 1, name: "p")
    site.state.withLock { $0.piece = 250 }
    origin.setScript(
      OriginScript(handler: { [site] request in
        let answer = site.answer(request)
        site.state.withLock { $0.version = 2 }
        return answer
      }))
    #expect(try await run([origin.url("/p")]).status == 0)
    #expect(site.asked.map(\.range) == ["bytes=400-", "bytes=650-"])
    #expect(folder.bytes(of: "out/p") == Site.body(2, 1000))
  }

  @Test(arguments: [200, 400, 403, 412])
  func `A server that sends a slice as the whole, or refuses ranges, is asked for all`(status: Int) async throws {
    try leave(400, of: "/p", version: 1, name: "p")
    site.state.withLock { state in
      if status == 200 { state.rangeStatus = 200 } else { state.refusesRanges = status }
    }
    #expect(try await run([origin.url("/p")]).status == 0)
    #expect(site.asked.map(\.range) == ["bytes=400-", nil])
    #expect(folder.bytes(of: "out/p") == Site.body(1, 1000))
  }

  @Test(arguments: [[], ["--session", "@/run"]])
  func `A slice that nobody requested is not a file`(options: [String]) async throws {
    origin.setScript(
      OriginScript(handler: { _ in
        var answer = OriginAnswer.bytes(Array("second half".utf8))
        answer.headers = [OriginHeader("Content-Range", "bytes 11-21/22")]
        return answer
      }))
    let fetched = try await FetchTrial([origin.url("/p"), "-P", "@/out"] + options, in: folder).finish()
    #expect(fetched.status == 8, "\(fetched.messages)")
    #expect(folder.names(in: "out") == [])
  }

  @Test func `A partial file of another version is discarded`() async throws {
    try leave(400, of: "/p", version: 7, name: "p")
    #expect(try await run([origin.url("/p")]).status == 0)
    #expect(site.asked == [.init(path: "/p", range: "bytes=400-", condition: "\"7\"")])
    #expect(folder.bytes(of: "out/p") == Site.body(1, 1000))
  }

  @Test func `A partial file that is complete, as status 416 shows, is done`() async throws {
    try leave(1000, of: "/p", version: 1, name: "p")
    #expect(try await run([origin.url("/p")]).status == 0)
    #expect(site.asked.count == 1)
    #expect(folder.names(in: "out") == ["p"])
    #expect(folder.bytes(of: "out/p") == Site.body(1, 1000))
    #expect(try await run([origin.url("/p")]).messages.contains("done before 1"))
    #expect(site.asked.isEmpty)
  }

  @Test func `A partial file stays if its server defers the request, and the next run continues it`() async throws {
    try leave(400, of: "/a", version: 1, name: "a")
    site.state.withLock { $0.status = 503 }
    #expect(try await run([origin.url("/a")]).records.map(\.status) == [503])
    #expect(folder.names(in: "out") == ["a.part"])
    site.state.withLock { $0.status = nil }
    _ = site.asked
    #expect(try await run([origin.url("/a")]).messages.contains("ok 1"))
    #expect(site.asked.map(\.range) == ["bytes=400-"])
    #expect(folder.bytes(of: "out/a") == Site.body(1, 1000))
  }

  @Test func `A partial file stays if a retry is deferred, and the next run continues it`() async throws {
    let answers = Locked(0)
    origin.setScript(
      OriginScript(handler: { [site] request in
        let number = answers.withLock { answers in
          answers += 1
          return answers
        }
        guard number < 3 else { return site.answer(request) }
        var answer = number == 1 ? OriginAnswer.truncated(declared: 900_000, sent: 700_000) : .text("", status: 503)
        answer.headers.append(OriginHeader("ETag", "\"1\""))
        return answer
      }))
    site.state.withLock { $0.size = 900_000 }
    #expect(try await run([origin.url("/a")], "--retry", "1").records.map(\.status) == [503])
    #expect(folder.names(in: "out") == ["a.part"])
    #expect(try await run([origin.url("/a")]).messages.contains("ok 1"))
    #expect(site.asked.map(\.range) == ["bytes=700000-"])
  }

  @Test func `--retry-failed gives a complete body its name without another request`() async throws {
    origin.setScript(
      OriginScript(handler: { [folder, site] request in
        try? folder.write("theirs", to: "out/a")
        return site.answer(request)
      }))
    #expect(try await run([origin.url("/a")]).messages.contains("exists, but not from this session"))
    try FileManager.default.removeItem(atPath: folder.file("out/a"))
    _ = site.asked
    #expect(try await run([origin.url("/a")], "--retry-failed").status == 0)
    #expect(site.asked.isEmpty)
    #expect(folder.bytes(of: "out/a") == Site.body(1, 1000))
  }

  @Test func `--retry-failed asks again for a file whose newer version failed`() async throws {
    _ = try await run([origin.url("/a")])
    site.state.withLock { $0.status = 503 }
    #expect(try await run([origin.url("/a")], "-N").status == 8)
    site.state.withLock { ($0.status, $0.version) = (nil, 2) }
    #expect(try await run([origin.url("/a")], "--retry-failed").messages.contains("ok 1"))
    #expect(folder.bytes(of: "out/a") == Site.body(2, 1000))
    _ = site.asked
    #expect(try await run([origin.url("/a")], "--retry-failed").messages.contains("ok 0"))
    #expect(site.asked.isEmpty)
  }

  @Test func `Bytes of another version never count as the partial file in the journal`() async throws {
    try leave(400, of: "/a", version: 1, name: "a")
    // A server without ETags answers, and breaks off: its bytes must not be continued as the old version.
    let breaks = Locked(true)
    origin.setScript(
      OriginScript(handler: { [site] request in
        breaks.withLock { $0 } ? .truncated(declared: 900_000, sent: 700_000) : site.answer(request)
      }))
    #expect(try await run([origin.url("/a")]).status == 4)
    breaks.withLock { $0 = false }
    let journal = String(decoding: folder.bytes(of: "run") ?? [], as: UTF8.self)
    let parts = journal.split(separator: "\n").filter { $0.contains("\tpart\t") }
    #expect(parts.count >= 2 && !(parts.last ?? "").contains("\"1\""))
    #expect(try await run([origin.url("/a")]).messages.contains("ok 1"))
    #expect(folder.bytes(of: "out/a") == Site.body(1, 1000))
  }

  @Test func `A partial file that is longer than the body is requested from the beginning`() async throws {
    site.state.withLock { $0.size = 600 }
    try leave(800, of: "/p", version: 1, name: "p")
    #expect(try await run([origin.url("/p")]).status == 0)
    #expect(site.asked.map(\.range) == ["bytes=800-", nil])
    #expect(folder.bytes(of: "out/p") == Site.body(1, 600))
  }

  @Test func `-N revalidates everything, and replaces files that changed`() async throws {
    let urls = [origin.url("/a"), origin.url("/b")]
    _ = try await run(urls)
    _ = site.asked
    let same = try await run(urls, "-N")
    #expect(same.messages.contains("ok 0  failed 0  done before 2  "))
    #expect(site.asked.map(\.condition) == ["\"1\"", "\"1\""])
    #expect(same.records.map(\.status) == [304, 304])
    site.state.withLock { $0.version = 2 }
    let changed = try await run(urls, "--newer")
    #expect(changed.messages.contains("ok 2  failed 0  bytes "))
    #expect(folder.names(in: "out") == ["a", "b"])
    #expect(folder.bytes(of: "out/a") == Site.body(2, 1000))
    _ = site.asked
    #expect(try await run(urls).messages.contains("done before 2"))
    #expect(site.asked.isEmpty)
  }

  @Test func `A URL that failed with -N counts as failed until its server says that the file is current`() async throws
  {
    func successes() throws -> Int {
      try #require(folder.text(of: "run")).split(separator: "\n").count { $0.contains("\tdone\t") }
    }
    let urls = [origin.url("/a")]
    _ = try await run(urls)
    site.state.withLock { $0.status = 500 }
    #expect(try await run(urls, "-N").status == 8)
    // The start of the request was not a success.
    #expect(try successes() == 1)
    site.state.withLock { $0.status = nil }
    _ = site.asked
    #expect(try await run(urls, "-N", "--retry-failed").messages.contains("done before 1"))
    #expect(site.asked.map(\.condition) == ["\"1\""])
    #expect(try await run(urls, "-N", "--retry-failed").messages.contains("excluded 1"))
    #expect(site.asked.isEmpty)
    #expect(try successes() == 2)
  }

  @Test func `-N uses the date if a server sends no ETag`() async throws {
    site.state.withLock { $0.sendsTags = false }
    _ = try await run([origin.url("/a")])
    _ = site.asked
    #expect(try await run([origin.url("/a")], "-N").records.map(\.status) == [304])
    #expect(site.asked.map(\.condition) == ["Sun, 01 Nov 2026 00:00:00 GMT"])
    site.state.withLock { $0.version = 2 }
    #expect(try await run([origin.url("/a")], "-N").records.map(\.status) == [200])
    #expect(folder.bytes(of: "out/a") == Site.body(2, 1000))
  }

  @Test func `--retry-failed requests failed URLs, with a list or without`() async throws {
    let urls = ["/a", "/b", "/c"].map { origin.url($0) }
    _ = try await run(Array(urls.prefix(1)))
    site.state.withLock { $0.status = 500 }
    #expect(try await run(urls).status == 8)
    _ = site.asked
    let some = try await run([urls[1], origin.url("/never")], "--retry-failed")
    #expect(some.status == 8 && some.messages.contains("ok 0  failed 1  excluded 1  "))
    #expect(site.asked.map(\.path) == ["/b"])
    site.state.withLock { $0.status = nil }
    let rest = try await fetch("-P", "@/out", "--session", "@/run", "--retry-failed", in: folder)
    #expect(rest.status == 0 && rest.messages.contains("ok 2  failed 0  bytes "))
    #expect(Set(site.asked.map(\.path)) == ["/b", "/c"])
    let none = try await fetch("-P", "@/out", "--session", "@/run", "--retry-failed", in: folder)
    #expect(none.messages.hasPrefix("headgate: the session has no failed URLs\nok 0  failed 0  bytes "))
  }

  @Test func `--retry-failed refuses a session that does not exist, and makes no file`() async throws {
    let arguments = ["-P", folder.file("new"), "--session", folder.file("typo"), "--retry-failed"]
    for urls in [[], [origin.url("/a")]] {
      let options = try FetchCommand.parse(urls + arguments).options()
      let run = #expect(throws: FetchProblem.self) { try FetchRun(options) }
      let dryRun = #expect(throws: FetchProblem.self) { try DryRun(options) }
      for problem in [run, dryRun] {
        #expect(problem?.status == .usage && problem?.description.contains("there is no session") == true)
      }
    }
    #expect(site.asked.isEmpty && folder.names().isEmpty)
  }

  @Test func `A URL that occurs twice in a list is requested once`() async throws {
    let fetched = try await run([origin.url("/a"), origin.url("/b"), origin.url("/a#x")])
    #expect(fetched.status == 0 && fetched.messages.contains("ok 2  failed 0  excluded 1  "))
    #expect(site.asked.count == 2)
  }

  @Test func `A file from outside the session stays`() async throws {
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: true)
    try folder.write("mine", to: "out/a")
    #expect(try await run([origin.url("/a")]).status == 0)
    #expect(folder.text(of: "out/a") == "mine")
    #expect(folder.bytes(of: "out/a.1") == Site.body(1, 1000))
  }

  @Test func `An immediate interrupt leaves partial files that the next run continues`() async throws {
    let size = 2_000_000
    site.state.withLock { $0.size = size }
    // The origin sends a part of it and holds the rest.
    let gate = Locked(true)
    origin.setScript(
      OriginScript(handler: { [site] request in
        guard gate.withLock({ $0 }) else { return site.answer(request) }
        var answer = OriginAnswer.truncated(declared: size, sent: 700_000)
        answer.headers = [OriginHeader("ETag", "\"1\"")]
        return answer
      }))
    let cut = try await run([origin.url("/big")])
    #expect(cut.status == 4)
    let part = try #require(folder.bytes(of: "out/big.part"))
    #expect(part.count > 0 && part.count <= 700_000)
    gate.withLock { $0 = false }
    // The origin's own pattern is another body than the site's: the existing part is kept, and the rest follows.
    #expect(try await run([origin.url("/big")]).status == 0)
    #expect(site.asked.map(\.range) == ["bytes=\(part.count)-"])
    #expect(folder.bytes(of: "out/big") == part + Site.body(1, size).dropFirst(part.count))
  }

  @Test func `Two runs can't use one session, and other kinds of files stay unchanged`() throws {
    let first = try Session(folder.file("run"), folder: folder.path)
    let busy = #expect(throws: FetchProblem.self) { _ = try Session(folder.file("run"), folder: folder.path) }
    #expect(busy?.description.contains("is in use by another run") == true)
    withExtendedLifetime(first) {}
    try folder.write("my notes\n", to: "notes")
    let other = #expect(throws: FetchProblem.self) { _ = try Session(folder.file("notes"), folder: folder.path) }
    #expect(other?.status == .file && other?.description.contains("is not a session") == true)
    #expect(folder.text(of: "notes") == "my notes\n")
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("link"), withDestinationPath: folder.file("notes"))
    #expect(throws: FetchProblem.self) { _ = try Session(folder.file("link"), folder: folder.path) }
    #expect(throws: FetchProblem.self) { _ = try Session(folder.file("none/run"), folder: folder.path) }
  }

  @Test func `A torn journal continues after the tear`() throws {
    let whole = SessionEvent.header + "\n" + SessionEvent.failed(key: "GET http://a/", error: "e").line
    for torn in ["head", whole, whole + "0123456", whole + "\n\n"] {
      try folder.write(torn, to: "run")
      let session = try Session(folder.file("run"), folder: folder.path)
      #expect(session.failedURLs(SentRequest()).entries.flatMap(\.urls) == (torn == "head" ? [] : ["http://a/"]))
      let text = try #require(folder.text(of: "run"))
      #expect(text.hasPrefix(SessionEvent.header + "\n") && text.hasSuffix("\n"))
      #expect(
        text.split(separator: "\n").compactMap { SessionEvent(Array($0.utf8)[...]) }.count == (torn == "head" ? 1 : 2))
      withExtendedLifetime(session) {}
    }
  }
}
