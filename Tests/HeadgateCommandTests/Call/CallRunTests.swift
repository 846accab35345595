import Foundation
import HeadgateOrigin
import HeadgateReport
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Rows in, results out.
@Suite struct CallRunTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  /// Counts requests by a header field, and answers them in turn with these.
  private func answer(by field: String = "Idempotency-Key", _ answers: OriginAnswer...) -> LockedBox<[String: Int]> {
    let counts = LockedBox<[String: Int]>([:])
    let next = LockedBox(0)
    origin.setScript(
      OriginScript(handler: { request in
        counts.withLock { $0[request.header(field) ?? "", default: 0] += 1 }
        return answers[
          next.withLock { next in
            defer { next += 1 }
            return min(next, answers.count - 1)
          }]
      }))
    return counts
  }

  @Test func `A row becomes a request, and its response a result with the row`() async throws {
    let called = try await call(
      "-i", "-", "--url", origin.url("/echo?id={id}"), "--json", #"{"name":{name},"text":"<{id}>"}"#, "-H",
      "X-Id: {id}",
      "--response-fields", "X-Method,x-echo-x-id,X-None", in: folder,
      input: #"{"id":1,"name":"Ada"}"# + "\n" + #"{"name":{"first":"B"},"id":"2 é","status":7}"# + "\n")
    #expect(called.status == 0 && called.last.hasPrefix("ok 2  failed 0  bytes "))
    #expect(try called.column("outcome") == ["\"ok\"", "\"ok\""])
    #expect(try called.column("row") == [#"{"id":1,"name":"Ada"}"#, #"{"name":{"first":"B"},"id":"2 é","status":7}"#])
    #expect(try called.column("status") == ["200", "200"])
    #expect(try called.column("headers.X-Method") == ["\"POST\"", "\"POST\""])
    #expect(try called.column("headers.x-echo-x-id").first == "\"1\"")
    #expect(try called.column("headers.X-None") == ["null", "null"])
    #expect(
      try called.column("body_text") == [
        #""{\"name\":\"Ada\",\"text\":\"<1>\"}""#, #""{\"name\":{\"first\":\"B\"},\"text\":\"<2 é>\"}""#,
      ])
    #expect(try called.column("url")[1].hasSuffix("/echo?id=2%20%C3%A9\""))
    #expect(try called.column("attempts") == ["1", "1"])
    #expect(try called.column("error") == ["null", "null"])
  }

  @Test func `Several texts are one body`() async throws {
    for (body, sent) in [
      (["-d", "a={id}", "-d", "b=2"], #""a=1&b=2""#),
      (["--json", #"{"a":{id},"#, "--json", #""b":2}"#], #""{\"a\":1,\"b\":2}""#),
    ] {
      let arguments = ["-i", "-", "--url", origin.url("/echo")] + body
      let called = try await CallTrial(arguments, in: folder, input: "{\"id\":1}\n").finish()
      #expect(try called.column("body_text") == [sent])
    }
  }

  @Test func `C18 Results of an earlier run are never replaced`() async throws {
    _ = answer(.text(""))
    let arguments = ["-i", "-", "--url", origin.url("/"), "-o", "@/out"]
    try folder.write("", to: "out")
    #expect(try await CallTrial(arguments, in: folder, input: "{}\n").finish().status == 0)
    let results = folder.text(of: "out")
    let error = #expect(throws: FetchProblem.self) { try CallTrial(arguments, in: folder, input: "{}\n") }
    #expect(error?.status == .usage && error?.description.contains("--session") == true)
    #expect(folder.text(of: "out") == results && results?.isEmpty == false)
  }

  @Test(arguments: [["-H", "Idempotency-Key: k"], ["-H", "127.0.0.1=Idempotency-Key: k"]])
  func `A key that all rows would have is refused`(key: [String]) async throws {
    let arguments = ["-i", "-", "--url", origin.url("/{id}"), "-d", "x"]
    let error = #expect(throws: FetchProblem.self) { try CallTrial(arguments + key, in: folder) }
    #expect(error?.status == .usage && error?.description.contains("--idempotency-key auto") == true)
    _ = try CallTrial(arguments + ["-H", "Idempotency-Key: {id}"], in: folder)
  }

  @Test func `Credentials that rows send to several hosts are reported, once`() async throws {
    _ = answer(.text(""))
    let hosts = ["127.0.0.1", "localhost", "127.0.0.1"].map { "{\"url\":\"http://\($0):\(origin.port)/\"}\n" }
    let input = hosts.joined()
    let called = try await call("-i", "-", "-H", "Authorization: secret", in: folder, input: input)
    #expect(
      called.messages.split(separator: "Authorization is sent to every host (127.0.0.1, localhost, …)").count == 2)
    let own = try await call("-i", "-", "-H", "127.0.0.1=Authorization: secret", in: folder, input: input)
    #expect(!own.messages.contains("is sent to every host"))
  }

  @Test func `A result has the times of its row in seconds, and the time of its end`() async throws {
    // The first request takes long, so that the other one is certain to wait for it.
    let isFirst = Locked(true)
    origin.setScript(
      OriginScript(
        delay: .milliseconds(20),
        handler: { _ in
          var answer = OriginAnswer.text("")
          if isFirst.exchange(false) { answer.delay = .seconds(2) }
          return answer
        }))
    let (before, start) = (Date(), Deadline.now)
    let called = try await call(
      "-i", "-", "--url", origin.url("/bytes/{n}"), "--per-host", "1", in: folder,
      input: #"{"n":1}"# + "\n" + #"{"n":2}"# + "\n")
    let (after, took) = (Date(), (Deadline.now - start).inSeconds)
    func times(_ name: String) throws -> [Double] {
      let times = try called.column(name).compactMap { Double($0) }
      try #require(times.count == 2, "\(name)")
      return times
    }
    let (queued, connect, first, total) = (
      try times("queued"), try times("connect"), try times("first_byte"), try times("total")
    )
    #expect(try called.column("tls").allSatisfy { ["null", "0", "0.0", "0.000000"].contains($0) })
    for row in 0..<2 {
      #expect(queued[row] >= 0 && connect[row] >= 0 && connect[row] <= first[row])
      #expect(first[row] >= 0.02)
      #expect(queued[row] + first[row] <= total[row] + 0.001)
      #expect(total[row] <= took)
    }
    // One waited for the other.
    #expect((queued.max() ?? 0) >= 0.02)
    #expect((try called.column("waited.limit").compactMap { Double($0) }.max() ?? 0) >= 0.02)
    for time in try called.column("time") {
      let ended = try Date(
        String(time.dropFirst().dropLast()), strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
      #expect(ended >= before.addingTimeInterval(-0.001) && ended <= after.addingTimeInterval(0.001))
    }
  }

  @Test func `Rows that were not reached before the deadline are an error, including those that may be sent only once`()
    async throws
  {
    origin.setScript(OriginScript(handler: { _ in .hold }))
    let called = try await call(
      "-i", "-", "--url", origin.url("/{n}"), "-X", "POST", "--per-host", "1", "--deadline", "1", in: folder,
      input: (0..<20).map { "{\"n\":\($0)}\n" }.joined())
    #expect(called.status != 0)
    #expect(called.messages.contains("the deadline passed before"))
  }

  @Test func `An empty idempotency key is not a key`() async throws {
    let counts = answer(by: "X-Id", .reset)
    let called = try await call(
      "-i", "-", "--url", origin.url("/"), "-X", "POST", "-H", "X-Id: {id}", "-H", "Idempotency-Key: {order}",
      "--retry",
      "2", in: folder, input: #"{"id":"a","order":""}"# + "\n")
    #expect(called.status == 9)
    #expect(counts.withLock { $0 } == ["a": 1])
  }

  @Test func `A body is inlined as JSON if it is JSON, else as text or base64`() async throws {
    var json = OriginAnswer.text(" {\"a\" : [1.0,\n2]}")
    json.headers = [OriginHeader("Content-Type", "application/problem+json; charset=utf-8")]
    var broken = OriginAnswer.text("{\"a\":")
    broken.headers = [OriginHeader("Content-Type", "application/json")]
    let answers = ["/1": json, "/2": broken, "/3": .bytes([0xFF, 0x00]), "/4": .bytes([])]
    origin.setScript(OriginScript(handler: { answers[$0.path] }))
    let input = (1...4).map { "{\"n\":\($0)}\n" }.joined()
    let called = try await call("-i", "-", "--url", origin.url("/{n}"), "--per-host", "1", in: folder, input: input)
    #expect(try called.column("body") == ["{\"a\":[1.0,2]}", "null", "null", "null"])
    #expect(try called.column("body_text") == ["", "\"{\\\"a\\\":\"", "", ""])
    #expect(try called.column("body_base64") == ["", "", "\"/wA=\"", ""])
  }

  @Test func `CSV rows have strings, and :json turns them into numbers`() async throws {
    try folder.write("id,amount\n7,\"12.50\"\n8,x\n", to: "rows.CSV")
    let called = try await call(
      "-i", "@/rows.CSV", "--url", origin.url("/echo"), "--json", "{\"id\":{id},\"amount\":{amount:json}}", "-o",
      "@/out",
      in: folder)
    #expect(try called.column("body_text") == [#""{\"id\":\"7\",\"amount\":12.50}""#, ""])
    #expect(try called.column("error") == ["null", "\"invalid_row\""])
    #expect(called.status == 2 && called.last.hasPrefix("ok 1  failed 1  "))
    #expect(folder.mode(of: "out") == 0o600)
    let same = try await call(
      "-i", "-", "--csv", "--url", origin.url("/echo"), "--data", "a={amount:url}", in: folder, input: "amount\na b&c\n"
    )
    #expect(try same.column("body_text") == ["\"a=a%20b%26c\""])
  }

  @Test func `CSV whose lines end with carriage returns only is an error`() async throws {
    let called = try await call(
      "-i", "-", "--csv", "--url", origin.url("/{id}"), in: folder, input: "id,name\r1,Ada\r2,Bob\r")
    #expect(called.status == 2 && called.last.hasPrefix("ok 0  failed 1  "))
    #expect(called.messages.contains("a carriage return is not followed by a line feed"))
    #expect(origin.counts().received == 0)
  }

  @Test func `Rows define their own requests without --url, and are only data with it`() async throws {
    let rows = [
      #"{"url":"\#(origin.url("/echo"))","method":"PUT","headers":{"X-A":"own","X-B":"own"},"body":{"a":1.0}}"#,
      #"{"url":"\#(origin.url("/echo"))","body":"text"}"#, #"{"url":"\#(origin.url("/echo"))"}"#, #"{"id":1}"#,
      #"{"url":"not a url"}"#, #"{"url":"\#(origin.url("/echo"))","headers":{"X-A":"a\r\nX-C: c"}}"#,
      #"{"url":"\#(origin.url("/echo"))","method":"A B"}"#, #"{"url":"\#(origin.url("/echo"))","headers":[1]}"#,
    ].joined(separator: "\n")
    let fields = "x-method,x-echo-x-a,x-echo-x-b,x-echo-content-type,x-echo-x-c"
    let called = try await call("-i", "-", "-H", "X-B: option", "--response-fields", fields, in: folder, input: rows)
    #expect(try called.column("headers.x-method") == ["\"PUT\"", "\"POST\"", "\"GET\"", "", "", "", "", ""])
    #expect(try called.column("headers.x-echo-x-a")[0] == "\"own\"")
    #expect(try called.column("headers.x-echo-x-b")[0] == "\"option\"")
    #expect(try called.column("headers.x-echo-content-type")[0] == "\"application/json\"")
    #expect(try called.column("body_text")[0...1] == [#""{\"a\":1.0}""#, "\"text\""])
    #expect(
      try called.column("error")[3...] == [
        "\"missing_field\"", "\"invalid_url\"", "\"invalid_row\"", "\"invalid_row\"", "\"invalid_row\"",
      ])
    #expect(called.status == 2)
    let data = try await call(
      "-i", "-", "--url", origin.url("/echo"), "--response-fields", fields, in: folder,
      input: String(rows.prefix { $0 != "\n" }))
    #expect(try data.column("headers.x-method") == ["\"GET\""])
    #expect(try data.column("headers.x-echo-x-a") == ["null"])
  }

  @Test func `An automatic key is the same for every attempt, different for each row, and belongs to the session`()
    async throws
  {
    let counts = answer(.reset, .text("", status: 503), .text(""))
    let input = "{\"n\":1}\n{\"n\":2}\n{\"n\":1}\n"
    let arguments = [
      "-i", "-", "--url", origin.url("/"), "--json", "{\"n\":{n}}", "--idempotency-key", "auto", "--retry", "3",
      "--retry-after", "ignore", "--per-host", "1", "-o", "@/out", "--session", "@/run",
    ]
    let called = try await CallTrial(arguments + ["-o", "@/out"], in: folder, input: input).finish()
    #expect(called.status == 0 && called.last.hasPrefix("ok 3  failed 0  "))
    let first = counts.withLock { $0 }
    #expect(first.count == 3 && first.values.reduce(0, +) == 5)
    #expect(try called.column("attempts").compactMap { Int($0) }.reduce(0, +) == 5)
    // Without its results a session sends all rows again, with the same keys.
    try FileManager.default.removeItem(atPath: folder.file("out"))
    #expect(try await CallTrial(arguments + ["-o", "@/out"], in: folder, input: input).finish().status == 0)
    #expect(Set(counts.withLock { $0.keys }) == Set(first.keys))
  }

  @Test func `A key may be built from the row's fields`() async throws {
    let counts = answer(.text(""))
    let called = try await call(
      "-i", "-", "--url", origin.url("/"), "-X", "PATCH", "--idempotency-key", "order-{id}", in: folder,
      input: "{\"id\":5}\n{\"x\":1}\n{\"id\":\"\\n\"}\n")
    #expect(counts.withLock { $0 } == ["order-5": 1])
    #expect(try called.column("error") == ["null", "\"missing_field\"", "\"invalid_row\""])
  }

  @Test func `A row without a key is never sent twice, unless that is allowed`() async throws {
    let input = "{\"n\":1}\n"
    let arguments = ["-i", "-", "--url", origin.url("/"), "-X", "POST", "--retry", "3", "--retry-after", "ignore"]
    var counts = answer(.reset)
    let lost = try await CallTrial(arguments + ["-o", "@/out"], in: folder, input: input).finish()
    #expect(counts.withLock { $0 } == ["": 1])
    #expect(lost.status == 9 && lost.last.hasPrefix("ok 0  failed 0  unknown 1  "))
    #expect(try lost.column("outcome") == ["\"unknown\""])
    #expect(try lost.column("error") == ["\"connection_lost\""])
    #expect(lost.messages.contains("its outcome is unknown"))
    counts = answer(.text("", status: 503))
    let refused = try await CallTrial(arguments + ["-o", "@/refused"], in: folder, input: input).finish()
    #expect(counts.withLock { $0 } == ["": 1] && refused.status == 8)
    counts = answer(.reset, .text(""))
    let told = try await CallTrial(arguments + ["--retry-unsafe"], in: folder, input: input).finish()
    #expect(counts.withLock { $0 } == ["": 2] && told.status == 0)
    // A row that never reached the server has no unknown outcome.
    let never = try await call("-i", "-", "--url", "http://127.0.0.1:1/", "-X", "POST", in: folder, input: input)
    #expect(never.status == 4)
    #expect(try never.column("outcome") == ["\"not_sent\""])
  }

  @Test func `A redirect is a result, and is not followed`() async throws {
    let counts = answer(by: "X", .redirect(to: "/other", status: 307), .text(""))
    let called = try await call(
      "-i", "-", "--url", origin.url("/"), "-X", "POST", "--response-fields", "Location", in: folder, input: "{}\n")
    #expect(called.status == 8 && counts.withLock { $0 } == ["": 1])
    #expect(try called.column("status") == ["307"])
    #expect(try called.column("headers.Location") == ["\"/other\""])
  }

  @Test func `The first row without a field is reported with those that it has`() async throws {
    let input = "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}\n"
    let called = try await call("-i", "-", "--url", origin.url("/{nmae}"), "-o", "@/out", in: folder, input: input)
    #expect(called.messages.contains(":1: the row has no field nmae; the row has: id, name\n"), "\(called.messages)")
    #expect(called.messages.contains(":2: the row has no field nmae\n"))
    // The results say the same of each row.
    let told = try CallTrial(["-i", "-", "--url", origin.url("/{nmae}")], in: folder, input: input)
    #expect(try await told.finish().results.allSatisfy { $0["message"]?.string == "the row has no field nmae" })
  }

  @Test func `Of many rows with the same error only some are reported on the standard error`() async throws {
    _ = answer(.text("", status: 404))
    let input = (0..<50).map { "{\"n\":\($0)}\n" }.joined() + "x\n"
    let arguments = ["-i", "-", "--url", origin.url("/{n}")]
    let called = try await CallTrial(arguments + ["-o", "@/out"], in: folder, input: input).finish()
    #expect(called.results.count == 51 && called.status == 1)
    #expect(called.messages.split(separator: "\n").count == Report.mostRepeated + 3)
    #expect(
      called.messages.contains(
        "headgate: more rows have the error http_error; the results list each of them, and so does -v\n")
    )
    let all = try await CallTrial(arguments + ["-v", "-o", "@/all"], in: folder, input: input).finish()
    #expect(all.messages.split(separator: "\n").count == 52)
  }
}
