import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The status of many URLs, without their bodies.
@Suite struct CheckTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  private let asked = Asked()

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  /// The requests that the server received.
  private final class Asked: Sendable {
    private let all = Locked([String]())

    func add(_ request: OriginRequest) { all.withLock { $0.append("\(request.method) \(request.path)") } }

    var sorted: [String] { all.withLock { $0.sorted() } }
  }

  /// Lets the server answer HEAD in its own way.
  private func answerHead(_ answer: @escaping @Sendable (OriginRequest) -> OriginAnswer?) {
    origin.setScript(
      OriginScript(handler: { [asked] request in
        asked.add(request)
        return request.method == "HEAD" ? answer(request) : nil
      }))
  }

  private func lines(_ fetched: Fetched) -> [String] {
    String(decoding: fetched.output, as: UTF8.self).split(separator: "\n").map(String.init).sorted()
  }

  @Test func `Each URL has a line with its status and the target of its redirects`() async throws {
    let (good, moved) = (origin.url("/bytes/5"), origin.url("/redirect?to=\(origin.url("/bytes/7"))"))
    let (missing, broken) = (origin.url("/status/404"), origin.url("/status/500"))
    let fetched = try await fetch("--check", "--log", "@/log", good, moved, missing, broken, in: folder)
    #expect(fetched.status == 8)
    #expect(
      lines(fetched) == [
        "200\t\(good)", "200\t\(moved)\t\(origin.url("/bytes/7"))", "404\t\(missing)", "500\t\(broken)",
      ])
    #expect(fetched.messages.contains("/status/500: status 500\n"))
    #expect(fetched.messages.contains("ok 2  failed 2  bytes 0 B"))
    #expect(fetched.record(good)?.status == 200 && fetched.record(good)?.bytes == nil)
    #expect(fetched.record(moved)?.finalUrl == origin.url("/bytes/7"))
    #expect(fetched.record(broken)?.error == "http_error")
  }

  @Test func `HEAD is enough if the answer is a success`() async throws {
    answerHead { _ in nil }
    let fetched = try await fetch("--check", origin.url("/bytes/5"), origin.url("/status/410"), in: folder)
    #expect(asked.sorted == ["HEAD /bytes/5", "HEAD /status/410"])
    #expect(lines(fetched) == ["200\t\(origin.url("/bytes/5"))", "410\t\(origin.url("/status/410"))"])
  }

  @Test(arguments: [400, 403, 404, 405, 406, 500, 501, 503])
  func `C15 GET decides if HEAD is refused`(status: Int) async throws {
    answerHead { _ in .text("", status: status) }
    let fetched = try await fetch("--check", origin.url("/bytes/5"), in: folder)
    #expect(fetched.status == 0)
    #expect(asked.sorted == ["GET /bytes/5", "HEAD /bytes/5"])
    #expect(lines(fetched) == ["200\t\(origin.url("/bytes/5"))"])
  }

  @Test func `If a server closes at HEAD it is asked with GET, and its other URLs only with GET`() async throws {
    answerHead { _ in .reset }
    let list = (0..<20).map { origin.url("/bytes/\($0)") }
    let fetched = try await fetch(
      "--check", "-i", "-", "--per-host", "1", in: folder, input: list.joined(separator: "\n"))
    #expect(fetched.status == 0)
    // The requests in the queue by then, four for each that may run; a request that is lost on a reused connection is
    // sent once more.
    #expect((1...10).contains(asked.sorted.filter { $0.hasPrefix("HEAD") }.count))
    #expect(lines(fetched) == list.map { "200\t\($0)" }.sorted())
  }

  @Test func `A server that closes at every HEAD is not treated as unreachable`() async throws {
    answerHead { _ in .reset }
    let list = (0..<40).map { origin.url("/bytes/\($0)") }
    let fetched = try await fetch(
      "--check", "-i", "-", "--retry", "2", in: folder, input: list.joined(separator: "\n"))
    #expect(fetched.status == 0)
    #expect(lines(fetched) == list.map { "200\t\($0)" }.sorted())
  }

  @Test func `A body is cut off after its head`() async throws {
    answerHead { _ in .text("", status: 405) }
    let endless = origin.url("/stream?chunks=1000000&every=1000")
    let fetched = try await fetch("--check", "--log", "@/log", endless, in: folder)
    #expect(fetched.status == 0 && lines(fetched) == ["200\t\(endless)"])
    #expect(fetched.records.first?.total != nil)
  }

  @Test func `A failure has its error code, and an invalid line has no line`() async throws {
    let list = "http://127.0.0.1:1/x\nfoo\nhttp://ada:secret@127.0.0.1:1/\u{202E}\n"
    let fetched = try await fetch("--check", "-i", "-", "--host-failures", "0", in: folder, input: list)
    #expect(fetched.status == 1)
    #expect(
      lines(fetched) == [
        "connect_failed\thttp://127.0.0.1:1/x", "connect_failed\thttp://ada:***@127.0.0.1:1/\\u{202E}",
      ])
    #expect(fetched.messages.contains("ok 0  failed 3  "))
  }

  @Test func `A deferred request is repeated with GET, as --retry specifies`() async throws {
    answerHead { _ in .text("", status: 429) }
    let arguments = ["--check", "--retry-after", "ignore", origin.url("/bytes/1")]
    #expect(try await FetchTrial(arguments, in: folder).finish().status == 8)
    #expect(asked.sorted == ["HEAD /bytes/1"])
    #expect(try await FetchTrial(arguments + ["--retry", "1"], in: folder).finish().status == 0)
  }

  @Test func `A closed reader ends the run`() async throws {
    let (reader, writer) = try Descriptor.pipe()
    Descriptor.close(reader)
    // All of them would take more than a quarter of a minute.
    origin.setScript(OriginScript(delay: .milliseconds(100)))
    let list = (0..<1000).map { origin.url("/bytes/\($0)") }.joined(separator: "\n")
    let fetched = try await FetchTrial(["--check", "-i", "-"], in: folder, input: list, output: writer).finish()
    #expect(fetched.status == 3)
    #expect(fetched.messages.contains("headgate: standard output: "))
    #expect(origin.counts().served < 1000)
  }

  @Test(arguments: [
    ["-P", "out"], ["-O"], ["--session", "run"], ["-N"], ["--retry-failed"], ["-O", "--overwrite"],
    ["--max-filesize", "1K"], ["--speed-limit", "1"], ["--speed-time", "1"], ["--log", "-"],
  ])
  func `Options about bodies are refused`(arguments: [String]) {
    let error = #expect(throws: (any Error).self) { try FetchCommand.parse(["--check", "http://a/"] + arguments) }
    #expect(error.map { FetchCommand.fullMessage(for: $0) }?.contains("--check ") == true)
  }
}
