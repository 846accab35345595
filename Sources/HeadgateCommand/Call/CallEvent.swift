/// What a journal of `headgate call` tells, one a line.
enum CallEvent: Hashable, Sendable {
  /// A run began: the session's random word, and what the options make of rows, as a digest.
  case began(run: String, requests: String)
  /// A row that may not be sent twice is about to be sent. So many results of it are there already.
  case sending(RowKey, results: Int)
  /// It was not sent after all.
  case unsent(RowKey)
}

extension CallEvent {
  /// The first line of every journal.
  static let header = "headgate-calls 1"

  /// The event as a line, with the line feed.
  var line: String {
    switch self {
    case .began(let run, let requests): JournalLine.text(["began", run, requests])
    case .sending(let key, let results): JournalLine.text(["sending", "\(key)", "\(results)"])
    case .unsent(let key): JournalLine.text(["unsent", "\(key)"])
    }
  }

  /// Reads a line without its line feed; nil for one that is torn, or that another version wrote.
  init?(_ line: ArraySlice<UInt8>) {
    guard let fields = JournalLine.fields(line) else { return nil }
    switch (fields.first, fields.count) {
    case ("began", 3): self = .began(run: fields[1], requests: fields[2])
    case ("sending", 3):
      guard let key = RowKey(fields[1]), let results = Int(fields[2]), results >= 0 else { return nil }
      self = .sending(key, results: results)
    case ("unsent", 2):
      guard let key = RowKey(fields[1]) else { return nil }
      self = .unsent(key)
    default: return nil
    }
  }
}
