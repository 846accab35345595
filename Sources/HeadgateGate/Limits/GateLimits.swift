import HeadgateLibC
import HeadgateThreads

/// The limits of a gate: for each end-point, in total, and for waiting requests. The initializer throws if a number is out
/// of range. A property takes the nearest number in range.
public struct GateLimits: Sendable {
  /// The limit of every end-point without an override or a matching rule.
  public var endPoint: EndPointLimits

  /// Limits of single end-points, which take precedence over all rules.
  public var overrides: [EndPoint: EndPointLimits]

  /// Limits for hosts by pattern, such as `*.example.com`. The most specific matching pattern applies; see
  /// ``HostPattern``.
  public var rules: [HostPattern: EndPointLimits]

  /// The limits of scopes, to which requests belong besides their end-points. See `DispatchRequest.scopes`. A scope
  /// that is not listed has no limits. Empty by default.
  public var scopes: [RequestScope: ScopeLimits]

  /// How long an end-point pauses after it has refused a request. See ``PausePolicy``. Nil: it does not pause, and
  /// quotas reported by servers are ignored too.
  public var pauses: PausePolicy?

  /// The circuit breaker for end-points that can't be reached. See ``BreakerPolicy``. Nil, the default: none.
  public var breaker: BreakerPolicy?

  /// How limits are learned from refusals. See ``AdaptivePolicy``. Nil, the default: only the configured limits apply.
  public var adaptive: AdaptivePolicy?

  /// The maximum number of running requests at all end-points, 1 or more. Long requests use at most half of it (or 1,
  /// if it is 1). It is also the maximum number of open sockets, including idle ones. See ``GateSockets``.
  public var total: Int { didSet { total = max(1, total) } }

  /// The maximum bandwidth of all transfers together, in bytes per second, 1 or more. See ``EndPointLimits/bandwidth``.
  /// Nil, the default: none.
  public var bandwidth: Int? { didSet { bandwidth = bandwidth.map { max(1, $0) } } }

  /// The maximum number of waiting requests, 0 or more. With 0, a request that can't start at once is refused or held
  /// back.
  public var waiting: Int { didSet { waiting = max(0, waiting) } }

  /// What happens to a request if the queue is full.
  public var overflow: OverflowPolicy

  /// The waiting time that equals one step of priority. See ``RequestPriority``. With zero, priorities have no effect.
  /// Ten seconds by default, at most one year. A new value applies to requests submitted later.
  public var agingInterval: Duration {
    get { .nanoseconds(Int64(agingNanoseconds)) }
    set { agingNanoseconds = UInt64(min(max(.zero, newValue), Self.longestAging).wholeNanoseconds) }
  }

  private(set) var agingNanoseconds: UInt64

  private static let longestAging = Duration.seconds(365 * 86_400)

  /// The standard limit for each end-point, ``defaultTotal``, and one million waiting requests.
  public static let standard = GateLimits(total: defaultTotal)

  /// The number of files that the process may open, less 64 for its other needs, and halved: each request may need a
  /// socket and a file. At least 8 and at most 4,096.
  public static var defaultTotal: Int { min(4096, total(within: OpenFiles.initialLimit)) }

  /// The total that the process's limit on open files allows, at least 8.
  package static var mostTotal: Int { total(within: OpenFiles.limit) }

  private static func total(within limit: Int) -> Int { max(8, (limit - 64) / 2) }

  /// The limits of one end-point. O(labels of its host).
  package func of(_ endPoint: EndPoint) -> EndPointLimits {
    if !overrides.isEmpty, let own = overrides[endPoint] { return own }
    if !rules.isEmpty, let rule = HostPattern.mostSpecific(in: rules, for: endPoint) { return rule }
    return self.endPoint
  }

  /// Whether any end-point has a rate, interval or budget, or may learn a rate. O(rules and overrides).
  var hasPace: Bool {
    adaptive != nil || endPoint.pace != nil || rules.values.contains { $0.pace != nil }
      || overrides.values.contains { $0.pace != nil }
  }

  /// Whether any bandwidth is limited. O(rules and overrides).
  var hasBandwidth: Bool {
    bandwidth != nil || endPoint.bandwidth != nil || rules.values.contains { $0.bandwidth != nil }
      || overrides.values.contains { $0.bandwidth != nil }
  }

  /// Whether any limit depends on the outcome of exchanges.
  var hearsOutcomes: Bool { pauses != nil || breaker != nil || adaptive != nil }

  /// The maximum number of long requests at all end-points.
  var totalLong: Int { max(1, total / 2) }
}

extension GateLimits {
  /// Creates the limits of a gate.
  ///
  /// - Parameters:
  ///   - endPoint: The limit of each end-point.
  ///   - overrides: Limits of single end-points.
  ///   - rules: Limits for hosts by pattern.
  ///   - scopes: Limits of scopes.
  ///   - total: The limit in total. By default derived from the process's limit on open files (``defaultTotal``).
  ///   - bandwidth: The maximum bandwidth in total, in bytes per second. Nil: none.
  ///   - waiting: The maximum number of waiting requests. A waiting request costs less than a kilobyte, and no thread.
  ///   - overflow: What happens beyond that.
  ///   - pauses: How long an end-point pauses after it has refused a request. Nil: it does not pause.
  ///   - breaker: The circuit breaker for end-points that can't be reached. Nil: none.
  ///   - adaptive: How limits are learned from refusals. Nil: only the configured limits apply.
  ///   - agingInterval: The waiting time that equals one step of priority, from zero to one year.
  /// - Throws: ``LimitError`` if `total` or `bandwidth` is below 1, `waiting` below 0, or `agingInterval` out of range.
  public init(
    endPoint: EndPointLimits = .standard,
    overrides: [EndPoint: EndPointLimits] = [:],
    rules: [HostPattern: EndPointLimits] = [:],
    scopes: [RequestScope: ScopeLimits] = [:],
    total: Int? = nil,
    bandwidth: Int? = nil,
    waiting: Int = 1_000_000,
    overflow: OverflowPolicy = .refuse,
    pauses: PausePolicy? = PausePolicy(),
    breaker: BreakerPolicy? = nil,
    adaptive: AdaptivePolicy? = nil,
    agingInterval: Duration = .seconds(10)
  ) throws(LimitError) {
    self.init(total: total ?? Self.defaultTotal)
    guard self.total >= 1 else { throw LimitError("the total limit must be at least 1, not \(self.total)") }
    try EndPointLimits.check(bandwidth)
    guard waiting >= 0 else { throw LimitError("the limit on waiting requests must be at least 0, not \(waiting)") }
    guard agingInterval >= .zero, agingInterval <= Self.longestAging else {
      throw LimitError("the aging interval must be from zero to one year, not \(agingInterval)")
    }
    (self.endPoint, self.overrides, self.rules, self.scopes) = (endPoint, overrides, rules, scopes)
    (self.waiting, self.overflow, self.agingInterval) = (waiting, overflow, agingInterval)
    (self.pauses, self.breaker, self.adaptive, self.bandwidth) = (pauses, breaker, adaptive, bandwidth)
  }

  private init(total: Int) {
    (endPoint, overrides, rules, scopes) = (.standard, [:], [:], [:])
    (self.total, waiting, overflow, agingNanoseconds) = (total, 1_000_000, .refuse, 10_000_000_000)
    pauses = PausePolicy()
  }
}
