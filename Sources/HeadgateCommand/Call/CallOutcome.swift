/// The outcome of a row.
enum CallOutcome: String, Hashable, Sendable, CaseIterable {
  /// The server answered with status 2xx.
  case ok
  /// The server answered with another status, or did not answer and the row may be sent again.
  case failed
  /// It was sent once, must not be sent again, and no complete response arrived. Whether it took effect is unknown.
  case unknown
  /// It was never sent.
  case notSent = "not_sent"
}
