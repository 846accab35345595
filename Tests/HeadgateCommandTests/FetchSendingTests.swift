import Foundation
import HTTPTypes
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Methods and bodies for every URL of a list.
@Suite struct FetchSendingTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  private let asked = LockedBox<[String]>([])

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  /// Records the method and the path of each request; requests to /once end as the closure specifies.
  private func answer(_ once: @escaping @Sendable (Int) -> OriginAnswer) {
    let count = Locked(0)
    origin.setScript(
      OriginScript(handler: { [asked] request in
        asked.withLock { $0.append("\(request.method) \(request.path)") }
        guard request.path == "/once" else { return nil }
        return once(
          count.withLock { count in
            count += 1
            return count
          })
      }))
  }

  private func taken() -> [String] {
    asked.withLock { asked in
      defer { asked = [] }
      return asked.sorted()
    }
  }

  private func sent(_ arguments: String..., input: String = "") async throws -> String {
    let trial = try FetchTrial([origin.url("/echo")] + arguments, in: folder, input: input)
    let fetched = await trial.finish()
    #expect(fetched.status == 0, "\(fetched.messages)")
    return String(decoding: fetched.output, as: UTF8.self)
  }

  /// The method and the fields that describe a body.
  private func described(_ arguments: String...) async throws -> [String?] {
    let described = Locked<[String?]>([])
    origin.setScript(
      OriginScript(handler: { request in
        described.withLock { $0 = [request.method, request.header("Content-Type"), request.header("Accept")] }
        return nil
      }))
    _ = await (try FetchTrial([origin.url("/")] + arguments, in: folder)).finish()
    return described.withLock { $0 }
  }

  @Test func `Bodies are formed as by curl, from the command line, files and the standard input`() async throws {
    try folder.write("a=1\r\nb=2\n", to: "form")
    let file = "=@" + folder.file("form")
    #expect(try await sent("-d", "a=1", "--data", "b=@2") == "a=1&b=@2")
    #expect(try await sent("-dx") == "x")
    #expect(try await sent("--data" + file, "-d", "c") == "a=1b=2&c")
    #expect(try await sent("--data-binary" + file) == "a=1\r\nb=2\n")
    #expect(try await sent("--data-raw", "@x") == "@x")
    #expect(try await sent("-d", "@-", input: "from\nhere\n") == "fromhere")
    #expect(try await sent("--json", "{\"a\": ", "--json", "[1, 2]}") == "{\"a\": [1, 2]}")
  }

  @Test func `A body makes the request a POST with the type of the body, unless specified otherwise`() async throws {
    let form = "application/x-www-form-urlencoded"
    #expect(try await described("-d", "x") == ["POST", form, "*/*"])
    #expect(try await described("-d", "") == ["POST", form, "*/*"])
    #expect(try await described("--json", "1") == ["POST", "application/json", "application/json"])
    #expect(
      try await described("--json", "1", "-H", "Content-Type: text/x", "-H", "Accept: text/y", "-X", "PATCH") == [
        "PATCH", "text/x", "text/y",
      ])
    #expect(try await described("--method", "GET", "-d", "x") == ["GET", form, "*/*"])
    #expect(try await described("--request", "DELETE") == ["DELETE", nil, "*/*"])
  }

  @Test func `HEAD has no bodies, and the log has the method`() async throws {
    let fetched = try await fetch(origin.url("/bytes/100"), "-X", "HEAD", "-P", "@/out", "--log", "@/log", in: folder)
    #expect(fetched.status == 0, "\(fetched.messages)")
    #expect(folder.bytes(of: "out/100") == [])
    #expect(folder.text(of: "log")?.contains("\"method\":\"HEAD\"") == true)
    _ = try await fetch(origin.url("/"), "-P", "@/out", "--log", "@/log", in: folder)
    #expect(folder.text(of: "log")?.contains("\"method\"") == false)
  }

  @Test func `A redirect repeats a POST or turns it into GET, depending on its status`() async throws {
    let target = origin.url("/echo")
    let kept = try await fetch(origin.url("/redirect?code=307&to=\(target)"), "-d", "x", in: folder)
    #expect(kept.output == Array("x".utf8))
    let turned = try await fetch(origin.url("/redirect?code=303&to=\(target)"), "-d", "x", in: folder)
    #expect(turned.status == 0 && turned.output.isEmpty)
  }

  @Test(arguments: [[], ["-P", "@/out"], ["-P", "@/out", "--session", "@/run"]])
  func `Requests that may take effect twice are sent once, unless that is allowed`(target: [String]) async throws {
    answer { _ in .truncated(declared: 9, sent: 5) }
    let arguments = [origin.url("/hold"), origin.url("/once"), "-d", "x", "--retry", "1"] + target
    let once = try await holdingTheTurn(arguments, until: 2)
    #expect(once.status == 4 && taken() == ["POST /hold", "POST /once"])
    #expect(once.messages.contains("headgate: --retry does not repeat POST, which may have an effect twice"))
    #expect(once.messages.contains("; whether the server has processed it is unknown\n"))
    for allowed in [["--retry-unsafe"], ["-X", "PUT"]] {
      try? FileManager.default.removeItem(atPath: folder.file("run"))
      let fetched = try await holdingTheTurn(arguments + allowed, until: 3)
      #expect(taken().filter { $0.hasSuffix("/once") }.count == 2, "\(allowed): \(fetched.messages)")
      #expect(!fetched.messages.contains("--retry does not repeat"))
    }
  }

  @Test func `An Idempotency-Key that all requests would have is refused, except for one and for methods without need`()
    async throws
  {
    try folder.write("Idempotency-Key: 7\n", to: "fields")
    let (one, two) = (origin.url("/echo"), [origin.url("/echo"), origin.url("/echo?b")])
    for key in [
      ["-H", "Idempotency-Key: 7"], ["-H", "127.0.0.1=@" + folder.file("fields")],
      ["-H", "x.example=Idempotency-Key: 7"],
    ] {
      let error = #expect(throws: FetchProblem.self) { try FetchTrial(two + ["-d", "x"] + key, in: folder) }
      #expect(error?.status == .usage && error?.description.contains("Idempotency-Key") == true)
      #expect(throws: FetchProblem.self) { try FetchTrial(["-i", "-", "-d", "x"] + key, in: folder) }
      let repeated = ["-P", "@/out", "--session", "@/run", "--retry-failed", "-d", "x"]
      try folder.write(SessionEvent.header + "\n", to: "run")
      #expect(throws: FetchProblem.self) { try FetchTrial(repeated + key, in: folder) }
      let single = try await FetchTrial([one, "-d", "x"] + key, in: folder).finish()
      #expect(single.status == 0, "\(single.messages)")
      #expect(try await FetchTrial(two + ["-X", "PUT", "-d", "x"] + key, in: folder).finish().status == 0)
    }
  }

  @Test(arguments: [["-d", "x"], []])
  func `A POST that the end of a run cuts off is not skipped: its outcome is unknown`(body: [String]) async throws {
    let trial = try FetchTrial([origin.url("/hold"), "--log", "@/log"] + body, in: folder)
    async let finished = trial.finish()
    #expect(await origin.waitUntil({ $0.received == 1 }, until: .after(.seconds(60))))
    trial.run.interrupt()
    trial.run.interrupt()
    let fetched = await finished
    #expect(fetched.status == 130)
    #expect(
      fetched.lines.last?.hasPrefix("ok 0  failed 0  " + (body.isEmpty ? "skipped 1  " : "unknown 1  skipped 0  "))
        == true, "\(fetched.messages)")
    #expect(fetched.records.first?.error == (body.isEmpty ? "shut_down" : "outcome_unknown"))
  }

  /// A run whose first request is held until a number of requests have arrived: it has the turn, so that the output has
  /// nothing of a body that is truncated and repeated.
  private func holdingTheTurn(_ arguments: [String], until count: Int) async throws -> Fetched {
    origin.resetCounts()
    let trial = try FetchTrial(arguments, in: folder)
    async let finished = trial.finish()
    #expect(await origin.waitUntil({ $0.received == count }, until: .after(.seconds(60))))
    origin.release()
    return await finished
  }

  @Test func `A session requests a URL again for another method or body`() async throws {
    answer { _ in .text("x") }
    for arguments in [[], ["-d", "a"], ["-d", "b"], ["-X", "PUT", "-d", "a"]] {
      for expected in ["ok 1  failed 0  bytes", "ok 0  failed 0  done before 1"] {
        let trial = try FetchTrial(
          [origin.url("/once"), "-P", "@/out", "--session", "@/run"] + arguments, in: folder)
        let fetched = await trial.finish()
        #expect(fetched.messages.contains(expected), "\(arguments): \(fetched.messages)")
      }
    }
    #expect(taken() == ["GET /once", "POST /once", "POST /once", "PUT /once"])
    #expect(folder.names(in: "out") == ["once", "once.1", "once.2", "once.3"])
  }

  @Test func `A request that an earlier run may have completed is not sent again, and a refused one is`() async throws {
    answer { number in number == 1 ? .truncated(declared: 9, sent: 5) : .text("x") }
    let arguments = ["-P", "@/out", "--session", "@/run", "-d", "x"]
    let urls = [origin.url("/once"), origin.url("/status/500")]
    #expect(await (try FetchTrial(urls + arguments, in: folder)).finish().status == 1)
    _ = taken()
    let again = await (try FetchTrial(urls + arguments + ["--log", "@/log"], in: folder)).finish()
    #expect(taken() == ["POST /status/500"])
    #expect(again.messages.contains("its outcome is unknown; --retry-unsafe sends it again\n"))
    #expect(again.status == 9 && again.record(urls[0])?.error == "outcome_unknown")
    #expect(again.lines.last?.hasPrefix("ok 0  failed 1  unknown 1  ") == true)
    let failed = ["-P", "@/out", "--session", "@/run", "--retry-failed"]
    let others = await (try FetchTrial(failed, in: folder)).finish()
    #expect(others.messages.contains("2 URLs of the session failed with another method or body"))
    let unsafe = await (try FetchTrial(failed + ["-d", "x", "--retry-unsafe"], in: folder)).finish()
    #expect(taken() == ["POST /once", "POST /status/500"] && unsafe.messages.contains("ok 1  failed 1  "))
    #expect(folder.text(of: "out/once") == "x")
  }

  @Test func `A request that was never sent is sent by the next run`() async throws {
    // No server listens there.
    let arguments = ["http://127.0.0.1:1/dead", "-P", "@/out", "--session", "@/run", "-d", "x"]
    for _ in 0..<2 {
      let fetched = await (try FetchTrial(arguments, in: folder)).finish()
      #expect(fetched.messages.contains("no connection could be made"))
      #expect(!fetched.messages.contains("unknown"))
    }
  }

  @Test func `A POST of a session starts from the beginning, even if there is a partial file`() async throws {
    answer { number in
      var answer = number == 1 ? OriginAnswer.truncated(declared: 900_000, sent: 700_000) : .text("whole")
      answer.headers = [OriginHeader("ETag", "\"1\"")]
      return answer
    }
    let arguments = [origin.url("/once"), "-P", "@/out", "--session", "@/run", "-d", "x", "--retry-unsafe"]
    #expect(await (try FetchTrial(arguments, in: folder)).finish().status == 4)
    #expect(folder.names(in: "out") == [])
    #expect(await (try FetchTrial(arguments, in: folder)).finish().status == 0)
    #expect(folder.text(of: "out/once") == "whole")
  }

  @Test func `The journal of a killed run decides`() throws {
    let key = "POST http://a/ 00"
    var state = SessionState()
    state.apply(.sending(key: key))
    #expect(state.hasFailed(key) && state.failed == [key])
    #expect(state.plan(key, boot: nil) { _ in nil } == .unknown)
    #expect(state.plan(key, boot: nil, repeatsUnsafe: true) { _ in nil } == .begin(name: nil))
    var unsent = state
    unsent.apply(.unsent(key: key))
    #expect(!unsent.hasFailed(key) && unsent.plan(key, boot: nil) { _ in nil } == .begin(name: nil))
    var refused = state
    refused.apply(.failed(key: key, error: "http_error"))
    #expect(refused.hasFailed(key) && refused.plan(key, boot: nil) { _ in nil } == .begin(name: nil))
    let file = SessionFile(name: "f", size: 1, validator: Validator())
    state.apply(.whole(key: key, file, inode: 2))
    #expect(
      state.plan(key, boot: nil) { $0 == "f.part" ? .init(size: 1, inode: 2) : nil }
        == .name(file, renews: false))
    for event in [SessionEvent.sending(key: key), .unsent(key: key)] {
      #expect(SessionEvent(Array(event.line.utf8).dropLast()) == event)
    }
  }

  @Test func `Journal keys distinguish methods and bodies, and are unchanged for GET`() {
    var sent = SentRequest()
    #expect(sent.key("http://a/") == "GET http://a/" && sent.url(ofKey: "GET http://a/") == "http://a/")
    #expect(sent.url(ofKey: "POST http://a/") == nil && sent.url(ofKey: "GET http://a/ 00") == nil)
    sent.method = .post
    sent.body = SentBody(Array("x".utf8), type: SentBody.formType)
    #expect(sent.key("http://a/") == "POST http://a/ 2d711642b726b04401627ca9fbac32f5")
    #expect(sent.url(ofKey: sent.key("http://a/")) == "http://a/")
    #expect(sent.url(ofKey: "POST http://a/") == nil && sent.url(ofKey: "POST") == nil)
  }

  @Test func `An unreadable file is named`() throws {
    let error = #expect(throws: FetchProblem.self) {
      _ = try FetchTrial([origin.url("/"), "--data=@" + folder.file("none")], in: folder)
    }
    #expect(error?.status == .file && error?.description.hasPrefix("--data: the file ") == true)
  }
}
