import HeadgateDispatch

/// Counts the outcomes of URLs, and derives the exit status from them.
struct Tally: Equatable, Sendable {
  /// URLs whose body has been delivered.
  private(set) var ok = 0
  /// URLs that were given up because the run ended. They count neither as a success nor as a failure.
  private(set) var skipped = 0
  /// Whether more were skipped than could be counted, as in the unread part of a pipe.
  private var hasUncounted = false
  /// URLs whose body was complete before the run, and URLs that were excluded, for example duplicates.
  private(set) var doneBefore = 0
  private(set) var excluded = 0
  /// Those URLs in `ok` whose body has the expected checksum.
  private(set) var verified = 0
  /// URLs in other shards of the list.
  private(set) var elsewhere = 0
  /// The number of body bytes of the successful URLs.
  private(set) var bytes = 0
  /// Failed URLs that were never sent, since their host was unreachable, or paused for longer than their time limit.
  private(set) var unreachable = 0
  private(set) var paused = 0
  private var failures: [FailureClass: Int] = [:]
  /// Faults of the run itself rather than of a URL, for instance in the list or the log.
  private var faults: Set<FailureClass> = []
  /// Whether SIGINT or SIGTERM was received.
  var isInterrupted = false

  /// URLs and lines that failed.
  var failed: Int { failures.values.reduce(0, +) }

  /// URLs that ended, with any outcome.
  var done: Int { ok + failed + skipped + doneBefore + excluded + elsewhere }

  mutating func succeed(bytes count: Int, isVerified: Bool = false) {
    ok += 1
    if isVerified { verified += 1 }
    bytes += count
  }

  mutating func fail(_ failure: FailureClass) { failures[failure, default: 0] += 1 }

  /// Counts a failed URL that was given up while it waited for its host.
  mutating func noteGivenUp(_ code: DispatchError.Code) {
    if code == .unreachable { unreachable += 1 }
    if code == .pausedUntil { paused += 1 }
  }

  mutating func skip() { skipped += 1 }

  mutating func find() { doneBefore += 1 }

  mutating func exclude() { excluded += 1 }

  mutating func leaveToOthers() { elsewhere += 1 }

  /// Counts lines that were never read. Nil stands for an unknown number.
  mutating func skipUnread(_ count: Int?) {
    skipped += count ?? 0
    if count == nil { hasUncounted = true }
  }

  /// Notes a fault of the run, such as a list that can't be read or a log that can't be written.
  mutating func note(_ fault: FailureClass) { faults.insert(fault) }

  var exitStatus: ExitStatus {
    if isInterrupted { return .interrupted }
    let classes = faults.union(failures.keys)
    guard let first = classes.first else { return .ok }
    return classes.count == 1 ? first.exitStatus : .mixed
  }

  /// The summary line of a dry run.
  func planned(_ fetched: Int, doneBefore: Int, hosts: Int) -> String {
    var parts = ["would fetch \(fetched)", "failed \(failed)"]
    if doneBefore > 0 { parts.append("done before \(doneBefore)") }
    if excluded > 0 { parts.append("excluded \(excluded)") }
    if elsewhere > 0 { parts.append("in other parts \(elsewhere)") }
    return (parts + ["hosts \(hosts)"]).joined(separator: "  ")
  }

  /// The summary line: the outcomes, the bytes received, the duration, and the peak of concurrent requests at an
  /// end-point.
  func summary(seconds: Double, peak: Int) -> String {
    var parts = ["ok \(ok)", "failed \(failed)"]
    if verified > 0 { parts.append("verified \(verified)") }
    if doneBefore > 0 { parts.append("done before \(doneBefore)") }
    if excluded > 0 { parts.append("excluded \(excluded)") }
    if elsewhere > 0 { parts.append("in other parts \(elsewhere)") }
    if unreachable > 0 { parts.append("unreachable \(unreachable)") }
    if paused > 0 { parts.append("paused \(paused)") }
    if skipped > 0 || isInterrupted || hasUncounted { parts.append("skipped \(skipped)\(hasUncounted ? "+" : "")") }
    parts += ["bytes \(Amount.bytes(bytes))", Amount.seconds(seconds), "peak \(peak)/host"]
    return parts.joined(separator: "  ")
  }
}
