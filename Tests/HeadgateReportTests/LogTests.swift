import Testing

@testable import HeadgateReport

@Suite struct LogTests {
  @Test func `Results of calls are no records`() {
    var log = RunLog()
    log.add(Array("{\"key\":\"0\",\"outcome\":\"ok\",\"error\":null,\"url\":\"http://a/\",\"status\":200}\n".utf8))
    log.finish()
    #expect(log.records.isEmpty && log.strangeLines == 1)
  }

  @Test func `A log does not depend on how it is split`() {
    let text = Array(
      (Samples.line(["url": "http://a.example/ü\u{2028}\"\\"]) + "\n"
        + Samples.line(["status": 404, "error": "http_error"])
        + "torn {\n" + Samples.line(["attempts": 3])).utf8)
    var whole = RunLog()
    whole.add(text)
    whole.finish()
    #expect(whole.records.count == 3)
    #expect(whole.records.first?.url == "http://a.example/ü\u{2028}\"\\")
    #expect(whole.strangeLines == 1)
    for cut in text.indices {
      var log = RunLog()
      log.add(Array(text[..<cut]))
      log.add(Array(text[cut...]))
      log.finish()
      #expect(log.records == whole.records)
    }
  }

  @Test func `A record that was sent once has one exchange; one that was sent more often has all of them`() throws {
    let log = Samples.log(
      [:],
      [
        "exchanges": [
          ["end_point": "a.example:80", "start": 1.5, "end": 1.6, "status": 429, "limit": 4],
          ["end_point": "b.example:80", "start": 3, "end": 3.5, "status": 200, "limit": 2],
        ]
      ])
    #expect(log.records.map(\.exchanges.count) == [1, 2])
    let only = try #require(log.records[0].exchanges.first)
    #expect(only.endPoint == "a.example:80" && only.start == 1.5 && abs(only.end - 1.7) < 1e-9 && only.limit == 4)
    #expect(log.records[1].exchanges.map(\.status) == [429, 200])
  }

  @Test func `A log of an earlier version has its times from the time of day`() throws {
    let new = try Regex("\"(start|sent|ran|limit)\":[0-9.]+,?")
    let lines = [[:], ["time": "2026-11-24T12:00:03.700Z"]].map { Samples.line($0).replacing(new, with: "") }
    let run = RunSummary(Samples.log(lines))
    #expect(run.rows.map(\.start) == [0, 2])
    #expect(run.endPoints.first?.peak == 1)
    #expect(run.endPoints.first?.limit == nil)
  }

  @Test func `Mutated lines never trap`() {
    var random = SystemRandomNumberGenerator()
    let line = Array(
      Samples.line([
        "exchanges": [["end_point": "a", "start": 1, "end": 2]], "pauses": [["end_point": "a", "at": 1, "until": 2]],
      ]).utf8)
    for _ in 0..<3_000 {
      var mutated = line
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let place = Int.random(in: mutated.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: mutated[place] = UInt8.random(in: 0...255, using: &random)
        case 1: mutated.remove(at: place)
        default: mutated.insert(contentsOf: "9\"e\\u{[".utf8, at: place)
        }
      }
      var log = RunLog()
      log.add(mutated)
      log.finish()
      _ = RunPage.bytes(RunSummary(log))
      _ = HARFile.bytes(log, creatorVersion: "1")
    }
  }

  @Test func `Out-of-range numbers count as unknown`() {
    let log = Samples.log([
      "total": 1e300, "queued": -5, "bytes": 1e30, "attempts": 1.5, "status": 99, "sent": 1e308, "ran": 1e308,
    ])
    #expect(log.records.first?.total == nil)
    #expect(log.records.first?.bytes == nil)
    _ = RunPage.bytes(RunSummary(log))
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00.000Z", 0.0), ("2000-02-29T23:59:59.250Z", 951_868_799.25),
      ("2026-11-24T03:04:05.678Z", 1_795_489_445.678), ("9999-12-31T23:59:59.999Z", 253_402_300_799.999),
    ])
  func `Times are read and written`(_ text: String, _ seconds: Double) throws {
    #expect(abs(try #require(LogTime.seconds(text)) - seconds) < 1e-3)
    if seconds < 2e11 { #expect(LogTime.text(seconds) == text) }
  }

  @Test(arguments: ["", "2026-11-24", "2026-13-24T03:04:05Z", "2026-11-24T03:04:05+01:00", "2026-11-2xT03:04:05.678Z"])
  func `Other times are unknown`(_ text: String) { #expect(LogTime.seconds(text) == nil) }
}
