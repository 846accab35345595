/// One URL as the page shows it. Times are in seconds from the beginning of the run.
struct RunRow: Equatable, Sendable {
  enum Outcome: Int, Sendable {
    case ok, failed, skipped
    /// Its body existed already, so nothing was requested.
    case there
  }

  var url: String
  /// The index of its end-point in the run; -1 if it was never sent.
  var endPoint: Int
  var outcome: Outcome
  var status: Int
  var attempts: Int
  var bytes: Int
  /// The submission, the last start, the first byte of the response, and the end.
  var start: Double
  var sent: Double
  var answered: Double
  var end: Double
  var error: String?
  var message: String?
}

extension RunRow.Outcome {
  init(_ record: LogRecord) {
    switch record.error {
    case "cancelled", "shut_down": self = .skipped
    case .some: self = .failed
    case nil: self = record.attempts == 0 && record.status == nil ? .there : .ok
    }
  }
}
