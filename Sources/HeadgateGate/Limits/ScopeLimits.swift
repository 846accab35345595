import HeadgateThreads

/// The limits of a ``RequestScope``. Each can be changed alone. The initializer throws if a number is out of range. A
/// property takes the nearest number in range.
public struct ScopeLimits: Hashable, Sendable {
  /// The maximum number of running requests, 1 or more. Nil: no limit beyond those of the end-points.
  public var requests: Int? { didSet { requests = requests.map { max(1, $0) } } }

  private(set) var pace: Pace?

  /// The rates at which its requests may start. All of them apply.
  public var rates: [Rate] {
    get { pace.rates }
    set { pace.rates = newValue }
  }

  /// The minimum time between starts, at most 366 days.
  public var minimumInterval: Duration {
    get { pace.minimumInterval }
    set { pace.minimumInterval = newValue }
  }

  /// The budgets for the weights of its requests. All of them apply. Of several with one name, the last counts.
  public var budgets: [Budget] {
    get { pace.budgets }
    set { pace.budgets = newValue }
  }

  /// Creates the limits of a scope.
  ///
  /// - Parameters:
  ///   - requests: The maximum number of running requests, 1 or more. Nil: no limit.
  ///   - rates: The rates at which requests may start.
  ///   - minimumInterval: The minimum time between starts.
  ///   - budgets: The budgets for the weights of requests, at most one for each name.
  /// - Throws: ``LimitError`` if a number is out of range.
  public init(
    requests: Int? = nil, rates: [Rate] = [], minimumInterval: Duration = .zero, budgets: [Budget] = []
  ) throws(LimitError) {
    if let requests, requests < 1 { throw LimitError("a scope's limit must be at least 1, not \(requests)") }
    self.requests = requests
    pace = try Pace.of(rates, minimumInterval, budgets)
  }

  init(unchecked requests: Int?, _ pace: Pace?) { (self.requests, self.pace) = (requests, pace) }
}
