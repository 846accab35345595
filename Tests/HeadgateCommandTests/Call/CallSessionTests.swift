import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateReport
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Runs of calls that continue earlier ones.
@Suite struct CallSessionTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  private let asked = LockedBox<[String]>([])
  private let status = LockedBox(200)

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
    origin.setScript(
      OriginScript(handler: { [asked, status] request in
        asked.withLock { $0.append(request.path) }
        return .text("", status: status.withLock { $0 })
      }))
  }

  private func rows(_ numbers: some Sequence<Int>) -> String { numbers.map { "{\"n\":\($0)}\n" }.joined() }

  private func run(_ input: String, _ options: String..., method: String = "POST") async throws -> Called {
    try await run(input, options, method: method)
  }

  private func run(_ input: String, _ options: [String], method: String = "POST") async throws -> Called {
    let arguments = ["-i", "-", "--url", origin.url("/{n}"), "-X", method, "-o", "@/out", "--session", "@/run"]
    return try await CallTrial(arguments + options, in: folder, input: input).finish()
  }

  private func paths() -> [String] {
    asked.withLock { asked in
      defer { asked = [] }
      return asked.sorted()
    }
  }

  @Test func `A row with a result is not sent again, even if the list has changed`() async throws {
    let first = try await run(rows(1...5) + rows(1...1))
    #expect(first.status == 0 && first.last.hasPrefix("ok 6  failed 0  bytes "))
    #expect(paths() == ["/1", "/1", "/2", "/3", "/4", "/5"])
    let second = try await run("{ \"n\" : 3 }\n" + rows([7, 1, 5, 1, 1, 2]))
    #expect(second.status == 0 && second.last.hasPrefix("ok 2  failed 0  done before 5  "))
    // With another formatting it is the same row; and the third of equal rows is a different one.
    #expect(paths() == ["/1", "/7"])
    #expect(second.results.count == 8)
    #expect(Set(second.results.map { $0["key"]?.text ?? "" }).count == 8)
    #expect(folder.mode(of: "run") == 0o600 && folder.mode(of: "out") == 0o600)
  }

  @Test func `Earlier failures are reported, and sent again with --retry-failed`() async throws {
    status.withLock { $0 = 500 }
    #expect(try await run(rows(1...2)).status == 8)
    status.withLock { $0 = 200 }
    let same = try await run(rows(1...3))
    #expect(same.status == 8 && same.last.hasPrefix("ok 1  failed 0  failed before 2  "))
    let again = try await run(rows(1...3), "--retry-failed")
    #expect(again.status == 0 && again.last.hasPrefix("ok 2  failed 0  done before 1  "))
    #expect(again.results.count == 5)
    #expect(try await run(rows(1...3), "--retry-failed").last.hasPrefix("ok 0  failed 0  done before 3  "))
  }

  /// The journal of a killed run, with rows in progress.
  private func leave(_ numbers: ClosedRange<Int>) throws {
    try leave(numbers.map { .object([JSONMember(name: "n", value: .number("\($0)"))]) })
  }

  private func leave(_ rows: [JSONValue]) throws {
    let journal = try #require(folder.text(of: "run"))
    guard
      case .began(let run, _)? = journal.split(separator: "\n").dropFirst().first.flatMap({
        CallEvent(Array($0.utf8)[...])
      })
    else { throw CancellationError() }
    let events = rows.map { row in
      CallEvent.sending(RowKey(run: run, content: RowContent(row), occurrence: 0), results: 0).line
    }
    try folder.write(journal + events.joined() + "0123", to: "run")
  }

  @Test func `A row that was in progress and may not be sent twice is reported and not sent`() async throws {
    _ = try await run(rows(1...2))
    try leave(3...4)
    _ = paths()
    let named = try await run(rows(1...5))
    #expect(named.status == 9 && named.last.hasPrefix("ok 1  failed 0  unknown 2  done before 2  "))
    #expect(paths() == ["/5"])
    let unknown = named.results.filter { $0["outcome"]?.text == "\"unknown\"" }
    #expect(Set(unknown.map { $0["row"]?.text }) == ["{\"n\":3}", "{\"n\":4}"])
    #expect(unknown.allSatisfy { $0["error"]?.text == "\"outcome_unknown\"" })
    #expect(named.messages.contains("standard input:3: it was being sent when an earlier run ended"))
    let later = try await run(rows(1...5), "--retry-failed")
    #expect(later.status == 9 && later.last.hasPrefix("ok 0  failed 0  done before 3  unknown before 2  "))
    #expect(paths() == [])
    let told = try await run(rows(1...5), "--retry-failed", "--retry-unsafe")
    #expect(told.status == 0 && told.last.hasPrefix("ok 2  failed 0  done before 3  "))
    #expect(paths() == ["/3", "/4"])
  }

  @Test func `A row whose connection breaks with --retry-unsafe is not sent again without it`() async throws {
    origin.setScript(
      OriginScript(handler: { [asked] request in
        asked.withLock { $0.append(request.path) }
        return .reset
      }))
    let lost = try await run(rows(1...1), "--retry-unsafe")
    #expect(lost.status == 9 && lost.last.hasPrefix("ok 0  failed 0  unknown 1  "))
    #expect(try lost.column("error") == ["\"connection_lost\""])
    #expect(try await run(rows(1...1), "--retry-failed").last.hasPrefix("ok 0  failed 0  unknown before 1  "))
    #expect(paths() == ["/1"])
  }

  @Test(arguments: [301, 302, 303])
  func `A row that was answered with a redirect may have been processed`(status: Int) async throws {
    self.status.withLock { $0 = status }
    #expect(try await run(rows(1...1)).status == 9)
    #expect(try await run(rows(1...1), "--retry-failed").last.hasPrefix("ok 0  failed 0  unknown before 1  "))
    #expect(paths() == ["/1"])
  }

  @Test func `A row whose first attempt was lost stays unknown after a refusal of the second`() async throws {
    origin.setScript(
      OriginScript(handler: { [asked] request in
        let number = asked.withLock { asked in
          asked.append(request.path)
          return asked.count
        }
        return number == 1 ? .reset : .text("", status: 400)
      }))
    let refused = try await run(rows(1...1), "--retry", "1", "--retry-unsafe")
    #expect(refused.status == 9 && refused.messages.contains("the server may have processed it"))
    #expect(try await run(rows(1...1), "--retry-failed").last.hasPrefix("ok 0  failed 0  unknown before 1  "))
    #expect(paths() == ["/1", "/1"])
  }

  @Test(arguments: ["GET", "POST"])
  func `A row that no attempt could send was not sent`(method: String) async throws {
    // No server listens there.
    let arguments = [
      "-i", "-", "--url", "http://127.0.0.1:1/{n}", "-X", method, "--retry", "1", "--retry-unsafe", "--host-failures",
      "0",
    ]
    let unsent = try await CallTrial(arguments, in: folder, input: rows(1...1)).finish()
    #expect(unsent.status == 4)
    #expect(try unsent.column("outcome") == ["\"not_sent\""])
  }

  @Test func `A row with an unknown outcome keeps it until it succeeds with --retry-unsafe`() async throws {
    _ = try await run(rows(1...1))
    try leave(2...2)
    _ = paths()
    status.withLock { $0 = 500 }
    for options in [["--retry-unsafe"], ["--retry-unsafe", "--retry-failed"]] {
      let refused = try await run(rows(2...2), options)
      #expect(refused.status == 9 && refused.last.hasPrefix("ok 0  failed 0  unknown 1  "))
      #expect(refused.messages.contains("status 500; an earlier run may have sent it, so its outcome stays unknown\n"))
      #expect(paths() == ["/2"])
      #expect(try await run(rows(2...2), "--retry-failed").last.hasPrefix("ok 0  failed 0  unknown before 1  "))
    }
    status.withLock { $0 = 200 }
    #expect(paths() == [])
    #expect(try await run(rows(2...2), "--retry-unsafe", "--retry-failed").status == 0)
    #expect(try await run(rows(2...2), "--retry-failed").last.hasPrefix("ok 0  failed 0  done before 1  "))
    #expect(paths() == ["/2"])
  }

  @Test func `A row with an unknown outcome keeps it if a run with --retry-unsafe can't send it`() async throws {
    // No server listens there.
    let row = #"{"url":"http://127.0.0.1:1/","method":"POST"}"#
    func run(_ input: String, _ options: [String]) async throws -> Called {
      let arguments = ["-i", "-", "-o", "@/out", "--session", "@/run"] + options
      return try await CallTrial(arguments, in: folder, input: input).finish()
    }
    _ = try await run("", [])
    try leave([try JSONReader.read(Array(row.utf8))])
    for options in [["--retry-unsafe"], ["--retry-unsafe", "--retry-failed"]] {
      let unsent = try await run(row, options)
      #expect(unsent.status == 9 && unsent.last.hasPrefix("ok 0  failed 0  unknown 1  "))
      #expect(unsent.messages.contains("no connection could be made"))
      #expect(try await run(row, ["--retry-failed"]).last.hasPrefix("ok 0  failed 0  unknown before 1  "))
    }
  }

  @Test func `A row that was in progress is unknown, even if its request can't be built any more`() async throws {
    _ = try await run(rows(1...1))
    try leave(2...2)
    let named = try await run(rows(2...2), "-H", "X: {tag}")
    #expect(named.status == 9 && named.last.hasPrefix("ok 0  failed 0  unknown 1  "))
    let told = try await run(rows(2...2), "-H", "X: {tag}", "--retry-failed", "--retry-unsafe")
    #expect(told.status == 9 && told.last.hasPrefix("ok 0  failed 0  unknown 1  "))
    #expect(told.messages.contains("the row has no field tag; an earlier run may have sent it"))
    #expect(try await run(rows(2...2), "--retry-failed").last.hasPrefix("ok 0  failed 0  unknown before 1  "))
    #expect(paths() == ["/1"])
  }

  @Test
  func `A row that may not be sent twice is in the journal before it is sent`()
    async throws
  {
    let (behind, journal) = (LockedBox(0), folder.file("run"))
    origin.setScript(
      OriginScript(handler: { [asked] request in
        let count = asked.withLock { asked in
          asked.append(request.path)
          return asked.count
        }
        let text = FileManager.default.contents(atPath: journal).map { String(decoding: $0, as: UTF8.self) } ?? ""
        if text.split(separator: "\n").count(where: { $0.contains("\tsending\t") }) < count {
          behind.withLock { $0 += 1 }
        }
        return .text("")
      }))
    #expect(try await run(rows(1...200), "--per-host", "3").status == 0)
    #expect(paths().count == 200 && behind.withLock { $0 } == 0)
    // Only as many as may run at once are recorded and not sent.
    #expect(try #require(folder.text(of: "run")).split(separator: "\n").count == 202)
  }

  @Test func `A row that may be repeated is not in the journal, so that it is sent again`() async throws {
    _ = try await run(rows(1...1), method: "PUT")
    #expect(folder.text(of: "run")?.contains("\tsending\t") == false)
    _ = paths()
    #expect(try await run(rows(1...2), method: "PUT").last.hasPrefix("ok 1  failed 0  done before 1  "))
    #expect(paths() == ["/2"])
  }

  @Test func `A row that was in progress without an Idempotency-Key is not sent again because it has one now`()
    async throws
  {
    _ = try await run(rows(1...1))
    try leave(2...2)
    _ = paths()
    let key = ["-H", "Idempotency-Key: {n}"]
    #expect(try await run(rows(2...2), key).last.hasPrefix("ok 0  failed 0  unknown 1  "))
    #expect(try await run(rows(2...2), key + ["--retry-failed"]).last.hasPrefix("ok 0  failed 0  unknown before 1  "))
    #expect(paths() == [])
    #expect(try await run(rows(2...2), key + ["--retry-failed", "--retry-unsafe"]).status == 0)
    #expect(paths() == ["/2"])
  }

  @Test func `Torn results continue after the tear`() async throws {
    _ = try await run(rows(1...3), method: "PUT")
    let whole = try #require(folder.text(of: "out"))
    _ = paths()
    try folder.write(String(whole.dropLast(10)), to: "out")
    let again = try await run(rows(1...3), method: "PUT")
    #expect(again.status == 0 && again.last.hasPrefix("ok 1  failed 0  done before 2  "))
    #expect(again.results.count == 3 && paths().count == 1)
  }

  private func refusal(_ arguments: String...) -> FetchProblem? {
    do {
      _ = try CallTrial(arguments, in: folder)
    } catch {
      return error as? FetchProblem
    }
    return nil
  }

  @Test func `A session refuses other requests, and stays unchanged`() async throws {
    _ = try await run(rows(1...1))
    let (journal, results) = (folder.bytes(of: "run"), folder.bytes(of: "out"))
    let url = origin.url("/{n}")
    let other = refusal("-i", "-", "--url", url, "-X", "PUT", "-o", "@/out", "--session", "@/run")
    #expect(other?.status == .usage && other?.description.contains("was made for other requests") == true)
    let new = refusal("-i", "-", "--url", url, "-X", "POST", "-o", "@/out", "--session", "@/new")
    #expect(new?.status == .usage && new?.description.contains("belong to another session") == true)
    try folder.write("notes\n", to: "notes")
    let notes = refusal("-i", "-", "--url", url, "-o", "@/notes", "--session", "@/new2")
    #expect(notes?.description.contains("something other than results") == true)
    #expect(
      refusal("-i", "-", "--url", url, "-o", "@/o2", "--session", "@/notes")?.description.contains("is not a session")
        == true)
    #expect(
      refusal("-i", "-", "--url", url, "-o", "/dev/null", "--session", "@/n3")?.description.contains(
        "not a regular file")
        == true)
    // Other JSON without a line feed is not a torn line of results.
    let own = #"{"key":"0123456789abcdef","value":1}"#
    try folder.write(own, to: "own")
    #expect(refusal("-i", "-", "--url", url, "-o", "@/own", "--session", "@/n4") != nil)
    #expect(folder.text(of: "own") == own)
    try folder.write("{}\n", to: "rows")
    #expect(refusal("-i", "@/rows", "--url", url, "-o", "@/rows")?.status == .usage)
    #expect(folder.text(of: "notes") == "notes\n" && folder.text(of: "rows") == "{}\n")
    #expect(folder.bytes(of: "run") == journal && folder.bytes(of: "out") == results)
  }

  @Test func `A full disk ends the run with one line`() async throws {
    let full = try Descriptor.create("/dev/full")
    let trial = try CallTrial(
      ["-i", "-", "--url", origin.url("/{n}")], in: folder, input: rows(1...500), output: full)
    let called = try await trial.finish()
    #expect(called.status == 3)
    #expect(called.messages.split(separator: "\n").count == 2)
    #expect(called.messages.contains("standard output: No space left on device; nothing more is sent"))
    #expect(called.last.contains("ok 0  failed 0  skipped 500"))
  }

  @Test func `A row that was sent and must not be sent twice is unknown if its result can't be written`() async throws {
    let full = try Descriptor.create("/dev/full")
    let trial = try CallTrial(
      ["-i", "-", "--url", origin.url("/{n}"), "-X", "POST", "--per-host", "1"], in: folder, input: rows(1...12),
      output: full)
    let called = try await trial.finish()
    let sent = paths().count
    #expect(called.status == 9 && sent >= 1)
    #expect(called.last.hasPrefix("ok 0  failed 0  unknown \(sent)"))
    let lost = called.messages.split(separator: "\n").filter { $0.contains("its result can't be written") }
    #expect(lost.count == sent && Set(lost).count == sent)
    let reason = ": status 200; its result can't be written, and it must not be sent twice"
    #expect(lost.allSatisfy { $0.hasSuffix(reason) })
  }

  @Test func `An interrupt lets running rows end, and the next run sends the rest`() async throws {
    let holds = LockedBox(true)
    origin.setScript(
      OriginScript(handler: { [asked] request in
        asked.withLock { $0.append(request.path) }
        return holds.withLock { $0 } ? .hold : .text("")
      }))
    let arguments = ["-i", "-", "--url", origin.url("/{n}"), "-X", "POST", "-o", "@/out", "--session", "@/run"]
    do {
      let trial = try CallTrial(arguments + ["--per-host", "2"], in: folder, input: rows(1...20))
      async let finished = trial.finish()
      #expect(await origin.waitUntil({ $0.requests >= 2 }, until: .after(.seconds(60))))
      trial.run.interrupt()
      origin.release()
      let called = try await finished
      #expect(called.status == 130 && called.last.hasPrefix("ok 2  failed 0  skipped 18  "))
    }
    holds.withLock { $0 = false }
    let rest = try await CallTrial(arguments, in: folder, input: rows(1...20)).finish()
    #expect(rest.status == 0 && rest.last.hasPrefix("ok 18  failed 0  done before 2  "))
    #expect(Set(paths()).count == 20)
  }

  @Test func `A row that is interrupted at once and may not be sent twice has an unknown outcome`() async throws {
    origin.setScript(OriginScript(handler: { _ in .hold }))
    let arguments = ["-i", "-", "--url", origin.url("/{n}"), "-X", "POST", "-o", "@/out", "--session", "@/run"]
    let trial = try CallTrial(arguments + ["--per-host", "2"], in: folder, input: rows(1...20))
    async let finished = trial.finish()
    #expect(await origin.waitUntil({ $0.requests >= 2 }, until: .after(.seconds(60))))
    trial.run.interrupt()
    trial.run.interrupt()
    let called = try await finished
    #expect(called.status == 130)
    // With a + after it, if the end of the list was not read before the second interrupt.
    #expect(called.last.hasPrefix("ok 0  failed 0  unknown 2  skipped 18"), "\(called.last)")
    #expect(try called.column("outcome") == ["\"unknown\"", "\"unknown\""])
  }
}
