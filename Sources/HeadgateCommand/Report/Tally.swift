import HeadgateDispatch

/// What has become of the URLs up to now, and the exit status that follows from it.
struct Tally: Equatable, Sendable {
  /// URLs whose body is where it was wanted.
  private(set) var ok = 0
  /// URLs that were given up because the run was ended: neither right nor wrong.
  private(set) var skipped = 0
  /// Whether more were skipped than could be counted: those that nobody read from a pipe.
  private var hasUncounted = false
  /// URLs whose body was there before, and those that were left out as they were asked for already.
  private(set) var there = 0
  private(set) var passedOver = 0
  /// URLs that are in other parts of the list.
  private(set) var elsewhere = 0
  /// The bytes of the bodies of `ok`.
  private(set) var bytes = 0
  /// Of those that failed: never sent, since their host could not be reached, or paused for longer than they had time.
  private(set) var unreachable = 0
  private(set) var paused = 0
  private var failures: [FailureClass: Int] = [:]
  /// Faults of the run itself, which belong to no URL: the list, the log.
  private var faults: Set<FailureClass> = []
  /// SIGINT or SIGTERM came.
  var isInterrupted = false

  /// URLs and lines that failed.
  var failed: Int { failures.values.reduce(0, +) }

  /// URLs that ended, in whatever way.
  var done: Int { ok + failed + skipped + there + passedOver + elsewhere }

  mutating func succeed(bytes count: Int) {
    ok += 1
    bytes += count
  }

  mutating func fail(_ failure: FailureClass) { failures[failure, default: 0] += 1 }

  /// A URL failed that was given up while it waited for its host.
  mutating func noteGivenUp(_ code: DispatchError.Code) {
    if code == .unreachable { unreachable += 1 }
    if code == .pausedUntil { paused += 1 }
  }

  mutating func skip() { skipped += 1 }

  mutating func find() { there += 1 }

  mutating func passOver() { passedOver += 1 }

  mutating func leaveToOthers() { elsewhere += 1 }

  /// So many lines were never looked at; nil: an unknown number.
  mutating func skipUnread(_ count: Int?) {
    skipped += count ?? 0
    if count == nil { hasUncounted = true }
  }

  /// The list could not be read to its end, or the log not be written: no URL's failure, but the run is not well.
  mutating func note(_ fault: FailureClass) { faults.insert(fault) }

  var exitStatus: ExitStatus {
    if isInterrupted { return .interrupted }
    let classes = faults.union(failures.keys)
    guard let first = classes.first else { return .ok }
    return classes.count == 1 ? first.exitStatus : .mixed
  }

  /// The last line of a dry run.
  func planned(_ fetched: Int, there: Int, hosts: Int) -> String {
    var parts = ["would fetch \(fetched)", "failed \(failed)"]
    if there > 0 { parts.append("there \(there)") }
    if passedOver > 0 { parts.append("passed over \(passedOver)") }
    if elsewhere > 0 { parts.append("in other parts \(elsewhere)") }
    return (parts + ["hosts \(hosts)"]).joined(separator: "  ")
  }

  /// The last line: what became of the URLs, how much came, how long it took, and the most requests that one
  /// end-point had to bear at once.
  func summary(seconds: Double, peak: Int) -> String {
    var parts = ["ok \(ok)", "failed \(failed)"]
    if there > 0 { parts.append("there \(there)") }
    if passedOver > 0 { parts.append("passed over \(passedOver)") }
    if elsewhere > 0 { parts.append("in other parts \(elsewhere)") }
    if unreachable > 0 { parts.append("unreachable \(unreachable)") }
    if paused > 0 { parts.append("paused \(paused)") }
    if skipped > 0 || isInterrupted || hasUncounted { parts.append("skipped \(skipped)\(hasUncounted ? "+" : "")") }
    parts += ["bytes \(Amount.bytes(bytes))", Amount.seconds(seconds), "peak \(peak)/host"]
    return parts.joined(separator: "  ")
  }
}
