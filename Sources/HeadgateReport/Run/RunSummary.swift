/// A summary of a run from its log: the rows in the order in which they were sent, and the course of each end-point.
package struct RunSummary: Sendable {
  let rows: [RunRow]
  /// Sorted by the number of exchanges, the highest first.
  let endPoints: [EndPointCourse]
  /// What all requests waited for, the longest first. Empty if the log does not say.
  let waited: [LogRecord.Wait]
  /// The length of the run in seconds, up to the end of the last URL or exchange.
  let length: Double
  /// The beginning, in seconds since 1970. Nil if the log contains no times.
  let began: Double?
  let leftOut: Int
  let strangeLines: Int

  package var count: Int { rows.count }

  func count(_ outcome: RunRow.Outcome) -> Int { rows.count { $0.outcome == outcome } }

  var bytes: Int { rows.reduce(0) { $0 &+ ($1.outcome == .ok ? $1.bytes : 0) } }

  /// O(n log n).
  package init(_ log: RunLog) {
    let records = Self.joined(log.records)
    let began = Self.beginning(records)
    var rows: [RunRow] = []
    rows.reserveCapacity(records.count)
    var courses: [EndPointCourse.Collector] = []
    var places: [String: Int] = [:]
    func place(_ name: String) -> Int {
      if let place = places[name] { return place }
      places[name] = courses.count
      courses.append(EndPointCourse.Collector(name))
      return courses.count - 1
    }
    for record in records {
      let row = Self.row(record, began) { place($0) }
      rows.append(row)
      for pause in record.pauses { courses[place(pause.endPoint)].pauses.append(pause) }
      guard row.endPoint >= 0 || !record.exchanges.isEmpty else { continue }
      // After an exchange it waited for a permit of the next end-point, or rested between attempts.
      var free = row.start
      for exchange in record.exchanges {
        let place = place(exchange.endPoint)
        courses[place].waits.append((free, exchange.start))
        courses[place].exchanges.append(exchange)
        free = exchange.end
      }
      if record.exchanges.isEmpty {
        // A log of an earlier version, or a request that was never sent.
        courses[row.endPoint].waits.append((row.start, row.sent))
        if record.attempts > 0 {
          courses[row.endPoint].exchanges.append(
            LogRecord.Exchange(
              endPoint: record.endPoint ?? "", start: row.sent, end: row.end, status: record.status, limit: nil))
        }
      } else if row.end > free, record.error != nil {
        courses[row.endPoint].waits.append((free, row.end))
      }
      courses[row.endPoint].add(row)
    }
    let length = max(
      rows.map(\.end).max() ?? 0, courses.compactMap { $0.exchanges.map(\.end).max() }.max() ?? 0)
    let order = courses.indices.sorted {
      (courses[$0].exchanges.count, courses[$1].name) > (courses[$1].exchanges.count, courses[$0].name)
    }
    var ranks = [Int](repeating: 0, count: courses.count)
    for (rank, place) in order.enumerated() { ranks[place] = rank }
    for index in rows.indices where rows[index].endPoint >= 0 { rows[index].endPoint = ranks[rows[index].endPoint] }
    rows.sort { ($0.sent, $0.end, $0.url) < ($1.sent, $1.end, $1.url) }
    self.rows = rows
    endPoints = order.enumerated().map { rank, place in
      // One request is a row of the table: a chart of it says no more.
      let hasChart = rank == 0 || (rank < EndPointCourse.mostCharts && courses[place].exchanges.count > 1)
      let steps = hasChart ? EndPointCourse.steps : 1
      return EndPointCourse(courses[place], length: length, steps: steps)
    }
    self.length = length
    self.began = began
    waited = Self.waits(of: records)
    leftOut = log.leftOut
    strangeLines = log.strangeLines
  }

  /// As many causes as the page shows. A log has fewer, unless another program has written it.
  private static let mostCauses = 16

  private static func waits(of records: [LogRecord]) -> [LogRecord.Wait] {
    var sums: [String: Double] = [:]
    for wait in records.lazy.flatMap(\.waited) { sums[wait.cause, default: 0] += wait.seconds }
    let all = sums.map { LogRecord.Wait(cause: $0.key, seconds: $0.value) }.filter { $0.seconds > 0 }
    return Array(all.sorted { ($0.seconds, $1.cause) > ($1.seconds, $0.cause) }.prefix(mostCauses))
  }

  /// The beginning of the run: each record contains its end by wall-clock time and by the time of the run.
  private static func beginning(_ records: [LogRecord]) -> Double? { records.compactMap(beginning).min() }

  private static func beginning(_ record: LogRecord) -> Double? {
    // Waits between two attempts are not a part of `total`.
    record.time.map { $0 - max((record.start ?? 0) + (record.total ?? 0), record.exchanges.last?.end ?? 0) }
  }

  /// The records with the times of one run. The log of a session has several runs, one after another, and the times of
  /// each count from its own beginning. A run has begun where that of all records to come is after the end of all before.
  private static func joined(_ records: [LogRecord]) -> [LogRecord] {
    var earliest = [Double](repeating: .infinity, count: records.count)
    var least = Double.infinity
    for index in records.indices.reversed() {
      if records[index].start != nil, let began = beginning(records[index]) { least = min(least, began) }
      earliest[index] = least
    }
    var (joined, latest, shift) = (records, Double?.none, 0.0)
    for (index, record) in records.enumerated() {
      if let latest, earliest[index] > latest, earliest[index] < .infinity {
        shift = max(0, earliest[index] - earliest[0])
      }
      if record.start != nil, let time = record.time { latest = max(latest ?? time, time) }
      // The log of a single run is not copied.
      if shift > 0 { joined[index] = record.later(by: shift) }
    }
    return joined
  }

  private static func row(_ record: LogRecord, _ began: Double?, _ place: (String) -> Int) -> RunRow {
    let last = record.exchanges.last
    // Records of earlier versions contain only the time of the end.
    let start: Double =
      if let start = record.start {
        start
      } else if let began, let time = record.time {
        max(0, time - (record.total ?? 0) - began)
      } else {
        0
      }
    let end = max(record.total.map { start + $0 } ?? start, last?.end ?? start)
    let sent =
      last?.start ?? (record.attempts > 0 ? min(end, start + (record.queued ?? 0)) : end)
    // Without a response, all of the time was waiting for one.
    let answered = record.firstByte.map { min(end, sent + $0) } ?? (record.status == nil ? end : sent)
    return RunRow(
      url: record.url, endPoint: (record.endPoint ?? last?.endPoint).map(place) ?? -1,
      outcome: RunRow.Outcome(record), status: record.status ?? 0, attempts: record.attempts,
      bytes: record.bytes ?? 0, start: min(start, sent), sent: sent,
      answered: answered, end: end, error: record.error, message: record.message)
  }
}
