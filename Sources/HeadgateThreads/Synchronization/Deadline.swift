import CHeadgate

/// A point in monotonic time, in nanoseconds since an unspecified start: what every wait in Headgate ends by.
///
/// Arithmetic saturates and never wraps: the far end is ``distantFuture``, which no wait reaches, and the near end is
/// ``distantPast``. Steps of the wall clock move nothing; on Linux this is `CLOCK_MONOTONIC`, on Apple's systems
/// `CLOCK_UPTIME_RAW`, so time that the machine spends asleep does not count.
public struct Deadline: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's start; `UInt64.max` means never.
  public let nanoseconds: UInt64

  /// A deadline at a reading of the monotonic clock, in nanoseconds.
  public init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  /// The clock's reading at this moment.
  public static var now: Deadline {
    #if HEADGATE_EXPLORE
    if let now = Explored.by?.now { return Deadline(nanoseconds: now) }
    #endif
    return Deadline(nanoseconds: headgate_now())
  }

  /// Later than every moment: a wait until then has no limit.
  public static var distantFuture: Deadline { Deadline(nanoseconds: .max) }

  /// Earlier than every moment: a wait until then only looks, and never sleeps.
  public static var distantPast: Deadline { Deadline(nanoseconds: 0) }

  /// The moment that lies `duration` from now. Zero and less give a deadline that has passed.
  public static func after(_ duration: Duration) -> Deadline { .now + duration }

  /// Whether `left` comes first.
  public static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The nanoseconds from `earlier` to here, negative when that is later; saturates. Cheaper than a `Duration`.
  package func nanoseconds(since earlier: Deadline) -> Int64 {
    self >= earlier
      ? Int64(clamping: nanoseconds - earlier.nanoseconds) : -Int64(clamping: earlier.nanoseconds - nanoseconds)
  }

  /// The moment that lies so many nanoseconds later (earlier, for a negative number). Saturates at both ends.
  package func advanced(byNanoseconds distance: Int64) -> Deadline {
    guard self != .distantFuture else { return self }
    let (sum, overflow) =
      distance >= 0
      ? nanoseconds.addingReportingOverflow(UInt64(distance))
      : nanoseconds.subtractingReportingOverflow(distance.magnitude)
    guard overflow else { return Deadline(nanoseconds: sum) }
    return distance >= 0 ? .distantFuture : .distantPast
  }

  /// The moment that lies `duration` later (earlier, for a negative duration). Saturates at both ends.
  public static func + (moment: Deadline, duration: Duration) -> Deadline {
    moment.advanced(byNanoseconds: duration.wholeNanoseconds)
  }

  /// The time from `earlier` to `later`; negative when they stand the other way round.
  public static func - (later: Deadline, earlier: Deadline) -> Duration {
    later >= earlier
      ? .wholeNanoseconds(later.nanoseconds - earlier.nanoseconds)
      : .zero - .wholeNanoseconds(earlier.nanoseconds - later.nanoseconds)
  }
}

extension Duration {
  /// The duration in nanoseconds, rounded towards zero, held between the ends of `Int64` (292 years).
  package var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

  /// The duration in seconds, for records and messages.
  package var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }

  static func wholeNanoseconds(_ count: UInt64) -> Duration {
    Duration(
      secondsComponent: Int64(count / 1_000_000_000),
      attosecondsComponent: Int64(count % 1_000_000_000) * 1_000_000_000
    )
  }
}
