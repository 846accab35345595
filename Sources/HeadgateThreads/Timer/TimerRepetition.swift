/// How a repeating timer finds its next moment. The calls of one timer never overlap: each is timed when the last ended.
public struct TimerRepetition: Hashable, Sendable {
  /// What becomes of moments that pass while a call of a rate still runs.
  public enum MissedTicks: Hashable, Sendable {
    /// They are left out: the next call comes at the next moment of the rate that lies ahead.
    case skip
    /// They are made up for, one right after another, until the rate is met again. Other timers that are due wait only
    /// behind the moments that lie before theirs.
    case burst
  }

  enum Kind: Hashable {
    case rate(MissedTicks)
    case delay
  }

  let kind: Kind
  let nanoseconds: Int64

  private init(_ kind: Kind, _ interval: Duration) {
    self.kind = kind
    nanoseconds = interval.wholeNanoseconds
  }

  /// At start, start + interval, start + 2 x interval, whatever the calls take: a metronome, without drift.
  ///
  /// - Parameters:
  ///   - interval: From moment to moment; above zero.
  ///   - missed: What becomes of moments that pass while a call still runs.
  public static func rate(_ interval: Duration, missed: MissedTicks = .skip) -> TimerRepetition {
    TimerRepetition(.rate(missed), interval)
  }

  /// A pause between the end of one call and the start of the next: polling that can't pile up.
  ///
  /// - Parameter interval: The pause; above zero.
  public static func delay(_ interval: Duration) -> TimerRepetition { TimerRepetition(.delay, interval) }

  /// From the start to the first call, unless another moment is given.
  var interval: Duration { .nanoseconds(nanoseconds) }

  /// The moment after `last`, when the call ended at `now`, and how many were left out in between.
  func next(after last: Deadline, endedAt now: Deadline) -> (deadline: Deadline, missed: Int) {
    switch kind {
    case .delay: return (now.advanced(byNanoseconds: nanoseconds), 0)
    case .rate(.burst): return (last.advanced(byNanoseconds: nanoseconds), 0)
    case .rate(.skip):
      let next = last.advanced(byNanoseconds: nanoseconds)
      guard next < now else { return (next, 0) }
      // Both lie in the past and above each other, so nothing saturates before the last step.
      let late = now.nanoseconds - next.nanoseconds
      let interval = UInt64(nanoseconds)
      let missed = late / interval + (late % interval == 0 ? 0 : 1)
      let (distance, overflow) = missed.multipliedReportingOverflow(by: interval)
      let (sum, overflows) = next.nanoseconds.addingReportingOverflow(distance)
      return (overflow || overflows ? .distantFuture : Deadline(nanoseconds: sum), Int(clamping: missed))
    }
  }
}
