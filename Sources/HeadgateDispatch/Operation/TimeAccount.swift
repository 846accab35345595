import HeadgateThreads

/// The waiting and running time of one request, over all its exchanges. Backoffs and the work of interceptors count as
/// neither.
struct TimeAccount {
  enum Kind { case waiting, running, neither }

  private(set) var kind = Kind.waiting
  private var since: Deadline
  private var waited: Int64 = 0
  private var ran: Int64 = 0
  // The part of the running time that the timeout does not count.
  private var uncounted: Int64 = 0

  /// Creates the account of a waiting request.
  init(since moment: Deadline) { since = moment }

  /// Records what the request does from `now` on.
  mutating func turn(to next: Kind, at now: Deadline) {
    (waited, ran) = (waited(at: now), ran(at: now))
    (kind, since) = (next, now)
  }

  /// Nanoseconds of waiting: for permits, sockets, and memory for the body.
  func waited(at now: Deadline) -> Int64 { kind == .waiting ? waited + now.nanoseconds(since: since) : waited }

  /// Nanoseconds under a permit.
  func ran(at now: Deadline) -> Int64 { kind == .running ? ran + now.nanoseconds(since: since) : ran }

  /// Nanoseconds under a permit since the timeout began.
  func counted(at now: Deadline) -> Int64 { ran(at: now) - uncounted }

  /// The timeout has ended, and starts again if another exchange follows.
  mutating func beginTimeoutAnew(at now: Deadline) { uncounted = ran(at: now) }
}
