import HeadgateThreads

/// The limits on the pace of starts.
struct Pace: Hashable, Sendable {
  let rates: [Rate]
  let minimumInterval: Duration
  let budgets: [Budget]
  /// The maximum fraction by which the minimum interval is randomly extended.
  let jitter: Double

  private init(_ rates: [Rate], _ minimumInterval: Duration, _ budgets: [Budget], _ jitter: Double) {
    (self.rates, self.minimumInterval, self.budgets, self.jitter) = (rates, minimumInterval, budgets, jitter)
  }

  /// Nil if nothing is limited.
  static func of(
    _ rates: [Rate], _ minimumInterval: Duration, _ budgets: [Budget], jitter: Double = 0
  ) throws(LimitError) -> Pace? {
    guard minimumInterval >= .zero, minimumInterval <= .seconds(366 * 86_400) else {
      throw LimitError(
        "the minimum time between starts must be from zero to 366 days, not \(minimumInterval)")
    }
    guard Set(budgets.map(\.name)).count == budgets.count else {
      throw LimitError("two budgets have the same name")
    }
    guard !rates.isEmpty || minimumInterval > .zero || !budgets.isEmpty else { return nil }
    return Pace(rates, minimumInterval, budgets, jitter)
  }

  /// How long a start counts toward any of the limits.
  var memory: Int64 {
    let kept = rates.map(\.keptNanoseconds)
    let windows = budgets.map { Rate.guarded($0.windowNanoseconds, spread: .zero) }
    return max((minimumInterval * (1 + jitter)).wholeNanoseconds, kept.max() ?? 0, windows.max() ?? 0)
  }
}
