import HeadgateThreads

/// How long one request has waited and run, over all its exchanges. Rests, and the work of interceptors, are neither.
struct TimeAccount {
  enum Kind { case waiting, running, neither }

  private var kind = Kind.waiting
  private var since: Deadline
  private var waited: Int64 = 0
  private var ran: Int64 = 0
  // What of it no time-out counts.
  private var uncounted: Int64 = 0

  /// One that waits.
  init(since moment: Deadline) { since = moment }

  /// What the request does from now on.
  mutating func turn(to next: Kind, at now: Deadline) {
    (waited, ran) = (waited(at: now), ran(at: now))
    (kind, since) = (next, now)
  }

  /// Nanoseconds of waiting: for permits, sockets, and memory for the body.
  func waited(at now: Deadline) -> Int64 { kind == .waiting ? waited + now.nanoseconds(since: since) : waited }

  /// Nanoseconds under a permit.
  func ran(at now: Deadline) -> Int64 { kind == .running ? ran + now.nanoseconds(since: since) : ran }

  /// Nanoseconds under a permit since the time-out began.
  func counted(at now: Deadline) -> Int64 { ran(at: now) - uncounted }

  /// The time-out is over, and begins anew if another exchange follows.
  mutating func beginTimeoutAnew(at now: Deadline) { uncounted = ran(at: now) }
}
