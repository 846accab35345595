import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// A session after a response or a failure that leaves the outcome open.
@Suite struct SessionDoubtTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  private let asked = LockedBox<[String]>([])

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: true)
  }

  private func answer(_ hook: @escaping @Sendable (OriginRequest, Int) -> OriginAnswer) {
    origin.setScript(
      OriginScript(handler: { [asked] request in
        let number = asked.withLock { asked in
          asked.append("\(request.method) \(request.path)")
          return asked.count
        }
        return hook(request, number)
      }))
  }

  private func run(_ arguments: String...) async throws -> Fetched { try await run(arguments) }

  private func run(_ arguments: [String]) async throws -> Fetched {
    try await FetchTrial(arguments + ["-P", "@/out", "--session", "@/run", "--log", "@/log"], in: folder).finish()
  }

  private func writeJournal(_ events: [SessionEvent]) throws {
    let lines = [SessionEvent.began(boot: Descriptor.boot() ?? "")] + events
    try folder.write(SessionEvent.header + "\n" + lines.map(\.line).joined(), to: "run")
  }

  private func post(_ url: String) -> String {
    SentRequest(method: .post, body: SentBody(Array("x".utf8), type: SentBody.formType)).key(url)
  }

  @Test(arguments: [[], ["-N"], ["-d", "x"]])
  func `A 304 without a stored version is an error, and is requested once`(options: [String]) async throws {
    answer { _, number in number == 1 ? .bytes([], status: 304) : .text("x") }
    let arguments = [origin.url("/a"), "-P", "@/out", "--session", "@/run", "--log", "@/log"] + options
    let fetched = await (try FetchTrial(arguments, in: folder)).finish()
    #expect(fetched.status == 8 && fetched.records.map(\.status) == [304], "\(fetched.messages)")
    #expect(asked.withLock { $0.count } == 1)
    #expect(folder.names(in: "out") == [])
  }

  @Test func `A POST whose file can't be written is not sent again`() async throws {
    answer { [folder] _, _ in
      // A folder gets the name of the part file.
      try? FileManager.default.createDirectory(atPath: folder.file("out/a.part"), withIntermediateDirectories: true)
      return .text("x")
    }
    #expect(try await run(origin.url("/a"), "-d", "x").status == 3)
    try FileManager.default.removeItem(atPath: folder.file("out/a.part"))
    let again = try await run(origin.url("/a"), "-d", "x")
    #expect(again.records.map(\.error) == ["outcome_unknown"])
    #expect(asked.withLock { $0 } == ["POST /a"])
    answer { _, _ in .text("x") }
    #expect(try await run(origin.url("/a"), "-d", "x", "--retry-unsafe").messages.contains("ok 1"))
    #expect(folder.text(of: "out/a") == "x")
  }

  @Test func `A POST with an unknown outcome keeps it if a run with --retry-unsafe can't send it`() async throws {
    // No server listens there.
    let url = "http://127.0.0.1:1/dead"
    try writeJournal([.sending(key: post(url))])
    #expect(try await run(url, "-d", "x", "--retry-unsafe").messages.contains("no connection could be made"))
    #expect(try await run(url, "-d", "x").records.map(\.error) == ["outcome_unknown"])
  }

  @Test func `A POST with an unknown outcome keeps it if it fails with --retry-unsafe`() async throws {
    answer { _, _ in .truncated(declared: 9, sent: 5) }
    #expect(try await run(origin.url("/a"), "-d", "x", "--retry-unsafe").status == 4)
    #expect(try await run(origin.url("/a"), "-d", "x").records.map(\.error) == ["outcome_unknown"])
    #expect(asked.withLock { $0 } == ["POST /a"])
  }

  @Test func `A POST that a run with --retry-unsafe was sending when it was killed is not sent again`() async throws {
    answer { [folder] _, _ in
      // The journal as a kill would leave it now.
      try? folder.write(folder.text(of: "run") ?? "", to: "killed")
      return .text("x")
    }
    #expect(try await run(origin.url("/a"), "-d", "x", "--retry-unsafe").messages.contains("ok 1"))
    try folder.write(try #require(folder.text(of: "killed")), to: "run")
    #expect(try await run(origin.url("/a"), "-d", "x").records.map(\.error) == ["outcome_unknown"])
    #expect(asked.withLock { $0 } == ["POST /a"])
  }

  @Test func `A POST that was sent without an Idempotency-Key is not sent again because it has one now`() async throws {
    answer { _, number in .text("x", status: number == 1 ? 500 : 200) }
    let (url, key) = (origin.url("/a"), ["-d", "x", "-H", "Idempotency-Key: k"])
    try writeJournal([.sending(key: post(url))])
    #expect(try await run([url] + key).records.map(\.error) == ["outcome_unknown"])
    #expect(asked.withLock { $0 } == [])
    #expect(try await run([url, "--retry-unsafe"] + key).status == 8)
    #expect(try await run([url] + key).records.map(\.error) == ["outcome_unknown"])
    #expect(try await run([url, "--retry-unsafe"] + key).messages.contains("ok 1"))
    #expect(asked.withLock { $0 } == ["POST /a", "POST /a"])
  }

  @Test func `A POST that was sent with an Idempotency-Key is sent again with it`() async throws {
    answer { _, number in number == 1 ? .truncated(declared: 9, sent: 5) : .text("x") }
    let arguments = [origin.url("/a"), "-d", "x", "-H", "Idempotency-Key: k"]
    #expect(try await run(arguments).status == 4)
    #expect(try await run(arguments).messages.contains("ok 1"))
    #expect(asked.withLock { $0 } == ["POST /a", "POST /a"])
  }

  @Test func `A partial file is continued only up to --max-filesize`() async throws {
    let body = (0..<1000).map(OriginAnswer.patternByte)
    answer { request, _ in
      guard let range = request.header("Range"), let offset = Int(range.dropFirst(6).dropLast()) else {
        return .bytes(body)
      }
      var answer = offset < 1000 ? OriginAnswer.bytes(Array(body[offset...]), status: 206) : .bytes([], status: 416)
      let place = offset < 1000 ? "\(offset)-999" : "*"
      answer.headers = [OriginHeader("Content-Range", "bytes \(place)/1000"), OriginHeader("ETag", "\"1\"")]
      return answer
    }
    for size in [400, 1000] {
      try Data(body.prefix(size)).write(to: URL(fileURLWithPath: folder.file("out/a.part")))
      let key = "GET " + origin.url("/a")
      let inode = Descriptor.found(folder.file("out/a.part"))?.inode ?? 0
      let identity = PartIdentity(inode: inode, first: Array(body.prefix(size)))
      try writeJournal([.part(key: key, name: "a", Validator(tag: "\"1\""), identity)])
      let tooLarge = try await run(origin.url("/a"), "--max-filesize", "700")
      #expect(tooLarge.status == 4 && tooLarge.records.map(\.error) == ["body_too_large"], "\(tooLarge.messages)")
      #expect(folder.names(in: "out") == ["a.part"])
      #expect(try await run(origin.url("/a"), "--max-filesize", "1000").messages.contains("ok 1"))
      #expect(folder.bytes(of: "out/a") == body)
      try FileManager.default.removeItem(atPath: folder.file("out/a"))
    }
  }

  @Test func `A retry's bytes of another version do not count as the earlier version`() throws {
    let session = try Session(folder.file("run"), folder: folder.file("out"))
    let key = "GET http://a/"
    let part = NotedPart(SessionNotes(key, named: "a", isOwn: true, in: session))
    for tag in ["\"1\"", nil] {
      part.begin(Validator(tag: tag, modified: nil))
      try part.append([1, 2, 3])
      // The actions of a run if this one were killed now.
      let state = try SessionState.peek(folder.file("run"))
      let plan = state.plan(key, boot: Descriptor.boot()) { Descriptor.found(folder.file("out/" + $0)) }
      let version = Validator(tag: tag, modified: nil)
      #expect(plan == (tag == nil ? .begin(name: "a") : goOn("a", 3, version)))
    }
  }

  @Test func `An empty ETag identifies no version, so a retry requests the whole body`() async throws {
    let ranges = LockedBox<[String?]>([])
    origin.setScript(
      OriginScript(handler: { request in
        let number = ranges.withLock { ranges in
          ranges.append(request.header("Range"))
          return ranges.count
        }
        var answer = number == 1 ? OriginAnswer.truncated(declared: 900_000, sent: 700_000) : .text("whole")
        answer.headers = [OriginHeader("ETag", ""), OriginHeader("Last-Modified", "")]
        return answer
      }))
    #expect(try await run(origin.url("/a"), "--retry", "1").messages.contains("ok 1"))
    #expect(ranges.withLock { $0 } == [nil, nil])
    #expect(folder.text(of: "out/a") == "whole")
    #expect(Validator(tag: "", modified: "").isEmpty)
  }

  /// A redirect of a POST, and its target's response.
  struct Redirected: CustomTestStringConvertible {
    var status = 303
    var target = "/b"
    var options: [String] = []
    var isInDoubt = true

    var testDescription: String { "\(status) \(target) \(options)" }
  }

  @Test(arguments: [
    Redirected(), Redirected(status: 302), Redirected(target: "http://127.0.0.1:1/"),
    Redirected(options: ["--redirects", "none"]), Redirected(options: ["--redirects", "same-origin"]),
    Redirected(options: ["--max-redirs", "0"]), Redirected(status: 307, isInDoubt: false),
  ])
  func `A POST that was answered with a redirect may have been processed`(redirected: Redirected) async throws {
    let isElsewhere = redirected.options.last == "same-origin"
    let target = isElsewhere ? "http://127.0.0.1:1/" : redirected.target
    answer { request, _ in
      request.path == "/a" ? .redirect(to: target, status: redirected.status) : .text("", status: 503)
    }
    for number in 1...2 {
      let arguments = [origin.url("/a"), "-d", "x", "-P", "@/out", "--session", "@/run", "--log", "@/log"]
      let fetched = await (try FetchTrial(arguments + redirected.options, in: folder)).finish()
      let isUnknown = number == 2 && redirected.isInDoubt
      #expect(fetched.records.count == 1)
      #expect((fetched.records.first?.error == "outcome_unknown") == isUnknown, "\(fetched.messages)")
    }
    #expect(asked.withLock { $0.filter { $0 == "POST /a" }.count } == (redirected.isInDoubt ? 1 : 2))
  }

  @Test func `A POST whose first attempt was lost stays in doubt after a refusal of the second`() async throws {
    answer { _, number in number == 1 ? .reset : .text("", status: 400) }
    func run(_ options: String...) async throws -> Fetched {
      let arguments = [origin.url("/a"), "-d", "x", "-P", "@/out", "--session", "@/run", "--log", "@/log"]
      return await (try FetchTrial(arguments + options, in: folder)).finish()
    }
    #expect(try await run("--retry", "1", "--retry-unsafe").records.map(\.status) == [400])
    #expect(try await run("--retry-failed").records.map(\.error) == ["outcome_unknown"])
    #expect(asked.withLock { $0.count } == 2)
  }

  @Test func `A POST that was lost at one server stays in doubt, whatever its mirror answers`() async throws {
    answer { request, _ in request.path == "/a" ? .reset : .text("", status: 400) }
    try folder.write("\(origin.url("/a"))\t\(origin.url("/mirror"))\n", to: "list")
    func run(_ options: String...) async throws -> Fetched {
      let arguments = [
        "-i", "@/list", "--list-format", "aria2", "-d", "x", "-P", "@/out", "--session", "@/run", "--log", "@/log",
      ]
      return await (try FetchTrial(arguments + options, in: folder)).finish()
    }
    #expect(try await run("--retry-unsafe").records.map(\.status) == [400])
    #expect(try await run().records.map(\.error) == ["outcome_unknown"])
    #expect(asked.withLock { $0 } == ["POST /a", "POST /mirror"])
  }

  @Test func `A POST that was answered with a redirect is not sent to a mirror`() async throws {
    answer { request, _ in
      request.path == "/a" ? .redirect(to: "http://127.0.0.1:1/", status: 303) : .text("x")
    }
    try folder.write("\(origin.url("/a"))\t\(origin.url("/mirror"))\n", to: "list")
    for target in [["-P", "@/out"], ["-P", "@/out", "--session", "@/run"]] {
      let arguments = ["-i", "@/list", "--list-format", "aria2", "-d", "x"] + target
      #expect(await (try FetchTrial(arguments, in: folder)).finish().status == 4)
    }
    #expect(asked.withLock { $0 } == ["POST /a", "POST /a"])
  }
}
