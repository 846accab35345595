/// How a repeating timer determines its next call. Calls of one timer never overlap: the next is scheduled when the
/// previous one has ended.
public struct TimerRepetition: Hashable, Sendable, CustomStringConvertible {
  /// What happens to ticks of a rate that pass while a call is still running.
  public enum MissedTicks: Hashable, Sendable {
    /// They are skipped: the next call comes at the rate's next tick in the future.
    case skip
    /// They are made up for, one immediately after another, until the timer has caught up with the rate. Other due
    /// timers wait only for ticks that are due before them.
    case burst
  }

  enum Kind: Hashable {
    case rate(MissedTicks)
    case delay
  }

  let kind: Kind
  private(set) var nanoseconds: Int64

  private init(_ kind: Kind, _ interval: Duration) {
    self.kind = kind
    nanoseconds = interval.wholeNanoseconds
  }

  /// Calls at start, start + interval, start + 2 × interval and so on, however long the calls take, without drift.
  ///
  /// - Parameters:
  ///   - interval: The time between ticks; greater than zero.
  ///   - missed: What happens to ticks that pass while a call is still running.
  public static func rate(_ interval: Duration, missed: MissedTicks = .skip) -> TimerRepetition {
    TimerRepetition(.rate(missed), interval)
  }

  /// A fixed pause between the end of one call and the start of the next: polling that cannot pile up.
  ///
  /// - Parameter interval: The pause; greater than zero.
  public static func delay(_ interval: Duration) -> TimerRepetition { TimerRepetition(.delay, interval) }

  /// Its name, as in a program: `rate(0.005 seconds)`, `delay(1.0 seconds)`.
  public var description: String {
    switch kind {
    case .rate(.skip): "rate(\(interval))"
    case .rate(.burst): "rate(\(interval), missed: burst)"
    case .delay: "delay(\(interval))"
    }
  }

  /// The same with an interval greater than zero.
  var positive: TimerRepetition {
    var copy = self
    copy.nanoseconds = max(1, nanoseconds)
    return copy
  }

  /// The time until the first call, unless another time is given.
  var interval: Duration { .nanoseconds(nanoseconds) }

  /// The time of the next call after `last`, if the call ended at `now`, and the number of ticks skipped.
  func next(after last: Deadline, endedAt now: Deadline) -> (deadline: Deadline, missed: Int) {
    switch kind {
    case .delay: return (now.advanced(byNanoseconds: nanoseconds), 0)
    case .rate(.burst): return (last.advanced(byNanoseconds: nanoseconds), 0)
    case .rate(.skip):
      let next = last.advanced(byNanoseconds: nanoseconds)
      guard next < now else { return (next, 0) }
      // Both are in the past, in known order, so only the last step can saturate.
      let late = now.nanoseconds - next.nanoseconds
      let interval = UInt64(nanoseconds)
      let missed = late / interval + (late % interval == 0 ? 0 : 1)
      let (distance, overflow) = missed.multipliedReportingOverflow(by: interval)
      let (sum, overflows) = next.nanoseconds.addingReportingOverflow(distance)
      return (overflow || overflows ? .distantFuture : Deadline(nanoseconds: sum), Int(clamping: missed))
    }
  }
}
