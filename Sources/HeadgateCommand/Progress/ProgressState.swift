import HeadgateDispatch

/// The progress of a run.
struct ProgressState: Equatable, Sendable {
  /// An end-point with running or waiting requests.
  struct Row: Equatable, Sendable {
    /// In a form that is safe for a terminal.
    var name: String
    var running = 0
    var limit = 0
    var waiting = 0
    /// What its next request waits for.
    var reason: String?
    /// Whether no request starts there for now.
    var isPaused = false
  }

  var done = 0
  /// The total number of URLs. Nil while it is unknown.
  var total: Int?
  var running = 0
  var queued = 0
  var failed = 0
  var bytes = 0
  var seconds = 0.0
  /// URLs that end per second. Nil while it can't be known.
  var rate: Double?
  var rows: [Row] = []

  /// The time left at this rate, in seconds.
  var left: Double? {
    guard let total, let rate, rate > 0, total > done else { return nil }
    return Double(total - done) / rate
  }

  var paused: [Row] { rows.filter(\.isPaused) }
}

extension ProgressState.Row {
  init(_ entry: GateSnapshot.Entry) {
    name = ShownText.of(entry.endPoint.description)
    running = entry.running - entry.waitingShared
    limit = min(entry.limits.requests, entry.learnedRequests ?? .max)
    waiting = entry.waiting + entry.waitingShared
    let text = entry.waitReason.map { ShownText.of($0.description) }
    // The row already shows the limit.
    let shown = entry.waitReason?.kind == .limit && entry.learnedRequests == nil ? nil : text
    reason = entry.waitingShared > 0 ? shown ?? "\(entry.waitingShared) wait for shared permits" : shown
    isPaused = entry.isStopped || entry.waitReason.map { [.paused, .unreachable, .stopped].contains($0.kind) } ?? false
  }
}
