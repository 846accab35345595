import HeadgateThreads

/// The limits on the pace of starts.
struct Pace: Hashable, Sendable {
  let rates: [Rate]
  let minimumInterval: Duration
  let budgets: [Budget]
  /// The maximum fraction by which the minimum interval is randomly extended.
  let jitter: Double

  static let longestInterval = Duration.seconds(366 * 86_400)

  /// Checked values. Nil if nothing is limited.
  init?(_ rates: [Rate], _ minimumInterval: Duration, _ budgets: [Budget], jitter: Double) {
    guard !rates.isEmpty || minimumInterval > .zero || !budgets.isEmpty else { return nil }
    (self.rates, self.minimumInterval, self.budgets, self.jitter) = (rates, minimumInterval, budgets, jitter)
  }

  /// Nil if nothing is limited.
  static func of(
    _ rates: [Rate], _ minimumInterval: Duration, _ budgets: [Budget], jitter: Double = 0
  ) throws(LimitError) -> Pace? {
    guard minimumInterval >= .zero, minimumInterval <= longestInterval else {
      throw LimitError(
        "the minimum time between starts must be from zero to 366 days, not \(minimumInterval)")
    }
    guard Set(budgets.map(\.name)).count == budgets.count else {
      throw LimitError("two budgets have the same name")
    }
    return Pace(rates, minimumInterval, budgets, jitter: jitter)
  }

  /// How long a start counts toward any of the limits.
  var memory: Int64 {
    let kept = rates.map(\.keptNanoseconds)
    let windows = budgets.map { Rate.guarded($0.windowNanoseconds, spread: .zero) }
    return max((minimumInterval * (1 + jitter)).wholeNanoseconds, kept.max() ?? 0, windows.max() ?? 0)
  }
}

// The parts of a pace that may be absent, each in range.
extension Pace? {
  var rates: [Rate] {
    get { self?.rates ?? [] }
    set { self = Pace(newValue, minimumInterval, budgets, jitter: jitter) }
  }

  var minimumInterval: Duration {
    get { self?.minimumInterval ?? .zero }
    set { self = Pace(rates, min(max(.zero, newValue), Pace.longestInterval), budgets, jitter: jitter) }
  }

  var budgets: [Budget] {
    get { self?.budgets ?? [] }
    set {
      var last: [Budget] = []
      for budget in newValue {
        last.removeAll { $0.name == budget.name }
        last.append(budget)
      }
      self = Pace(rates, minimumInterval, last, jitter: jitter)
    }
  }

  private var jitter: Double { self?.jitter ?? 0 }
}
