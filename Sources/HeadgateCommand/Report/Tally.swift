import HeadgateDispatch

/// Counts the outcomes of URLs or rows, and derives the exit status from them.
struct Tally: Equatable, Sendable {
  /// What is counted besides successes, failures and what was skipped. The raw values are the words of the summary, in
  /// its order.
  enum Part: String, CaseIterable {
    /// Sent, but whether it took effect is unknown, and it must not be sent twice.
    case unknown
    /// Those of the successes whose body has the expected checksum.
    case verified
    /// Ended by an earlier run: complete, failed, or with an unknown outcome.
    case doneBefore = "done before"
    case failedBefore = "failed before"
    case unknownBefore = "unknown before"
    /// Left out, for example as a duplicate.
    case excluded
    /// In another shard of the list.
    case elsewhere = "in other parts"
    /// Those of the failures that were never sent, since their host was unreachable, or paused for longer than their
    /// time limit.
    case unreachable
    case paused
    /// Those of the failures whose host refuses requests.
    case refusing
  }

  /// URLs whose body has been delivered, and rows that were answered with a success.
  private(set) var ok = 0
  /// Given up because the run ended, which is neither a success nor a failure.
  private(set) var skipped = 0
  /// Whether more were skipped than could be counted, as in the unread part of a pipe.
  private var hasUncounted = false
  /// The number of body bytes.
  var bytes = 0
  private var parts: [Part: Int] = [:]
  private var failures: [FailureClass: Int] = [:]
  /// Faults of the run itself, for instance in the list or the log, and the classes of earlier failures.
  private var faults: Set<FailureClass> = []
  /// Whether SIGINT or SIGTERM was received.
  var isInterrupted = false

  subscript(part: Part) -> Int {
    get { parts[part] ?? 0 }
    set { parts[part] = newValue }
  }

  /// URLs, lines and rows that failed.
  var failed: Int { failures.values.reduce(0, +) }

  /// Those that failed, or may have.
  var unsuccessful: Int { failed + self[.unknown] }

  /// Those that were requested and have ended.
  var requested: Int { ok + unsuccessful }

  /// Those that ended, with any outcome.
  var done: Int {
    let others: [Part] = [.doneBefore, .failedBefore, .unknownBefore, .excluded, .elsewhere]
    return requested + skipped + others.reduce(0) { $0 + self[$1] }
  }

  mutating func succeed(bytes count: Int = 0) {
    ok += 1
    bytes += count
  }

  mutating func fail(_ failure: FailureClass) { failures[failure, default: 0] += 1 }

  /// Counts what was given up or never read. Nil stands for an unknown number.
  mutating func skip(_ count: Int? = 1) {
    skipped += count ?? 0
    if count == nil { hasUncounted = true }
  }

  /// Notes a fault of the run, such as a list that can't be read or a log that can't be written.
  mutating func note(_ fault: FailureClass) { faults.insert(fault) }

  var exitStatus: ExitStatus {
    if isInterrupted { return .interrupted }
    // What a person must check takes precedence over what can be sent again.
    if self[.unknown] + self[.unknownBefore] > 0 { return .unknownOutcome }
    var classes = faults.union(failures.keys)
    // What another run may fetch says less than what it can't.
    if classes.count > 1 { classes.remove(.refusing) }
    guard let first = classes.first else { return .ok }
    return classes.count == 1 ? first.exitStatus : .mixed
  }

  /// The summary line of a dry run.
  ///
  /// - Parameter verb: What would be done.
  func planned(_ count: Int, hosts: Int, verb: String = "fetch") -> String {
    (["would \(verb) \(count)", "failed \(failed)"] + shownParts + ["hosts \(hosts)"]).joined(separator: "  ")
  }

  /// The summary line: the outcomes, the refusals, the bytes received, the duration, and the peak of concurrent requests
  /// at an end-point.
  func summary(seconds: Double, peak: Int, refusals: Refusals = Refusals()) -> String {
    var parts = ["ok \(ok)", "failed \(failed)"] + shownParts
    if skipped > 0 || isInterrupted || hasUncounted { parts.append("skipped \(skipped)\(hasUncounted ? "+" : "")") }
    if let refusals = refusals.words { parts.append(refusals) }
    parts += ["bytes \(Amount.bytes(bytes))", Amount.seconds(seconds), "peak \(peak)/host"]
    return parts.joined(separator: "  ")
  }

  private var shownParts: [String] {
    Part.allCases.filter { self[$0] > 0 }.map { "\($0.rawValue) \(self[$0])" }
  }
}
