/// One URL as the page shows it. Times are seconds from the beginning of the run.
struct RunRow: Equatable, Sendable {
  enum Outcome: Int, Sendable {
    case ok, failed, skipped
    /// Its body was there before; nothing was asked.
    case there
  }

  var url: String
  /// An index into the run's end-points; -1: it was never sent anywhere.
  var endPoint: Int
  var outcome: Outcome
  var status: Int
  var attempts: Int
  var bytes: Int
  /// When it was submitted, when it was sent last, when the first byte of the answer came, and when it ended.
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
