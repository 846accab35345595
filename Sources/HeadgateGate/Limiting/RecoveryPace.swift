import HeadgateThreads

/// The interval between starts at an end-point that refused again after a pause. Such a server counts requests, so
/// reaching its limit again after each pause would only cause another refusal. A value without a clock.
///
/// The number of requests accepted between two refusals, spread over the time between them, gives a rate that is
/// accepted at any time: a token bucket, a sliding window and a fixed window all allow at least that rate. An interval
/// that is kept for as long as the pause (at least one second, at most ten) without a refusal is shortened by a fifth.
/// A refused interval is doubled.
struct RecoveryPace: Sendable {
  /// The nanoseconds between starts; 0 for no interval.
  private(set) var interval: Int64 = 0

  private var last = Deadline.distantPast
  // The last refusal, and the end of its pause.
  private var refusal: Deadline?
  private var began = Deadline.distantPast
  private var accepted = 0
  // How long an interval is tried, and the start of the current try.
  private var trial: Int64 = 0
  private var since = Deadline.distantPast

  /// A shorter interval counts as none.
  static let shortest: Int64 = 1_000_000
  /// The longest interval: one year.
  static let longest: Int64 = 365 * 86_400_000_000_000
  /// An interval is derived only if the next refusal comes within this time after the pause. A server that was sent few
  /// requests in between has begun to count anew.
  static let longestTrial: Int64 = 60_000_000_000

  /// The time from which further acceptances change nothing. `distantFuture` if they must come first.
  var calmFrom: Deadline {
    guard refusal != nil else { return interval == 0 ? .distantPast : .distantFuture }
    guard interval == 0, accepted > 0 else { return .distantFuture }
    return began.advanced(byNanoseconds: Self.longestTrial + 1)
  }

  /// Nothing starts before this time.
  var earliest: Deadline { interval == 0 ? .distantPast : last.advanced(byNanoseconds: interval) }

  mutating func started(at now: Deadline) { last = max(last, now) }

  /// Forgets all refusals.
  mutating func forget() { (interval, refusal, accepted) = (0, nil, 0) }

  /// A request got a response that is not a refusal.
  mutating func accepted(startedAt start: Deadline) {
    guard refusal != nil else { return }
    accepted += 1
    guard interval > 0, start >= since.advanced(byNanoseconds: trial) else { return }
    interval -= interval / 5
    since = start
    if interval < Self.shortest { interval = 0 }
  }

  /// The end-point pauses.
  mutating func refused(at now: Deadline, pausesFor length: Int64) {
    // A refused probe shows that the pause was too short, and says nothing about the interval.
    if interval > 0, accepted > 0 {
      interval = min(interval, Self.longest / 2) * 2
    } else if let refusal, interval == 0, accepted > 0, now <= began.advanced(byNanoseconds: Self.longestTrial) {
      interval = (now - refusal).wholeNanoseconds / Int64(accepted)
      if interval < Self.shortest { interval = 0 }
    }
    // The time before a refused probe still counts.
    if accepted > 0 || refusal == nil { refusal = now }
    accepted = 0
    began = now.advanced(byNanoseconds: length)
    since = began
    trial = min(max(length, 1_000_000_000), 10_000_000_000)
  }
}
