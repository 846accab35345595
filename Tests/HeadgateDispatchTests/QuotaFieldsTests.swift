import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch
@testable import HeadgateGate

@Suite struct QuotaFieldsTests {
  private static let now = 1_700_000_000

  private func read(_ values: KeyValuePairs<String, String>) -> QuotaFields {
    var fields = HTTPFields()
    for (name, value) in values {
      guard let name = HTTPField.Name(name) else { continue }
      fields.append(HTTPField(name: name, value: value))
    }
    return .read(fields, now: Self.now)
  }

  @Test("the two structured fields, with units and partitions")
  func structured() {
    let fields = read([
      "RateLimit-Policy": #""burst";q=100;w=60, "daily";q=1000;w=86400;pk=:cHJvamVjdA==:"#,
      "RateLimit-Policy": #""bytes";q=65535;w=10;qu="content-bytes", "open";q=8;qu="concurrent-requests""#,
      "RateLimit": #""burst";r=50;t=30, "daily";r=7;t=3600;pk=:cHJvamVjdA==:, "bytes";r=0;t=9"#,
    ])
    #expect(fields.quotas.map(\.name) == ["burst", "daily", "bytes", "open"])
    #expect(fields.quotas[0].limit == 100 && fields.quotas[0].countsRequests)
    #expect(fields.quotas[1].partitionKey == "cHJvamVjdA==" && fields.quotas[1].remaining == 7)
    #expect(!fields.quotas[2].countsRequests && !fields.quotas[3].countsRequests)
    #expect(fields.binding?.remaining == 7 && fields.binding?.reset == .seconds(3600))
    // The exhausted quota is in bytes. A refusal waits for it.
    #expect(fields.wait == .seconds(9))
  }

  @Test("the older forms: a dictionary, single fields, seconds, dates, decimals")
  func older() {
    #expect(read(["RateLimit": "limit=100, remaining=0, reset=50"]).wait == .seconds(50))
    #expect(
      read(["RateLimit-Limit": "100, 100;w=60", "RateLimit-Remaining": "3", "RateLimit-Reset": "7"]).quotas == [
        Quota(limit: 100, remaining: 3, reset: .seconds(7))
      ])
    let gitHub = read(["X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000042"])
    #expect(gitHub.binding?.reset == .seconds(42) && gitHub.wait == .seconds(42))
    #expect(read(["x-rate-limit-remaining": "0", "x-rate-limit-reset": "1700000042500"]).wait == .milliseconds(42_500))
    let discord = read([
      "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000042.5", "X-RateLimit-Reset-After": "1.25",
    ])
    #expect(discord.wait == .milliseconds(1250))
    #expect(
      read(["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "Tue, 14 Nov 2023 22:13:30 GMT"]).wait == .seconds(10))
  }

  @Test(
    "the requests' fields of OpenAI and Anthropic: durations and dates of RFC 3339",
    arguments: [
      ("12.5s", 12_500), ("1m12.5s", 72_500), ("20ms", 20), ("6m0s", 360_000), ("1h2m3s4ms", 3_723_004),
      ("1d", 86_400_000),
      ("2023-11-14T22:13:30Z", 10_000), ("2023-11-14t22:13:30.75z", 11_000), ("2023-11-15T00:13:30.000+02:00", 10_000),
      ("2023-11-14T20:43:30-01:30", 10_000), ("2023-11-14T22:13:10Z", 0), ("2023-13-14T22:13:10Z", nil), ("1x", nil),
      ("s", nil), ("1m2", nil), ("2023-11-14T22:13:30", nil), ("2023-11-14T22:13:30+0200", nil),
      ("2023-11-14T22:13:30.123456789012345678+0", nil),
    ] as [(String, Int?)])
  func providers(reset: String, milliseconds: Int?) {
    let wait = milliseconds.map { Duration.milliseconds($0) }
    for (remaining, name) in [
      ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
      ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ] {
      let fields = read([remaining: "7", name: reset, "x-ratelimit-remaining-tokens": "1"])
      #expect(fields.quotas == [Quota(remaining: 7, reset: wait), Quota(unit: "tokens", remaining: 1)])
      for line in ["\(name): 1", "\(name.uppercased()): 1"] {
        #expect(ResponseHead(statusCode: 200, block: Array("HTTP/1.1 200 OK\r\n\(line)\r\n".utf8)).mayTellQuotas)
      }
      #expect(ResponseHead(statusCode: 200, headerFields: HTTPField.Name(name).map { [$0: "1"] } ?? [:]).mayTellQuotas)
    }
  }

  @Test("C13 dates count from the response's own Date")
  func clock() {
    let date = "Tue, 14 Nov 2023 22:13:50 GMT"
    #expect(read(["Date": date, "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000042"]).wait == .seconds(12))
    #expect(read(["Date": date, "Retry-After": "Tue, 14 Nov 2023 22:13:54 GMT"]).wait == .seconds(4))
    #expect(read(["Date": "soon", "Retry-After": "Tue, 14 Nov 2023 22:13:54 GMT"]).wait == .seconds(34))
  }

  @Test("Retry-After precedes quotas, and none, zero and the past ask for nothing")
  func retryAfter() {
    #expect(read(["Retry-After": "3", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"]).wait == .seconds(3))
    #expect(read(["Retry-After": "0", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"]).wait == .seconds(9))
    for value in ["0", "Tue, 14 Nov 2023 22:13:10 GMT", "soon", "-5"] {
      #expect(read(["Retry-After": value]).wait == nil)
    }
    #expect(read(["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1600000000"]).wait == nil)
    #expect(read([:]) == QuotaFields() && !QuotaFields.areIn([:]) && !QuotaFields.areIn([.retryAfter: "1"]))
  }

  @Test("of the quotas on requests the one with the least left applies, and of equal ones the longest")
  func binding() {
    let fields = read(["RateLimit": #""a";r=5;t=1, "b";r=2;t=10, "c";r=2;t=30, "d";r=2;t=20, "e";r=0, "f";t=9"#])
    #expect(fields.binding?.remaining == 2 && fields.binding?.reset == .seconds(30))
  }

  @Test("hostile values have no effect, or a bounded one")
  func hostile() {
    let long = String(repeating: "9", count: 1_000_000)
    let values = [
      "", " ", "-1", "99999999999999999999999", long, "1e400", "-1e400", "nan", "inf", "0x7fffffffffffffff", "\u{ff}",
      "limit=-1, remaining=-9, reset=999999999999999", #""a";r=-999999999999999;t=999999999999999"#, "\"", "(((", ",,,",
      ";;;", ":", ":%%%:", "-.", "-", ".", "1.", "@", "%\"", "%\"%\"", "@99999999999999999", "a;q=1.2.3", "a;r=?2",
      String(repeating: #""a";r=1,"#, count: 500) + #""a";r=0;t=1"#, String(repeating: "(", count: 4000),
    ]
    let names = [
      "Retry-After", "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
      "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Reset-After", "X-Rate-Limit-Reset", "Retry-After-Ms",
      "X-RateLimit-Remaining-Tokens", "X-RateLimit-Reset-Tokens",
    ]
    var random = SeededRandom(seed: 1)
    for _ in 0..<300 {
      var fields = HTTPFields()
      for name in names where Bool.random(using: &random) {
        guard let name = HTTPField.Name(name), let value = values.randomElement(using: &random) else { continue }
        fields.append(HTTPField(name: name, value: value))
      }
      let read = QuotaFields.read(fields, now: Self.now)
      #expect(read.quotas.count <= QuotaFields.mostQuotas)
      #expect(read.wait ?? .seconds(1) > .zero && read.binding?.remaining ?? 0 >= 0)
      var health = EndPointHealth()
      health.adopt(PausePolicy(), nil)
      _ = health.answered(
        .refused(wait: read.wait), startedAt: Deadline(nanoseconds: 1), at: Deadline(nanoseconds: 2), using: &random)
      #expect(health.notBefore <= Deadline(nanoseconds: 2) + .seconds(660))
    }
  }
}
