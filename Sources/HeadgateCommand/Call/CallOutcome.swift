/// How a row ended.
enum CallOutcome: String, Hashable, Sendable, CaseIterable {
  /// The server answered with a status of 2xx.
  case ok
  /// The server answered otherwise, or it did not answer and the row may be sent again.
  case failed
  /// It was sent once and may not be sent again, and no whole answer came: whether it was done is not known.
  case unknown
  /// It was never sent.
  case notSent = "not_sent"
}
