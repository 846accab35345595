import ArgumentParser
import Foundation
import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// `--report`, `headgate report`, and the log's members for them.
@Suite struct ReportTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  private func report(_ arguments: String...) async -> Int32 {
    await HeadgateCommandLine.run(
      ["report"] + arguments.map { $0.hasPrefix("@/") ? folder.file(String($0.dropFirst(2))) : $0 })
  }

  @Test func `A record has the time when it was sent, and the limit`() async throws {
    let fetched = try await fetch(
      origin.url("/bytes/10"), origin.url("/bytes/20"), "--per-host", "1", "--log", "@/log", in: folder)
    let records = fetched.records.sorted { $0.sent ?? 0 < $1.sent ?? 0 }
    #expect(records.map(\.limit) == [1, 1])
    let (first, second) = (try #require(records.first), try #require(records.last))
    #expect(first.start ?? -1 >= 0)
    #expect(first.exchanges == nil && first.pauses == nil)
    // One after the other: the library passes a permit on only when the exchange has ended.
    #expect((first.sent ?? 0) + (first.ran ?? 0) <= (second.sent ?? 0) + 1e-5)
  }

  @Test func `A redirect and a pause are in the record`() async throws {
    let away = try await fetch(
      origin.url("/redirect?to=/bytes/5"), origin.url("/status/429?retry-after=1"), "--log", "@/log", in: folder)
    let moved = try #require(away.records.first { $0.exchanges != nil })
    #expect(moved.exchanges?.map(\.status) == [302, 200])
    let pauses = away.records.flatMap { $0.pauses ?? [] }
    #expect(pauses.count == 1)
    #expect(pauses.first?.reason.hasSuffix("by 429") == true)
    #expect(pauses.first.map { $0.until > $0.at } == true)
  }

  @Test func `A run writes its page, and its log gives the same page`() async throws {
    let fetched = try await fetch(
      origin.url("/bytes/10"), origin.url("/status/500"), "--log", "@/log", "--report", "@/run.html", in: folder)
    #expect(fetched.status == 8)
    #expect(fetched.messages.contains("headgate: the report is in "))
    let page = try #require(folder.text(of: "run.html"))
    #expect(page.contains("\(origin.url("/status/500"))"))
    #expect(folder.mode(of: "run.html") == 0o600)
    #expect(await report("@/log", "-o", "@/again.html", "--har", "@/run.har") == 0)
    #expect(folder.text(of: "again.html") == page)
    let har = try JSONSerialization.jsonObject(with: Data(try #require(folder.bytes(of: "run.har")))) as? [String: Any]
    #expect(((har?["log"] as? [String: Any])?["entries"] as? [Any])?.count == 2)
  }

  @Test func `By default the page is named after the log`() throws {
    func path(_ arguments: String...) throws -> String? { try ReportCommand.parse(arguments).pagePath }
    #expect(try path("out/run.ndjson") == "out/run.html")
    #expect(try path("log") == "log.html")
    #expect(try path("-") == "report.html")
    #expect(try path("log", "--har", "x.har") == nil)
    #expect(throws: (any Error).self) { try path("log", "-o", "-", "--har", "-") }
  }

  @Test func `Unreadable and unwritable files end with the right status`() async throws {
    let error = #expect(throws: FetchProblem.self) {
      _ = try FetchTrial([origin.url("/"), "--report", "@/none/run.html"], in: folder)
    }
    #expect(error?.status == .file)
    let full = try await fetch(origin.url("/"), "--report", "/dev/full", in: folder)
    #expect(full.status == ExitStatus.file.rawValue)
    #expect(full.messages.contains("the report /dev/full is incomplete: No space left on device"))
    try folder.write("no log\n", to: "text")
    #expect(await report("@/text", "-o", "@/x.html") == ExitStatus.usage.rawValue)
    #expect(folder.bytes(of: "x.html") == nil)
    #expect(await report("@/text", "-o", "@/text") == ExitStatus.usage.rawValue)
    #expect(folder.text(of: "text") == "no log\n")
    #expect(await report("@/none") == ExitStatus.file.rawValue)
  }
}
