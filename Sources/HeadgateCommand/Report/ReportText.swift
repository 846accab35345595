import HeadgateReport

/// The messages about a page or an archive that has been written.
enum ReportText {
  static func page(_ path: String, _ log: RunLog) -> String {
    var parts = ["the report is in \(path)"]
    if log.leftOut > 0 {
      parts.append("it has the first \(log.records.count) records; \(log.leftOut) more are omitted")
    }
    if log.strangeLines > 0 { parts.append("\(lines(log.strangeLines))") }
    return parts.joined(separator: "; ")
  }

  static func archive(_ path: String, _ log: RunLog) -> String {
    guard let restriction = HARFile.restriction(of: log) else { return "the archive is in \(path)" }
    return "the archive is in \(path); it has \(restriction), since programs load the whole file"
  }

  private static func lines(_ count: Int) -> String {
    count == 1 ? "1 line is not a record of a URL" : "\(count) lines are not records of URLs"
  }
}
