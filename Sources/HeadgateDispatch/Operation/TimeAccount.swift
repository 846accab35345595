import HeadgateGate
import HeadgateThreads

/// The waiting and running time of one request, over all its exchanges. Backoffs and the work of interceptors count as
/// neither.
struct TimeAccount {
  enum Kind { case waiting, running, neither }

  private(set) var kind = Kind.waiting
  /// Why it waits. Nil at the gate, which tells it afterwards.
  private var cause: WaitReason.Kind?
  private var since: Deadline
  private var waited: Int64 = 0
  private var ran: Int64 = 0
  // The part of the running time that the timeout does not count.
  private var uncounted: Int64 = 0
  /// The causes of the waits that are over.
  private(set) var told = WaitTimes()

  /// Creates the account of a waiting request.
  init(since moment: Deadline) { since = moment }

  /// Records what the request does from `now` on, and why it waits, if it waits for something else than the gate.
  mutating func turn(to next: Kind, because reason: WaitReason.Kind? = nil, at now: Deadline) {
    if let cause { told.add(now.nanoseconds(since: since), to: cause) }
    (waited, ran) = (waited(at: now), ran(at: now))
    (kind, since, cause) = (next, now, reason)
  }

  /// The gate has told of a wait.
  mutating func add(_ times: WaitTimes) { told += times }

  /// Nanoseconds of waiting: for permits, sockets, and memory for the body.
  func waited(at now: Deadline) -> Int64 { kind == .waiting ? waited + now.nanoseconds(since: since) : waited }

  /// The causes of this time. What the gate has not told, such as the time until a busy thread delivers a permit, counts
  /// as waiting for a turn; less than a millisecond of it is left out.
  func causes(at now: Deadline) -> WaitTimes {
    let all = waited(at: now)
    guard all > 0 else { return told }
    var causes = told
    if let cause { causes.add(now.nanoseconds(since: since), to: cause) }
    let untold = all - causes.totalNanoseconds
    if untold >= 1_000_000 { causes.add(untold, to: .turn) }
    return causes
  }

  /// Nanoseconds under a permit.
  func ran(at now: Deadline) -> Int64 { kind == .running ? ran + now.nanoseconds(since: since) : ran }

  /// Nanoseconds under a permit since the timeout began.
  func counted(at now: Deadline) -> Int64 { ran(at: now) - uncounted }

  /// The timeout has ended, and starts again if another exchange follows.
  mutating func beginTimeoutAnew(at now: Deadline) { uncounted = ran(at: now) }
}
