import HeadgateDispatch

/// How far a run is.
struct ProgressState: Equatable, Sendable {
  /// An end-point where something runs or waits.
  struct Row: Equatable, Sendable {
    /// Harmless to a terminal.
    var name: String
    var running = 0
    var limit = 0
    var waiting = 0
    /// What its next request waits for.
    var reason: String?
    /// Nothing starts there for a while.
    var isPaused = false
  }

  var done = 0
  /// How many there are in all; nil while that is not known.
  var total: Int?
  var running = 0
  var queued = 0
  var failed = 0
  var bytes = 0
  var seconds = 0.0
  /// URLs that end in a second; nil while too few have ended.
  var rate: Double?
  var rows: [Row] = []

  /// What is left at this rate, in seconds.
  var left: Double? {
    guard let total, let rate, rate > 0, total > done else { return nil }
    return Double(total - done) / rate
  }

  var paused: [Row] { rows.filter(\.isPaused) }
}

extension ProgressState.Row {
  init(_ entry: GateSnapshot.Entry) {
    name = ShownText.of(entry.endPoint.description)
    running = entry.running
    limit = min(entry.limits.requests, entry.learnedRequests ?? .max)
    waiting = entry.waiting
    let text = entry.waitReason.map { ShownText.of($0.description) }
    // Its own limit is in the row already.
    reason = entry.waitReason?.kind == .limit && entry.learnedRequests == nil ? nil : text
    isPaused = entry.isPaused || entry.waitReason.map { [.paused, .unreachable, .stopped].contains($0.kind) } ?? false
  }
}
