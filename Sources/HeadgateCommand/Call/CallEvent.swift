import HeadgateDispatch

/// The events in the journal of `headgate call`, one per line.
enum CallEvent: Hashable, Sendable {
  /// A run began, with the session's random word, and a digest of the options that determine the requests.
  case began(run: String, requests: String)
  /// A row that must not be sent twice is about to be sent. `results` is the number of its existing results.
  case sending(RowKey, results: Int)
  /// The row was not sent after all.
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

  /// Parses a line without its line feed. Nil if it is truncated, or written by another version.
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
