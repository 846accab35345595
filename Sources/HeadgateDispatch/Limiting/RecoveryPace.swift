import HeadgateThreads

/// The distance that starts keep at an end-point which was refused again after a pause: it counts what comes, and to meet its
/// limit anew after each pause is to be refused anew. A value with no clock.
///
/// What such a server took between two refusals, spread over the time between them, it takes at any time: an allowance that is
/// filled again, a window that slides and one that begins anew all let through no more in the time than they did there. A
/// distance that is kept for as long as the pause (a second at least, ten at most) and not refused becomes shorter by a fifth.
/// One that is refused is doubled.
struct RecoveryPace: Sendable {
  /// Nanoseconds from one start to the next; 0: none.
  private(set) var distance: Int64 = 0

  private var last = Deadline.distantPast
  // The last refusal, and when its pause was over.
  private var refusal: Deadline?
  private var began = Deadline.distantPast
  private var accepted = 0
  // How long a distance is tried, and since when this one is.
  private var trial: Int64 = 0
  private var since = Deadline.distantPast

  /// What is shorter than that is no distance.
  static let shortest: Int64 = 1_000_000
  /// No distance is longer: a year.
  static let longest: Int64 = 365 * 86_400_000_000_000
  /// What was taken is of that time together with the pause at most: an end-point that was asked little since counts anew.
  static let longestTrial: Int64 = 60_000_000_000

  /// Nothing starts before it.
  var earliest: Deadline { distance == 0 ? .distantPast : last.advanced(byNanoseconds: distance) }

  mutating func started(at now: Deadline) { last = max(last, now) }

  /// Nothing is known of its refusals any more.
  mutating func forget() { (distance, refusal, accepted) = (0, nil, 0) }

  /// A request was answered and not refused.
  mutating func accepted(startedAt start: Deadline) {
    guard refusal != nil else { return }
    accepted += 1
    guard distance > 0, start >= since.advanced(byNanoseconds: trial) else { return }
    distance -= distance / 5
    since = start
    if distance < Self.shortest { distance = 0 }
  }

  /// The end-point pauses.
  mutating func refused(at now: Deadline, pausesFor length: Int64) {
    // A probe that is refused says that the pause was too short, and nothing of the distance.
    if distance > 0, accepted > 0 {
      distance = min(distance, Self.longest / 2) * 2
    } else if let refusal, distance == 0, accepted > 0, now <= began.advanced(byNanoseconds: Self.longestTrial) {
      distance = (now - refusal).wholeNanoseconds / Int64(accepted)
      if distance < Self.shortest { distance = 0 }
    }
    // The time before such a probe counts on.
    if accepted > 0 || refusal == nil { refusal = now }
    accepted = 0
    began = now.advanced(byNanoseconds: length)
    since = began
    trial = min(max(length, 1_000_000_000), 10_000_000_000)
  }
}
