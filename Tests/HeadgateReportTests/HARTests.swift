import Foundation
import Testing

@testable import HeadgateReport

@Suite struct HARTests {
  private func parsed(_ log: RunLog) throws -> [String: Any] {
    let file = try JSONSerialization.jsonObject(with: Data(HARFile.bytes(log, creatorVersion: "1.2.3")))
    return try #require((file as? [String: Any])?["log"] as? [String: Any])
  }

  @Test func `An entry has the members that HAR 1.2 requires, with the queue as blocked`() throws {
    let log = Samples.log([
      "url": "https://a.example/x?q=a%20b&q=c+d&e&f=%+5%4&g=%2B", "tls": 0.06, "attempts": 2, "queued": 0.5, "ran": 0.2,
      "first_byte": 0.15,
    ])
    let har = try parsed(log)
    #expect(har["version"] as? String == "1.2")
    #expect(har["comment"] == nil)
    let entry = try #require((har["entries"] as? [[String: Any]])?.first)
    #expect(entry["startedDateTime"] as? String == "2026-11-24T12:00:01.000Z")
    #expect(entry["time"] as? Double == 700)
    let timings = try #require(entry["timings"] as? [String: Double])
    #expect(
      timings == ["blocked": 500, "dns": 10, "connect": 50, "ssl": 30, "send": 0, "wait": 90, "receive": 50])
    let request = try #require(entry["request"] as? [String: Any])
    for name in ["method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"] {
      #expect(request[name] != nil)
    }
    let query = try #require(request["queryString"] as? [[String: String]])
    #expect(query.map { $0["value"] } == ["a b", "c d", "", "% 5%4", "+"])
    let response = try #require(entry["response"] as? [String: Any])
    for name in [
      "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize",
    ] {
      #expect(response[name] != nil)
    }
    #expect(entry["cache"] as? [String: String] == [:])
    #expect((entry["comment"] as? String)?.contains("sent 2 times") == true)
  }

  @Test func `A reused connection has no phases`() {
    let log = Samples.log(["dns": 0, "connect": 0, "tls": 0])
    let timings = log.records.map { HAREntry($0).timings }[0]
    #expect((timings.dns, timings.connect, timings.ssl) == (-1, -1, -1))
    #expect(abs(timings.wait - 100) < 1e-6)
  }

  @Test func `A request without a response waited for one until its end`() {
    let log = Samples.log([
      "status": Samples.null, "error": "timed_out", "first_byte": Samples.null, "dns": Samples.null,
      "connect": Samples.null, "tls": Samples.null, "queued": 0, "sent": 0, "ran": 30, "total": 30,
    ])
    let timings = log.records.map { HAREntry($0).timings }[0]
    #expect((timings.blocked, timings.wait, timings.receive) == (0, 30_000, 0))
  }

  @Test func `The times of a URL that was sent more than once add up to all of its time`() throws {
    let log = Samples.log([
      "attempts": 2, "queued": 0.5, "first_byte": 0.1, "total": 5, "start": 1, "sent": 5, "ran": 1,
      "exchanges": [
        ["end_point": "a.example:80", "start": 1.5, "end": 2.5, "status": 503, "limit": 4],
        ["end_point": "a.example:80", "start": 5, "end": 6, "status": 200, "limit": 4],
      ], "time": "2026-11-24T12:00:06.000Z",
    ])
    let entry = try #require((try parsed(log)["entries"] as? [[String: Any]])?.first)
    #expect(entry["startedDateTime"] as? String == "2026-11-24T12:00:01.000Z")
    #expect(entry["time"] as? Double == 5_000)
    #expect((entry["timings"] as? [String: Double])?["blocked"] == 4_000)
  }

  @Test func `A long log is cut, and the file says so`() throws {
    let log = Samples.longLog(HARFile.mostEntries + 1)
    let har = try parsed(log)
    #expect((har["entries"] as? [Any])?.count == 10_000)
    #expect(har["comment"] as? String == "This file has the first 10000 of 10001 records, in the order of the log.")
  }
}
