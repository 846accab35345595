import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateReport
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Responses of several pages: `--next`.
@Suite struct CallPageTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  private let asked = LockedBox<[OriginRequest]>([])

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  private static func json(_ text: String) -> OriginAnswer {
    var answer = OriginAnswer.text(text)
    answer.headers = [OriginHeader("Content-Type", "application/json")]
    return answer
  }

  /// Answers requests by their target.
  private func serve(_ answer: @escaping @Sendable (String) -> OriginAnswer) {
    origin.setScript(
      OriginScript(handler: { [asked] request in
        asked.withLock { $0.append(request) }
        return answer(request.target)
      }))
  }

  /// Pages `/items`, `/items?page=2` and so on, each of which names the next one.
  private func servePages(_ count: Int) {
    serve { target in
      let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 1
      return Self.json("{\"items\":[\(page)],\"next\":\(page < count ? "\"?page=\(page + 1)\"" : "null")}")
    }
  }

  private func targets() -> [String] {
    asked.withLock { asked in
      defer { asked = [] }
      return asked.map(\.target)
    }
  }

  private func run(_ options: [String], input: String = "{\"n\":1}\n") async throws -> Called {
    try await CallTrial(["-i", "-", "--url", origin.url("/items")] + options, in: folder, input: input).finish()
  }

  private static let session = ["--next", "body:next", "--session", "@/run", "-o", "@/out"]

  @Test func `Each page is a result of its own, and the row is counted once`() async throws {
    serve { target in
      var answer = OriginAnswer.text(target)
      let next = ["/items": "items/b?x=1", "/items/b?x=1": "?x=2", "/items/b?x=2": ""][target] ?? ""
      answer.headers = [OriginHeader("Link", "</first>; rel=first, <\(next)>; rel=\"last next\"")]
      return answer
    }
    let called = try await run(["--next", "link"])
    #expect(called.status == 0 && called.last.hasPrefix("ok 1  failed 0  bytes "))
    #expect(try called.column("page") == ["1", "2", "3"])
    #expect(try called.column("next") == ["/items/b?x=1", "/items/b?x=2"].map { "\"\(origin.url($0))\"" } + ["null"])
    #expect(try called.column("body_text") == ["\"/items\"", "\"/items/b?x=1\"", "\"/items/b?x=2\""])
    #expect(Set(try called.column("key")).count == 1)
    #expect(try called.column("row.n") == ["1", "1", "1"])
    #expect(targets() == ["/items", "/items/b?x=1", "/items/b?x=2"])
  }

  @Test func `Further pages are requested by GET, with the fields of the row and without its body and key`()
    async throws
  {
    servePages(3)
    let called = try await run(
      ["--next", "body:next", "--json", "{\"n\": {n}}", "-H", "X-N: {n}", "--idempotency-key", "auto"],
      input: "{\"n\":1}\n{\"n\":2}\n")
    #expect(called.status == 0 && called.last.hasPrefix("ok 2  "))
    let asked = asked.withLock { $0 }
    for number in ["1", "2"] {
      let requests = asked.filter { $0.header("X-N") == number }
      #expect(requests.map(\.method) == ["POST", "GET", "GET"])
      #expect(requests.map(\.target) == ["/items", "/items?page=2", "/items?page=3"])
      #expect(requests.map { $0.header("Content-Type") } == ["application/json", nil, nil])
      #expect(requests.map { $0.header("Idempotency-Key") != nil } == [true, false, false])
      #expect(requests.allSatisfy { $0.header("Accept") == "application/json" })
    }
  }

  @Test(arguments: ["GET", "POST"])
  func `A stopped run is continued after the last page written, so that no cursor is used again`(
    method: String
  ) async throws {
    let trials = LockedBox<[CallTrial]>([])
    let (holds, furthest) = (LockedBox(true), LockedBox(0))
    serve { target in
      let page = target.split(separator: "=").last.flatMap { Int($0) } ?? 1
      // Its successor was requested.
      guard
        furthest.withLock({ last in
          guard page >= last else { return false }
          last = page
          return true
        })
      else { return .text("", status: 410) }
      if page == 2, holds.withLock({ $0 }) { return .hold }
      // The page that is being answered is written.
      if page == 4 { trials.withLock { $0 }.last?.run.interrupt() }
      return Self.json("{\"items\":[\(page)],\"next\":\(page < 6 ? "\"?page=\(page + 1)\"" : "\"\"")}")
    }
    let arguments = ["-i", "-", "--url", origin.url("/items"), "-X", method] + Self.session
    for pages in [1, 4] {
      let trial = try CallTrial(arguments, in: folder, input: "{\"n\":1}\n")
      trials.withLock { $0 = [trial] }
      async let finished = trial.finish()
      if holds.withLock({ $0 }) {
        #expect(await origin.waitUntil({ $0.received >= 2 }, until: .after(.seconds(60))))
        holds.withLock { $0 = false }
        trial.run.interrupt()
        trial.run.interrupt()
      }
      let called = try await finished
      #expect(called.status == 130 && called.last.hasPrefix("ok 0  failed 0  skipped 1"), "\(called.messages)")
      #expect(called.results.count == pages)
    }
    trials.withLock { $0 = [] }
    let rest = try await CallTrial(arguments, in: folder, input: "{\"n\":1}\n").finish()
    #expect(rest.status == 0 && rest.last.hasPrefix("ok 1  failed 0  bytes "))
    #expect(try rest.column("page") == ["1", "2", "3", "4", "5", "6"])
    #expect(try rest.column("outcome").allSatisfy { $0 == "\"ok\"" })
    #expect(try await CallTrial(arguments, in: folder, input: "{\"n\":1}\n").finish().last.contains("done before 1"))
  }

  @Test func `After a kill a torn page is requested again, and a whole one is not`() async throws {
    servePages(3)
    _ = try await run(Self.session)
    let whole = try #require(folder.text(of: "out"))
    let lines = whole.split(separator: "\n")
    let first = lines[0].utf8.count
    for (end, target) in [(first, "/items"), (first + 2, "/items?page=2"), (whole.utf8.count - 1, "/items?page=3")] {
      try folder.write(String(decoding: whole.utf8.prefix(end), as: UTF8.self), to: "out")
      _ = targets()
      let again = try await run(Self.session)
      #expect(again.status == 0 && again.last.hasPrefix("ok 1  failed 0  bytes "))
      #expect(try again.column("page") == ["1", "2", "3"])
      #expect(targets().first == target)
    }
  }

  @Test func `A page that fails ends the row, and --retry-failed goes on with this page`() async throws {
    let fails = LockedBox(true)
    serve { target in
      if target == "/items?page=2", fails.withLock({ $0 }) { return .text("", status: 500) }
      return Self.json(target == "/items?page=2" ? "{}" : "{\"next\":\"/items?page=2\"}")
    }
    let failed = try await run(Self.session)
    #expect(failed.status == 8 && failed.last.hasPrefix("ok 0  failed 1  "))
    #expect(failed.messages.contains("standard input:1: page 2: status 500\n"))
    #expect(try failed.column("error") == ["null", "\"http_error\""])
    #expect(try await run(Self.session).last.contains("failed before 1"))
    fails.withLock { $0 = false }
    _ = targets()
    let again = try await run(Self.session + ["--retry-failed"])
    #expect(again.status == 0 && again.last.hasPrefix("ok 1  failed 0  bytes "))
    #expect(targets() == ["/items?page=2"])
    #expect(try again.column("page") == ["1", "2", "2"])
  }

  @Test func `A URL that was requested for the row ends it, in a later run too`() async throws {
    serve { target in
      let next = ["/items": "/items?b", "/items?b": "/items?c", "/items?c": "/items?b"][target] ?? "/items"
      return Self.json("{\"next\":\"\(next)\"}")
    }
    let looped = try await run(Self.session)
    #expect(looped.status == 4 && targets() == ["/items", "/items?b", "/items?c"])
    #expect(try looped.column("error") == ["null", "null", "null", "\"page_loop\""])
    #expect(try looped.column("outcome").last == "\"not_sent\"")
    #expect(looped.messages.contains("/items?b as the next one, which was requested before"))
    let again = try await run(Self.session + ["--retry-failed"])
    #expect(again.status == 4 && targets() == [] && again.results.count == 5)
    serve { _ in Self.json("{\"next\":\"/items\"}") }
    #expect(try await run(["--next", "body:next"]).column("error") == ["null", "\"page_loop\""])
  }

  @Test(arguments: [
    ("{\"next\":\"http://other.example/x?t=1\"}", "page_elsewhere", "which has another origin"),
    ("{\"next\":\"https://127.0.0.1/\"}", "page_elsewhere", "which has another origin"),
    ("{\"next\":\"http+unix://%2Ftmp%2Fs/x\"}", "page_elsewhere", "which has another origin"),
    ("{\"next\":\"ftp://other.example/\"}", "invalid_page", "the scheme ftp is not supported"),
    ("{\"next\":7}", "invalid_page", "\"7\" has no scheme"),
    ("{\"next\":{\"a\":\"\\\"\"}}", "invalid_page", "the URL of the page after page 1"),
    ("[", "invalid_page", "the body of page 1 is not JSON"),
  ])
  func `A next page that can't be requested is an error of its own`(
    body: String, error: String, says: String
  ) async throws {
    serve { _ in Self.json(body) }
    let refused = try await run(Self.session)
    #expect(refused.status == 4 && refused.last.hasPrefix("ok 0  failed 1  "))
    #expect(try refused.column("outcome") == ["\"ok\"", "\"not_sent\""])
    #expect(try refused.column("error") == ["null", "\"\(error)\""])
    #expect(refused.messages.contains("standard input:1: page 2: ") && refused.messages.contains(says))
    #expect(targets() == ["/items"])
    // The run was killed before it could say so.
    let lines = try #require(folder.text(of: "out")).split(separator: "\n")
    try folder.write("\(lines[0])\n", to: "out")
    #expect(try await run(Self.session).column("error") == ["null", "\"\(error)\""])
    #expect(targets() == [])
  }

  @Test func `--max-pages ends a row, and a later run with a larger number goes on`() async throws {
    servePages(4)
    let first = try await run(Self.session + ["--max-pages", "2"])
    #expect(first.status == 0 && first.last.hasPrefix("ok 1  failed 0  bytes "))
    #expect(try first.column("next").allSatisfy { $0 != "null" })
    #expect(try await run(Self.session + ["--max-pages", "1"]).last.contains("done before 1"))
    #expect(targets() == ["/items", "/items?page=2"])
    #expect(try await run(Self.session + ["--max-pages", "3"]).last.hasPrefix("ok 1  failed 0  bytes "))
    #expect(targets() == ["/items?page=3"])
    let rest = try await run(Self.session)
    #expect(try rest.column("page") == ["1", "2", "3", "4"] && targets() == ["/items?page=4"])
    #expect(try rest.column("next").last == "null")
  }

  @Test func `A session belongs to its --next`() async throws {
    servePages(1)
    _ = try await run(Self.session)
    for next in [["--next", "link"], []] {
      let error = await #expect(throws: FetchProblem.self) {
        try await run(next + Self.session.dropFirst(2))
      }
      #expect(error?.description.contains("was made for other requests") == true)
    }
  }

  @Test func `A dry run shows the pages that would be requested`() async throws {
    servePages(3)
    _ = try await run(Self.session + ["--max-pages", "2"])
    func plan(_ options: [String]) async throws -> String? {
      try folder.write("{\"n\":1}\n{\"n\":2}\n", to: "stdin")
      let streams = Run.Streams(
        input: try Descriptor.openForReading(folder.file("stdin")),
        output: try Descriptor.create(folder.file("plan")), messages: try Descriptor.create(folder.file("stderr")))
      let arguments = ["--dry-run", "-i", "-", "--url", origin.url("/items")] + Self.session + options
      let mapped = arguments.map { $0.hasPrefix("@/") ? folder.file(String($0.dropFirst(2))) : $0 }
      var plan = try CallDryRun(try CallCommand.parse(mapped).options(), streams: streams)
      #expect(await plan.run() == .ok)
      return folder.text(of: "plan")
    }
    let url = origin.url("/items")
    #expect(try await plan([]) == "resume\tGET\t\(url)?page=3\tpages from 3\nsend\tGET\t\(url)\tpages from 1\n")
    #expect(
      try await plan(["--max-pages", "3"])
        == "resume\tGET\t\(url)?page=3\tpage 3\nsend\tGET\t\(url)\tpages 1 to 3\n")
    #expect(try await plan(["--max-pages", "1"]) == "done\tGET\t\(url)\nsend\tGET\t\(url)\tpage 1\n")
  }

  @Test(arguments: [
    (["--next", "body"], "write link, or body: and the path of a field"),
    (["--next", "body:"], "write names of fields separated by dots"),
    (["--max-pages", "3"], "--max-pages limits the pages that --next follows"),
    (["--next", "link", "--max-pages", "0"], "give a whole number of 1 or more"),
    (["--next", "link", "--save", "{n}"], "--next writes each page to the results: leave out --save."),
  ])
  func `Options that do not fit are refused`(options: [String], says: String) {
    let error = #expect(throws: (any Error).self) {
      try CallCommand.parse(["-i", "rows", "--url", "http://h/"] + options)
    }
    #expect(error.map { CallCommand.fullMessage(for: $0) }?.contains(says) == true)
  }
}
