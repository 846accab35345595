import Foundation

@testable import HeadgateReport

/// Lines of a log as the command writes them.
enum Samples {
  static var null: Any { NSNull() }

  static func line(_ members: [String: Any]) -> String {
    var record: [String: Any] = [
      "url": "http://a.example/x", "final_url": NSNull(), "end_point": "a.example:80", "status": 200,
      "http_version": "HTTP/1.1", "error": NSNull(), "message": NSNull(), "attempts": 1, "bytes": 1000, "queued": 0.5,
      "dns": 0.01, "connect": 0.03, "tls": 0, "first_byte": 0.1, "total": 0.7, "start": 1, "sent": 1.5, "ran": 0.2,
      "limit": 4, "exchanges": NSNull(), "pauses": NSNull(), "time": "2026-11-24T12:00:01.700Z",
    ]
    record.merge(members) { $1 }
    let data = (try? JSONSerialization.data(withJSONObject: record, options: [.sortedKeys])) ?? Data()
    return String(decoding: data, as: UTF8.self) + "\n"
  }

  static func log(_ lines: [String]) -> RunLog {
    var log = RunLog()
    log.add(Array(lines.joined().utf8))
    log.finish()
    return log
  }

  static func log(_ records: [String: Any]...) -> RunLog { log(records.map(line)) }

  /// Many requests at a few end-points, some of which fail and pause.
  static func longLog(_ count: Int, endPoints: Int = 5) -> RunLog {
    var text = ""
    for number in 0..<count {
      let endPoint = "h\(number % endPoints).example:443"
      let sent = Double(number / endPoints / 4) * 0.05
      let isFailed = number % 97 == 0
      let pause =
        number % 5_000 == 4_999
        ? "[{\"end_point\":\"\(endPoint)\",\"at\":\(sent),\"until\":\(sent + 2),\"reason\":\"paused 2.0 s by 429\"}]"
        : "null"
      text += """
        {"url":"https://\(endPoint)/item/\(number)","end_point":"\(endPoint)","status":\(isFailed ? 503 : 200),\
        "error":\(isFailed ? "\"http_error\"" : "null"),"message":\(isFailed ? "\"status 503\"" : "null"),"attempts":1,\
        "bytes":1234,"queued":\(sent),"first_byte":0.02,"total":\(sent + 0.04),"start":0,"sent":\(sent),"ran":0.04,"limit":4,\
        "exchanges":null,"pauses":\(pause),"time":"2026-11-24T12:00:01.700Z"}

        """
    }
    return log([text])
  }

  static func data(_ run: RunSummary) throws -> [String: Any] {
    var writer = JSONWriter()
    PageData.write(run, to: &writer)
    return try JSONSerialization.jsonObject(with: Data(writer.bytes)) as? [String: Any] ?? [:]
  }
}
