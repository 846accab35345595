/// The log's data about one URL. Times are in seconds. `start`, `sent` and the times of exchanges and pauses are
/// measured from the beginning of the run.
package struct LogRecord: Equatable, Sendable {
  package struct Exchange: Equatable, Sendable {
    package var endPoint: String
    package var start: Double
    package var end: Double
    package var status: Int?
    package var limit: Int?
  }

  package struct Wait: Equatable, Sendable {
    package var cause: String
    package var seconds: Double
  }

  package struct Pause: Equatable, Sendable {
    package var endPoint: String
    package var at: Double
    package var until: Double
    package var reason: String
  }

  package var method = "GET"
  package var url: String
  package var finalURL: String?
  package var endPoint: String?
  package var status: Int?
  package var version: String?
  package var error: String?
  package var message: String?
  package var attempts = 0
  package var bytes: Int?
  package var queued: Double?
  /// What it waited for in this time, and for how long.
  package var waited: [Wait] = []
  package var name: Double?
  package var connect: Double?
  package var tls: Double?
  package var firstByte: Double?
  package var total: Double?
  package var start: Double?
  /// All exchanges, even if there was only one.
  package var exchanges: [Exchange] = []
  package var pauses: [Pause] = []
  /// When it ended, in seconds since 1970.
  package var time: Double?

  /// Nil if the line is not the record of a URL.
  package init?(_ line: ArraySlice<UInt8>) {
    guard let value = try? JSONReader.read(Array(line)), let url = value["url"]?.string else { return nil }
    // A line of the results of headgate call has no times to show.
    guard value["outcome"] == nil else { return nil }
    self.url = url
    if let method = value["method"]?.string { self.method = method }
    finalURL = value["final_url"]?.string
    endPoint = value["end_point"]?.string
    status = value["status"]?.int
    version = value["http_version"]?.string
    error = value["error"]?.string
    message = value["message"]?.string
    attempts = value["attempts"]?.int ?? 0
    bytes = value["bytes"]?.int
    queued = value["queued"]?.seconds
    if case .object(let causes)? = value["waited"] {
      waited = causes.compactMap { cause in cause.value.seconds.map { Wait(cause: cause.name, seconds: $0) } }
    }
    name = value["dns"]?.seconds
    connect = value["connect"]?.seconds
    tls = value["tls"]?.seconds
    firstByte = value["first_byte"]?.seconds
    total = value["total"]?.seconds
    start = value["start"]?.seconds
    time = value["time"]?.string.flatMap(LogTime.seconds)
    exchanges = (value["exchanges"]?.array ?? []).compactMap(Exchange.init)
    if exchanges.isEmpty, let endPoint, let sent = value["sent"]?.seconds, let ran = value["ran"]?.seconds {
      exchanges = [
        Exchange(endPoint: endPoint, start: sent, end: sent + ran, status: status, limit: value["limit"]?.int)
      ]
    }
    pauses = (value["pauses"]?.array ?? []).compactMap(Pause.init)
  }
}

extension LogRecord {
  /// The record with all times of the run moved.
  func later(by seconds: Double) -> LogRecord {
    var record = self
    record.start = start.map { $0 + seconds }
    for index in exchanges.indices {
      record.exchanges[index].start += seconds
      record.exchanges[index].end += seconds
    }
    for index in pauses.indices {
      record.pauses[index].at += seconds
      record.pauses[index].until += seconds
    }
    return record
  }
}

extension LogRecord.Exchange {
  fileprivate init?(_ value: JSONValue) {
    guard let endPoint = value["end_point"]?.string, let start = value["start"]?.seconds,
      let end = value["end"]?.seconds
    else { return nil }
    self.init(
      endPoint: endPoint, start: start, end: max(start, end), status: value["status"]?.int, limit: value["limit"]?.int)
  }
}

extension LogRecord.Pause {
  fileprivate init?(_ value: JSONValue) {
    guard let endPoint = value["end_point"]?.string, let start = value["at"]?.seconds,
      let until = value["until"]?.seconds
    else { return nil }
    self.init(endPoint: endPoint, at: start, until: max(start, until), reason: value["reason"]?.string ?? "")
  }
}

extension JSONValue {
  /// A period that a run can have: from 0 to a century.
  fileprivate var seconds: Double? { number.flatMap { (0...3.2e9).contains($0) ? $0 : nil } }
}
