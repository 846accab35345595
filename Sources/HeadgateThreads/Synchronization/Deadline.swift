import CHeadgate

/// A point in monotonic time, in nanoseconds since an unspecified start. Every wait in Headgate takes one as its limit,
/// and it is the instant of Headgate's clocks (``TimerService``).
///
/// Arithmetic saturates and never wraps. The upper end is ``distantFuture``, which no wait reaches; the lower end is
/// ``distantPast``. Changes of the wall clock have no effect. The clock is `CLOCK_MONOTONIC` on Linux and
/// `CLOCK_UPTIME_RAW` on Apple's systems, so time that the machine spends asleep does not count.
public struct Deadline: InstantProtocol, CustomStringConvertible {
  /// Nanoseconds since the clock's start. `UInt64.max` means never.
  public let nanoseconds: UInt64

  /// Creates a deadline from a reading of the monotonic clock, in nanoseconds.
  public init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  /// The current reading of the clock.
  public static var now: Deadline { Deadline(nanoseconds: headgate_now()) }

  /// Later than every moment: a wait with this deadline has no limit.
  public static var distantFuture: Deadline { Deadline(nanoseconds: .max) }

  /// Earlier than every moment: a wait with this deadline never sleeps. It succeeds at once or times out.
  public static var distantPast: Deadline { Deadline(nanoseconds: 0) }

  /// The moment `duration` from now. A duration of zero or less gives a deadline that has passed.
  public static func after(_ duration: Duration) -> Deadline { .now + duration }

  /// Whether `left` is earlier than `right`.
  public static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The reading in seconds, such as `1070.5 s`. `distantFuture` and `distantPast` have these names.
  public var description: String {
    switch self {
    case .distantFuture: "distantFuture"
    case .distantPast: "distantPast"
    default: "\(Deadline.distantPast.duration(to: self).inSeconds) s"
    }
  }

  /// The nanoseconds from `earlier` to this moment, negative if `earlier` is in fact later. Saturates. Cheaper than a
  /// `Duration`.
  package func nanoseconds(since earlier: Deadline) -> Int64 {
    self >= earlier
      ? Int64(clamping: nanoseconds - earlier.nanoseconds) : -Int64(clamping: earlier.nanoseconds - nanoseconds)
  }

  /// The moment `distance` nanoseconds later, or earlier for a negative number. Saturates at both ends.
  package func advanced(byNanoseconds distance: Int64) -> Deadline {
    guard self != .distantFuture else { return self }
    let (sum, overflow) =
      distance >= 0
      ? nanoseconds.addingReportingOverflow(UInt64(distance))
      : nanoseconds.subtractingReportingOverflow(distance.magnitude)
    guard overflow else { return Deadline(nanoseconds: sum) }
    return distance >= 0 ? .distantFuture : .distantPast
  }

  /// The moment `duration` later, or earlier for a negative duration. Saturates at both ends.
  public func advanced(by duration: Duration) -> Deadline { advanced(byNanoseconds: duration.wholeNanoseconds) }

  /// The time from this moment to `other`; negative if `other` is earlier.
  public func duration(to other: Deadline) -> Duration {
    other >= self
      ? .wholeNanoseconds(other.nanoseconds - nanoseconds)
      : .zero - .wholeNanoseconds(nanoseconds - other.nanoseconds)
  }

  /// The moment `duration` later, or earlier for a negative duration. Saturates at both ends.
  public static func + (moment: Deadline, duration: Duration) -> Deadline { moment.advanced(by: duration) }

  /// The time from `earlier` to `later`; negative if `earlier` is in fact later.
  public static func - (later: Deadline, earlier: Deadline) -> Duration { earlier.duration(to: later) }
}

extension Duration {
  /// The duration in nanoseconds, rounded towards zero and clamped to the range of `Int64` (292 years).
  package var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

  /// The duration in seconds, for log records.
  package var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }

  /// A readable text: `80 ms`, `12.5 s`, `3 min 5 s`, `6 h 18 min`.
  package var words: String {
    let milliseconds = wholeNanoseconds / 1_000_000
    let seconds = milliseconds / 1000
    return switch seconds {
    case ..<1: "\(milliseconds) ms"
    case ..<100: "\(seconds).\(milliseconds / 100 % 10) s"
    case ..<6000: "\(seconds / 60) min \(seconds % 60) s"
    default: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }
  }

  static func wholeNanoseconds(_ count: UInt64) -> Duration {
    .seconds(count / 1_000_000_000) + .nanoseconds(Int64(count % 1_000_000_000))
  }
}
