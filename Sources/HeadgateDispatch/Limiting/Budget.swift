import HeadgateThreads

/// How many units the requests to one end-point may weigh together in a stretch of time: tokens a minute, bytes an hour.
///
///     let tokens = try Budget("tokens", units: 90_000, per: .seconds(60))
///
/// The window slides: what is counted are the units of the last `window`, whenever that is. What a request is expected to
/// weigh is counted when it starts. When its true weight is known, what it did not use is taken out of the window it was
/// counted in, and what it used beyond is owed from that moment on.
public struct Budget: Hashable, Sendable {
  /// What is counted. An end-point has one budget of each name.
  public let name: String

  /// How many units in each window, 1 or more.
  public let units: Int

  let windowNanoseconds: Int64

  /// How long a unit counts.
  public var window: Duration { .nanoseconds(windowNanoseconds) }

  /// A budget.
  ///
  /// - Parameters:
  ///   - name: What is counted, not empty.
  ///   - units: How many in each window, 1 to 2^53.
  ///   - window: How long each counts: more than zero, at most 366 days.
  /// - Throws: ``LimitError`` for a value that is out of range.
  public init(_ name: String, units: Int, per window: Duration) throws(LimitError) {
    guard !name.isEmpty else { throw LimitError("a budget needs a name") }
    guard (1...(1 << 53)).contains(units) else {
      throw LimitError("the budget of \(name) must be at least 1 and at most 2^53, not \(units)")
    }
    let nanoseconds = window.wholeNanoseconds
    guard nanoseconds > 0, nanoseconds <= Rate.longestPeriod else {
      throw LimitError("the window of \(name) must be more than nothing and at most 366 days, not \(window)")
    }
    self.name = name
    self.units = units
    windowNanoseconds = nanoseconds
  }
}
