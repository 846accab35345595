import HeadgateThreads

/// The number of units that the requests to one end-point may use together in a period: tokens a minute, bytes an hour.
///
///     let tokens = try Budget("tokens", units: 90_000, per: .seconds(60))
///
/// The window slides: the units of the last `window` are counted, at any moment. A request is charged its expected
/// weight when it starts. When its actual weight is known, unused units are removed from the window that they were
/// charged to, and units beyond the charge are counted from that moment on.
public struct Budget: Hashable, Sendable {
  /// The name of the units. An end-point has at most one budget for each name.
  public let name: String

  /// The number of units in each window, 1 or more.
  public let units: Int

  let windowNanoseconds: Int64

  /// The length of the window.
  public var window: Duration { .nanoseconds(windowNanoseconds) }

  /// Creates a budget.
  ///
  /// - Parameters:
  ///   - name: The name of the units; not empty.
  ///   - units: The number of units in each window, 1 to 2^53.
  ///   - window: The length of the window: more than zero, at most 366 days.
  /// - Throws: ``LimitError`` if a value is out of range.
  public init(_ name: String, units: Int, per window: Duration) throws(LimitError) {
    guard !name.isEmpty else { throw LimitError("a budget needs a name") }
    guard (1...(1 << 53)).contains(units) else {
      throw LimitError("the budget of \(name) must be at least 1 and at most 2^53, not \(units)")
    }
    let nanoseconds = window.wholeNanoseconds
    guard nanoseconds > 0, nanoseconds <= Rate.longestPeriod else {
      throw LimitError("the window of \(name) must be longer than zero and at most 366 days, not \(window)")
    }
    self.name = name
    self.units = units
    windowNanoseconds = nanoseconds
  }
}
