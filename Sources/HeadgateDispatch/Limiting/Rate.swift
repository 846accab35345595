import HeadgateThreads

/// How many requests may start at one end-point in a stretch of time.
///
///     try Rate.spaced(10, per: .seconds(1))      // a tenth of a second between two starts
///     try Rate.rolling(100, per: .seconds(60))   // never more than 100 starts in any minute
///     try Rate("10/s")
///
/// Both forms are exact. A token bucket that holds a full window's worth is not: it lets up to twice as many through in
/// a window that straddles its refill.
///
/// A server counts arrivals, and not starts: two requests may arrive closer together than they were sent. So each
/// distance and each window is longer here than it says, by two hundredths or by ``spread``, whichever is more.
public struct Rate: Hashable, Sendable, CustomStringConvertible {
  /// How starts are counted.
  public enum Form: Hashable, Sendable {
    /// Equal distances between starts.
    case spaced
    /// A bound for every window, wherever it begins.
    case rolling
  }

  /// How starts are counted.
  public let form: Form

  /// How many starts in each period. 1 to 100,000 for a rolling rate, which remembers each one of them in 8 bytes.
  public let count: Int

  /// How much the time to the server differs from one request to the next, at most; never negative.
  public let spread: Duration

  let periodNanoseconds: Int64

  /// The stretch of time that ``count`` is for.
  public var period: Duration { .nanoseconds(periodNanoseconds) }

  /// Starts at equal distances: the generic cell rate algorithm of ITU-T I.371 with no tolerance, so that no burst passes.
  ///
  /// - Parameters:
  ///   - count: Starts in each period, 1 to 1,000,000,000.
  ///   - period: More than zero, at most 366 days, and at least a nanosecond for each start.
  ///   - spread: By how much the time to the server differs, at most; it lengthens each distance.
  /// - Throws: ``LimitError`` for a value that is out of range.
  public static func spaced(
    _ count: Int, per period: Duration, spread: Duration = .zero
  ) throws(LimitError) -> Rate {
    try Rate(.spaced, count, period, spread)
  }

  /// Never more than so many starts in any window of that length.
  ///
  /// - Parameters:
  ///   - count: Starts in each window, 1 to 100,000.
  ///   - period: The window: more than zero, at most 366 days.
  ///   - spread: By how much the time to the server differs, at most; it lengthens the window.
  /// - Throws: ``LimitError`` for a value that is out of range.
  public static func rolling(
    _ count: Int, per period: Duration, spread: Duration = .zero
  ) throws(LimitError) -> Rate {
    try Rate(.rolling, count, period, spread)
  }

  private init(_ form: Form, _ count: Int, _ period: Duration, _ spread: Duration) throws(LimitError) {
    let most = form == .spaced ? 1_000_000_000 : 100_000
    guard (1...most).contains(count) else {
      throw LimitError("a rate must be between 1 and \(most) starts, not \(count)")
    }
    let nanoseconds = period.wholeNanoseconds
    guard nanoseconds > 0, nanoseconds <= Self.longestPeriod, form == .rolling || nanoseconds >= Int64(count) else {
      throw LimitError("a rate's period must be more than nothing and at most 366 days, not \(period)")
    }
    guard spread >= .zero, spread.wholeNanoseconds <= Self.longestPeriod else {
      throw LimitError("a rate's spread must not be negative, nor above 366 days, and is \(spread)")
    }
    self.form = form
    self.count = count
    self.spread = spread
    periodNanoseconds = nanoseconds
  }

  static let longestPeriod: Int64 = 366 * 86_400_000_000_000

  /// By how much a stretch of time is lengthened, so that the rate holds where the server counts.
  static func guarded(_ nanoseconds: Int64, spread: Duration) -> Int64 {
    nanoseconds + max((nanoseconds + 49) / 50, spread.wholeNanoseconds)
  }

  /// The distance between two starts, or the window, as it is kept here.
  var keptNanoseconds: Int64 {
    switch form {
    case .spaced:
      Self.guarded((periodNanoseconds + Int64(count) - 1) / Int64(count), spread: spread)
    case .rolling:
      Self.guarded(periodNanoseconds, spread: spread)
    }
  }
}
