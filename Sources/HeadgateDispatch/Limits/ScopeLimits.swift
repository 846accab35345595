import HeadgateThreads

/// The limits of a ``RequestScope``.
public struct ScopeLimits: Hashable, Sendable {
  /// How many of its requests may be under way at once; nil: as many as their end-points take.
  public let requests: Int?

  let pace: Pace?

  /// How soon its requests may follow one another; all of them hold.
  public var rates: [Rate] { pace?.rates ?? [] }

  /// The least time between two of its starts.
  public var minimumInterval: Duration { pace?.minimumInterval ?? .zero }

  /// What its requests may weigh together; all of them hold.
  public var budgets: [Budget] { pace?.budgets ?? [] }

  /// Limits for a scope.
  ///
  /// - Parameters:
  ///   - requests: How many at once, 1 or more; nil: no limit.
  ///   - rates: How many starts in a stretch of time.
  ///   - minimumInterval: The least time from one start to the next.
  ///   - budgets: What they may weigh together; one of each name.
  /// - Throws: ``LimitError`` for a number that is out of range.
  public init(
    requests: Int? = nil, rates: [Rate] = [], minimumInterval: Duration = .zero, budgets: [Budget] = []
  ) throws(LimitError) {
    if let requests, requests < 1 { throw LimitError("a scope's limit must be at least 1, not \(requests)") }
    self.requests = requests
    pace = try Pace.of(rates, minimumInterval, budgets)
  }
}
