import HeadgateThreads

/// How many requests may start at one end-point in a period.
///
///     try Rate.spaced(10, per: .seconds(1))      // a tenth of a second between two starts
///     try Rate.rolling(100, per: .seconds(60))   // never more than 100 starts in any minute
///     try Rate("10/s")
///
/// Both forms are exact. A token bucket with the capacity of a full window is not: it admits up to twice as many in a
/// window that straddles a refill.
///
/// A server counts arrivals, not starts, and two requests may arrive closer together than they were sent. Each interval
/// and each window is therefore extended by two percent or by ``spread``, whichever is more.
public struct Rate: Hashable, Sendable, CustomStringConvertible {
  /// How starts are counted.
  public enum Form: Hashable, Sendable {
    /// Equal intervals between starts.
    case spaced
    /// A bound for every window, wherever it begins.
    case rolling
  }

  /// How starts are counted.
  public let form: Form

  /// The number of starts in each period. At most 100,000 for a rolling rate, which stores 32 bytes for each of them.
  public let count: Int

  /// The maximum difference in the time that requests take to reach the server; never negative.
  public let spread: Duration

  let periodNanoseconds: Int64

  /// The period of ``count``.
  public var period: Duration { .nanoseconds(periodNanoseconds) }

  /// Starts at equal intervals: the generic cell rate algorithm of ITU-T I.371 with zero tolerance, which allows no
  /// bursts.
  ///
  /// - Parameters:
  ///   - count: The number of starts in each period, 1 to 1,000,000,000.
  ///   - period: More than zero, at most 366 days, and at least one nanosecond for each start.
  ///   - spread: The maximum difference in the time to the server; it extends each interval.
  /// - Throws: ``LimitError`` if a value is out of range.
  public static func spaced(
    _ count: Int, per period: Duration, spread: Duration = .zero
  ) throws(LimitError) -> Rate {
    try Rate(.spaced, count, period, spread)
  }

  /// Bounds the number of starts in any window of the given length.
  ///
  /// - Parameters:
  ///   - count: The number of starts in each window, 1 to 100,000.
  ///   - period: The window: more than zero, at most 366 days.
  ///   - spread: The maximum difference in the time to the server; it extends the window.
  /// - Throws: ``LimitError`` if a value is out of range.
  public static func rolling(
    _ count: Int, per period: Duration, spread: Duration = .zero
  ) throws(LimitError) -> Rate {
    try Rate(.rolling, count, period, spread)
  }

  init(_ form: Form, _ count: Int, _ period: Duration, _ spread: Duration) throws(LimitError) {
    let most = form == .spaced ? 1_000_000_000 : 100_000
    guard (1...most).contains(count) else {
      throw LimitError("a rate must be between 1 and \(most) starts, not \(count)")
    }
    let nanoseconds = period.wholeNanoseconds
    guard nanoseconds > 0, nanoseconds <= Self.longestPeriod, form == .rolling || nanoseconds >= Int64(count) else {
      throw LimitError("a rate's period must be longer than zero and at most 366 days, not \(period)")
    }
    guard spread >= .zero, spread.wholeNanoseconds <= Self.longestPeriod else {
      throw LimitError("a rate's spread must be from zero to 366 days, not \(spread)")
    }
    self.form = form
    self.count = count
    self.spread = spread
    periodNanoseconds = nanoseconds
  }

  static let longestPeriod: Int64 = 366 * 86_400_000_000_000

  /// A period extended so that the rate also holds where the server counts.
  static func guarded(_ nanoseconds: Int64, spread: Duration) -> Int64 {
    nanoseconds + max((nanoseconds + 49) / 50, spread.wholeNanoseconds)
  }

  /// The interval between two starts, or the window, with that extension.
  var keptNanoseconds: Int64 {
    let starts = form == .spaced ? Int64(count) : 1
    return Self.guarded((periodNanoseconds + starts - 1) / starts, spread: spread)
  }
}
