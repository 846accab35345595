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

/// The ticks of a clock as an asynchronous sequence. Created by ``TimerService/ticks(_:startingAt:)``.
public struct TimerTicks: AsyncSequence, Sendable {
  let timers: any TimerService
  let repetition: TimerRepetition
  let first: Deadline

  /// Creates an iterator. All iterators have the same first tick.
  public func makeAsyncIterator() -> Iterator { Iterator(ticks: self) }

  /// Waits for one tick after another.
  public struct Iterator: AsyncIteratorProtocol {
    let ticks: TimerTicks
    private var last: Deadline?

    init(ticks: TimerTicks) { self.ticks = ticks }

    /// Suspends until the next tick, and returns the time for which it was due. Returns nil if the task was cancelled or
    /// the timer thread was disposed of.
    public mutating func next() async -> Deadline? { await next(isolation: nil) }

    /// The same, without leaving the caller's actor.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Deadline? {
      let timers = ticks.timers
      let next = last.map { ticks.repetition.next(after: $0, endedAt: timers.now).deadline } ?? ticks.first
      do { try await timers.sleep(until: next, tolerance: nil) } catch { return nil }
      last = next
      return next
    }
  }
}

extension TimerService {
  /// The ticks of a repetition, for a loop in a task.
  ///
  ///     for await _ in TimerThread.shared.ticks(.rate(.seconds(1))) { await poll() }
  ///
  /// Ticks never overlap: the next one is determined when the loop asks for it. A rate has no drift, and skips the ticks
  /// that pass meanwhile, unless its ``TimerRepetition/MissedTicks`` say otherwise. Each loop has its own ticks. The loop
  /// ends when its task is cancelled, or when the timer thread is disposed of.
  ///
  /// - Parameters:
  ///   - repetition: A rate or a delay. An interval of zero or less counts as one nanosecond.
  ///   - first: The time of the first tick; nil for one interval from now.
  /// - Returns: The times for which the ticks were due.
  public func ticks(_ repetition: TimerRepetition, startingAt first: Deadline? = nil) -> TimerTicks {
    let repetition = repetition.positive
    return TimerTicks(timers: self, repetition: repetition, first: first ?? now + repetition.interval)
  }
}
