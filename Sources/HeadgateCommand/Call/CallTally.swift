import HeadgateDispatch

/// The outcomes of the rows so far, and the resulting exit status.
struct CallTally: Equatable, Sendable {
  private(set) var ok = 0
  /// Rows that failed or were not sent.
  private(set) var failed = 0
  private(set) var unknown = 0
  /// Rows with a result from an earlier run: successful, failed, or with an unknown outcome.
  private(set) var doneBefore = 0
  private(set) var before = 0
  private(set) var unknownBefore = 0
  /// Rows that were not processed, or were given up because the run was ended.
  private(set) var skipped = 0
  private var hasUncounted = false
  /// The bytes of response bodies.
  private(set) var bytes = 0
  private(set) var failures: Set<FailureClass> = []
  private var hasUnknown = false
  /// SIGINT or SIGTERM was received.
  var isInterrupted = false

  /// Rows that have ended in any way.
  var done: Int { ok + failed + unknown + doneBefore + before + unknownBefore + skipped }

  /// A row has its result.
  mutating func end(_ outcome: CallOutcome, error: String?, bytes count: Int) {
    bytes += count
    switch outcome {
    case .ok: ok += 1
    case .failed, .notSent: failed += 1
    case .unknown: unknown += 1
    }
    note(outcome, error)
  }

  mutating func find() { doneBefore += 1 }

  /// A row has an unsuccessful result from an earlier run, so the run as a whole is not successful either.
  mutating func find(_ outcome: CallOutcome, error: String?) {
    if outcome == .unknown { unknownBefore += 1 } else { before += 1 }
    note(outcome, error)
  }

  private mutating func note(_ outcome: CallOutcome, _ error: String?) {
    switch outcome {
    case .ok: break
    case .unknown: hasUnknown = true
    case .failed, .notSent: failures.insert(FailureClass(word: error))
    }
  }

  /// An error occurred that does not concern a row.
  mutating func note(_ failure: FailureClass) { failures.insert(failure) }

  /// Rows were given up or not processed. Nil for an unknown number.
  mutating func skip(_ count: Int? = 1) {
    skipped += count ?? 0
    if count == nil { hasUncounted = true }
  }

  var exitStatus: ExitStatus {
    if isInterrupted { return .interrupted }
    // Outcomes that a person must check take precedence over rows that can be sent again.
    if hasUnknown { return .unknownOutcome }
    guard let first = failures.first else { return .ok }
    return failures.count == 1 ? first.exitStatus : .mixed
  }

  /// The last line.
  func summary(seconds: Double, peak: Int) -> String {
    var parts = ["ok \(ok)", "failed \(failed)"]
    if unknown > 0 { parts.append("unknown \(unknown)") }
    if doneBefore > 0 { parts.append("done before \(doneBefore)") }
    if before > 0 { parts.append("failed before \(before)") }
    if unknownBefore > 0 { parts.append("unknown before \(unknownBefore)") }
    if skipped > 0 || isInterrupted || hasUncounted { parts.append("skipped \(skipped)\(hasUncounted ? "+" : "")") }
    parts += ["bytes \(Amount.bytes(bytes))", Amount.seconds(seconds), "peak \(peak)/host"]
    return parts.joined(separator: "  ")
  }
}

extension ExitStatus {
  /// Rows were sent, but their outcome is unknown.
  static let unknownOutcome = ExitStatus(rawValue: 9)
}

extension FailureClass {
  /// The class of an error code in a result.
  init(word: String?) {
    let words: [FailureClass: [String]] = [
      .http: ["http_error"],
      .usage: ["missing_field", "invalid_row", "invalid_url", DispatchError.Code.tooHeavy.description],
      .tls: [DispatchError.Code.tlsFailed.description],
      .time: [.timedOut, .deadlineExceeded, .connectTimedOut, .idleTimedOut, .pausedUntil]
        .map { (code: DispatchError.Code) in code.description },
    ]
    self = words.first { $0.value.contains(word ?? "") }?.key ?? .network
  }
}
