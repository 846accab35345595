import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

/// The words of the providers: which fields are read, and what their values mean.
@Suite struct RateLimitFieldsTests {
  private static let now = 1_700_000_000  // Tue, 14 Nov 2023 22:13:20 GMT

  private func fields(_ values: KeyValuePairs<String, String>) -> HTTPFields {
    HTTPFields(values.compactMap { pair in HTTPField.Name(pair.key).map { HTTPField(name: $0, value: pair.value) } })
  }

  private func read(
    _ values: KeyValuePairs<String, String>, by table: RateLimitFields = .standard
  ) -> QuotaFields {
    .read(fields(values), by: table, now: Self.now)
  }

  @Test("each quota of the standard table is found in a head, in any case, without a search for its name")
  func standard() throws {
    #expect(RateLimitFields.standard.unusualNames.isEmpty && !RateLimitFields.standard.quotas.isEmpty)
    for row in RateLimitFields.standard.quotas {
      let remaining = try #require(row.remaining)
      let reset = try #require(row.reset.last?.name)
      for name in [remaining.rawName, remaining.canonicalName, remaining.rawName.uppercased()] {
        let lines = "HTTP/1.1 200 OK\r\n\(name): 5\r\n\(reset.rawName.uppercased()): 9\r\n\r\n"
        let head = ResponseHead(statusCode: 200, block: Array(lines.utf8))
        #expect(head.mayTellQuotas)
        #expect(QuotaFields.read(head.headerFields).quotas == [Quota(unit: row.unit, remaining: 5, reset: .seconds(9))])
      }
    }
  }

  @Test("C12 of several waits the longest counts, whether they are fields or elements of a list")
  func waits() {
    let date = "Tue, 14 Nov 2023 22:13:30 GMT"
    for (values, milliseconds) in [
      (["Retry-After": "1.5"], 1500), (["Retry-After": ".25"], 250), (["Retry-After": "1e1"], 10_000),
      (["Retry-After": "3", "retry-after": "5", "RETRY-AFTER": "4"], 5000), (["Retry-After": "3, 5, 4"], 5000),
      (["Retry-After": "\(date), 4"], 10_000), (["Retry-After": "4, \(date)"], 10_000),
      (["Retry-After": "Tuesday, 14-Nov-23 22:13:22 GMT", "Retry-After": "soon", "Retry-After": "1"], 2000),
      (["Retry-After": "soon, , -7, 2"], 2000), (["Retry-After": "0", "Retry-After": "2"], 2000),
      (["Retry-After": "Tue, 14 Nov 2023 22:13:10 GMT, 3"], 3000), (["Retry-After": "0x10"], nil),
      (["Retry-After": "2023-11-14T22:13:25Z"], 5000), (["Retry-After": "1m30s"], 90_000),
      (["retry-after-ms": "2500"], 2500), (["Retry-After-Ms": "12"], 12), (["RETRY-AFTER-MS": "0"], nil),
      (["Retry-After-Ms": "250", "Retry-After": "1"], 1000), (["Retry-After-Ms": "2500", "Retry-After": "1"], 2500),
      (["X-MS-Retry-After-Ms": "300"], 300), (["Retry-After-Ms": "nan", "Retry-After": "inf"], nil),
      (["Retry-After-Ms": "-250"], nil), (["Retry-After": ",,,"], nil),
      (["Retry-After": String(repeating: "9", count: 100_000) + ".5"], 2_147_483_647_000),
      (["Retry-After-Ms": "1e400"], 2_147_483_647_000), (["Retry-After": "1000000000000"], 2_147_483_647_000),
    ] as [(KeyValuePairs<String, String>, Int?)] {
      let wait = milliseconds.map { Duration.milliseconds($0) }
      #expect(read(values).wait == wait, "\(values)")
      var fields = fields(values)
      fields[.date] = "Tue, 14 Nov 2023 22:13:20 GMT"
      let asked = RateLimitFields.standard.wait(of: ResponseHead(statusCode: 429, headerFields: fields))
      #expect(asked.flatMap { $0 > .zero ? $0 : nil } == wait, "\(values)")
    }
  }

  @Test("a number is seconds below 10⁹, and from there on a moment in seconds, milli-, micro- or nanoseconds")
  func numbers() {
    for (reset, milliseconds) in [
      ("0.5", 500), ("999999999", 999_999_999_000), ("1700000042", 42_000), ("1700000042.25", 42_250),
      ("1.700000042e+09", 42_000), ("1700000042500", 42_500), ("1700000042000000", 42_000),
      ("1700000042000000000", 42_000), ("1600000000", 0), ("1600000000000", 0), ("9999999999", 2_147_483_647_000),
      (String(repeating: "9", count: 300), 2_147_483_647_000),
      ("1" + String(repeating: "0", count: 30), 2_147_483_647_000), ("250ms", 250), ("250MS", 250), ("6M0S", 360_000),
      ("1h2m3.5s", 3_723_500), ("0s", 0), ("\u{b5}s", nil), ("7000\u{b5}s", 7), ("7000us", 7), ("7000000ns", 7),
      ("-5", nil), ("nan", nil), ("infinity", nil), ("0x7fffffff", nil), ("1 s", nil), ("-5s", nil),
    ] as [(String, Int?)] {
      let wait = milliseconds.map { Duration.milliseconds($0) }
      #expect(read(["x-ratelimit-remaining": "0", "x-ratelimit-reset": reset]).quotas.first?.reset == wait, "\(reset)")
    }
  }

  @Test("C13 moments count from the response's own Date, in every form")
  func clock() {
    for (name, reset) in [
      ("x-ratelimit-reset-tokens", "1700000022"), ("anthropic-ratelimit-tokens-reset", "2023-11-14T22:13:42Z"),
      ("ratelimit-reset", "Tue, 14 Nov 2023 22:13:42 GMT"),
    ] {
      let remaining = name.replacing("reset", with: "remaining")
      #expect(read([remaining: "0", name: reset, "Date": "Tue, 14 Nov 2023 22:13:50 GMT"]).wait == nil)
      #expect(read([remaining: "0", name: reset, "Date": "Tue, 14 Nov 2023 22:13:38 GMT"]).wait == .seconds(4))
      #expect(read([remaining: "0", name: reset, "Date": "yesterday"]).wait == .seconds(22))
    }
    let structured = read(["RateLimit": #""a";r=0;t=1700000022"#, "Date": "Tue, 14 Nov 2023 22:13:38 GMT"])
    #expect(structured.wait == .seconds(4))
  }

  @Test("lists report several quotas, and a shorter one continues with its last element")
  func lists() {
    let two = read([
      "X-RateLimit-Limit": "1, 15000", "X-RateLimit-Remaining": "0, 14523", "X-RateLimit-Reset": "1, 1419704",
    ])
    #expect(
      two.quotas == [
        Quota(limit: 1, remaining: 0, reset: .seconds(1)),
        Quota(limit: 15_000, remaining: 14_523, reset: .seconds(1_419_704)),
      ])
    #expect(two.binding?.reset == .seconds(1) && two.wait == .seconds(1))
    let several = read(["RateLimit-Remaining": "5", "RateLimit-Remaining": "0", "RateLimit-Reset": "7"])
    #expect(several.quotas.map(\.remaining) == [5, 0] && several.wait == .seconds(7))
    #expect(read(["RateLimit-Remaining": "0", "RateLimit-Reset": "7;w=10, 70;w=100"]).wait == .seconds(70))
    #expect(read(["RateLimit-Remaining": "0, x", "RateLimit-Reset": "x, 9"]).binding == nil)
    let structured = read(["RateLimit": #""a";r=9;t=1"#, "ratelimit": #"b;r=0;t=2.5"#])
    #expect(structured.binding?.remaining == 0 && structured.wait == .milliseconds(2500))
    #expect(read(["X-RateLimit-Remaining": "595.9", "X-RateLimit-Reset": "10"]).binding?.remaining == 595)
    #expect(read(["X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "10"]) == QuotaFields())
  }

  @Test("a quota of tokens counts if nothing is left of it; of one unit the first row counts")
  func units() {
    for (remaining, reset) in [
      ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
      ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
      ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
      ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ] {
      let (left, more) = ("X-RateLimit-Remaining-Requests", "X-RateLimit-Reset-Requests")
      let some = read([remaining: "1", reset: "12.5s", left: "9", more: "1s"])
      #expect(some.binding?.remaining == 9 && some.wait == nil)
      let none = read([remaining: "0", reset: "12.5s", left: "9", more: "1s"])
      #expect(none.binding?.remaining == 0 && none.binding?.reset == .milliseconds(12_500))
      #expect(none.wait == .milliseconds(12_500))
      #expect(read([remaining: "0", reset: "0s"]).binding == nil && read([remaining: "0"]).binding == nil)
    }
    let off = read([
      "X-RateLimit-Limit-Tokens": "0", "X-RateLimit-Remaining-Tokens": "0", "X-RateLimit-Reset-Tokens": "9s",
    ])
    #expect(off.binding == nil)
    // A request needs no bytes, and another concurrent one finds room as soon as one ends.
    let others = read(["RateLimit": #""a";r=0;t=9, "b";r=0;t=9"#, "RateLimit-Policy": Self.policies])
    #expect(others.quotas.map(\.unit) == ["content-bytes", "concurrent-requests"] && others.binding == nil)
    let twice = read([
      "RateLimit-Remaining": "0", "RateLimit-Reset": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60000",
    ])
    #expect(twice.quotas == [Quota(remaining: 0, reset: .seconds(60))])
    let policyOnly = read(["RateLimit-Policy": #""a";q=9;w=9"#, "RateLimit-Remaining": "0", "RateLimit-Reset": "6"])
    #expect(policyOnly.wait == .seconds(6))
  }

  private static let policies = #""a";q=9;w=9;qu="content-bytes", "b";q=9;w=9;qu="concurrent-requests""#

  @Test("a program adds fields, puts its own first, and takes some away")
  func extended() {
    var table = RateLimitFields.standard
    table.waits.append(.init("X-Backoff-Ms", numbers: .milliseconds))
    table.quotas.insert(
      .init(of: "requests", remaining: "X-Left", reset: [.init("X-More-In"), .init("X-More-At")]), at: 0)
    table.quotas.append(
      .init(of: "credits", remaining: "X-Credits", reset: [.init("X-Refill", numbers: .milliseconds)]))
    table.quotas.append(.init(of: "nothing", remaining: "no name", reset: [.init("")]))
    #expect(table.unusualNames.map(\.rawName) == ["X-Left", "X-Credits"])
    #expect(read(["x-backoff-ms": "1500", "Retry-After": "1"], by: table).wait == .milliseconds(1500))
    let both = read(["X-LEFT": "0", "x-more-at": "1700000007", "RateLimit-Remaining": "1"], by: table)
    #expect(both.quotas == [Quota(remaining: 0, reset: .seconds(7))])
    #expect(read(["x-credits": "0", "x-refill": "2500"], by: table).binding?.reset == .milliseconds(2500))
    table.quotas.removeAll { $0.unit == "credits" }
    #expect(read(["x-credits": "0", "x-refill": "2500"], by: table) == QuotaFields())
    #expect(read(["Retry-After": "1", "RateLimit-Remaining": "1"], by: RateLimitFields()) == QuotaFields())
  }

  @Test("a dispatcher reads the fields of its table: those of a quota, of a pause, and of a retry")
  func dispatcher() throws {
    var table = RateLimitFields.standard
    table.waits.append(.init("X-Backoff-Ms", numbers: .milliseconds))
    table.quotas.append(.init(of: "credits", remaining: "X-Credits", reset: [.init("X-Refill")]))
    for (status, fields, kind) in [
      (200, fields(["x-credits": "0", "X-Refill": "5"]), WaitReason.Kind.quota),
      (200, fields(["x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "5s"]), .quota),
      (429, fields(["x-backoff-ms": "5000"]), .paused), (429, fields(["retry-after-ms": "5000"]), .paused),
    ] {
      let bench = try Bench(requests: 1, pauses: PausePolicy(jitter: 0), fields: table)
      let responses = Responses()
      bench.send(try bench.request(), into: responses)
      let second = bench.send(try bench.request(), into: responses)
      bench.transport.takeStarted()?.respond(status, fields)
      #expect(second.waitReason?.kind == kind)
      bench.clock.advance(by: .milliseconds(4999))
      #expect(bench.transport.takeStarted() == nil)
      bench.clock.advance(by: .milliseconds(1))
      bench.transport.takeStarted()?.respond()
      #expect(responses.count == 2)
      #expect(bench.isClean())
    }
    let bench = try Bench(fields: table)
    let responses = Responses()
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .constant(.zero), budget: .none)
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.respond(503, fields(["x-backoff-ms": "700"]))
    bench.clock.advance(by: .milliseconds(699))
    #expect(bench.transport.takeStarted() == nil)
    bench.clock.advance(by: .milliseconds(1))
    bench.transport.takeStarted()?.respond()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }
}
