import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// All limits of one gate: for each end-point, over all of them, and on what waits.
public struct GateLimits: Sendable {
  /// The limit of every end-point that has none of its own in `overrides` and that no rule is for.
  public var endPoint: EndPointLimits

  /// Single end-points with a limit of their own, which goes before all rules.
  public var overrides: [EndPoint: EndPointLimits]

  /// Limits for hosts by pattern, `*.example.com`. The most specific pattern that fits an end-point wins; see
  /// ``HostPattern``.
  public var rules: [HostPattern: EndPointLimits]

  /// Limits of what requests belong to beside their end-points: see ``DispatchRequest/scopes``. A scope that has none here
  /// limits nothing. None unless set.
  public var scopes: [RequestScope: ScopeLimits] = [:]

  /// For how long an end-point pauses as a whole that has refused a request: see ``PausePolicy``. Nil: it does not pause, and
  /// what servers say of quotas is not read either.
  public var pauses: PausePolicy? {
    get { policies?.pauses }
    set { policies = HealthPolicies(newValue, breaker, adaptive) }
  }

  /// When an end-point that can't be reached sleeps. Nil, which it is unless set: it never does.
  public var breaker: BreakerPolicy? {
    get { policies?.breaker }
    set { policies = HealthPolicies(pauses, newValue, adaptive) }
  }

  /// How end-points' limits are learned from their refusals: see ``AdaptivePolicy``. Nil, which it is unless set: the configured
  /// limits hold.
  public var adaptive: AdaptivePolicy? {
    get { policies?.adaptive }
    set { policies = HealthPolicies(pauses, breaker, newValue) }
  }

  // One reference: limits are copied on the way of every request.
  private var policies = HealthPolicies.usual

  /// Requests under way at once over all end-points, 1 or more. Long ones use at most half of it (1 of 1). As many sockets
  /// may be open, idle ones included: see ``GateSockets``.
  public package(set) var total: Int

  /// Requests that may wait for a permit, 0 or more. 0: whatever can't run at once is refused or held back.
  public package(set) var waiting: Int

  /// What happens to a request that comes when as many wait as may.
  public var overflow: OverflowPolicy

  /// How much waiting a step of priority is worth: see ``RequestPriority``. Zero: priorities change nothing. A new value
  /// holds for requests that come from then on. Less than nothing counts as zero, a year is the most.
  public var ageing: Duration {
    get { .nanoseconds(Int64(ageingNanoseconds)) }
    set { ageingNanoseconds = UInt64(min(max(0, newValue.wholeNanoseconds), 365 * 86_400_000_000_000)) }
  }

  var ageingNanoseconds: UInt64 = 10_000_000_000

  /// The limits of a gate.
  ///
  /// - Parameters:
  ///   - endPoint: For each end-point.
  ///   - overrides: For single ones.
  ///   - rules: For hosts by pattern.
  ///   - total: Over all. Unless given, what the process's limit on open files leaves room for (``defaultTotal``).
  ///   - waiting: How many may wait. A waiting request costs under a kilobyte and no thread.
  ///   - overflow: What happens beyond.
  /// - Throws: ``LimitError`` when `total` is below 1 or `waiting` below 0.
  public init(
    endPoint: EndPointLimits = .standard,
    overrides: [EndPoint: EndPointLimits] = [:],
    rules: [HostPattern: EndPointLimits] = [:],
    total: Int? = nil,
    waiting: Int = 1_000_000,
    overflow: OverflowPolicy = .refuse
  ) throws(LimitError) {
    self.init(unchecked: endPoint, overrides, rules, total ?? Self.defaultTotal, waiting, overflow)
    guard self.total >= 1 else { throw LimitError("the total limit must be at least 1, not \(self.total)") }
    guard waiting >= 0 else { throw LimitError("the bound on what waits must be at least 0, not \(waiting)") }
  }

  /// The standard limit for each end-point, the total that open files leave room for, a million waiting.
  public static let standard = GateLimits(unchecked: .standard, [:], [:], defaultTotal, 1_000_000, .refuse)

  private init(
    unchecked endPoint: EndPointLimits, _ overrides: [EndPoint: EndPointLimits],
    _ rules: [HostPattern: EndPointLimits], _ total: Int, _ waiting: Int, _ overflow: OverflowPolicy
  ) {
    self.endPoint = endPoint
    self.overrides = overrides
    self.rules = rules
    self.total = total
    self.waiting = waiting
    self.overflow = overflow
  }

  /// Half of the files that the process may open (a socket and a file for each request), less 64 for its other needs;
  /// at least 8 and at most 4,096.
  public static var defaultTotal: Int { min(4096, mostTotal) }

  /// What the process's limit on open files suffices for, 8 at least.
  package static var mostTotal: Int {
    var limit = rlimit()
    #if canImport(Glibc)
    let asked = getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
    #else
    let asked = getrlimit(RLIMIT_NOFILE, &limit)
    #endif
    guard asked == 0 else { return 8 }
    return max(8, (Int(clamping: UInt64(limit.rlim_cur)) - 64) / 2)
  }

  /// The limits of one end-point. O(labels of its host).
  package func of(_ endPoint: EndPoint) -> EndPointLimits {
    if !overrides.isEmpty, let own = overrides[endPoint] { return own }
    if !rules.isEmpty, let rule = HostPattern.mostSpecific(in: rules, for: endPoint) { return rule }
    return self.endPoint
  }

  /// Whether any end-point has a limit on how soon requests follow one another, or may learn one. O(rules and overrides).
  var hasPace: Bool {
    adaptive != nil || endPoint.pace != nil || rules.values.contains { $0.pace != nil }
      || overrides.values.contains { $0.pace != nil }
  }

  /// What is done about end-points that don't fare well.
  private final class HealthPolicies: Sendable {
    static let usual = HealthPolicies(PausePolicy(), nil, nil)

    let pauses: PausePolicy?
    let breaker: BreakerPolicy?
    let adaptive: AdaptivePolicy?

    init?(_ pauses: PausePolicy?, _ breaker: BreakerPolicy?, _ adaptive: AdaptivePolicy?) {
      if pauses == nil, breaker == nil, adaptive == nil { return nil }
      (self.pauses, self.breaker, self.adaptive) = (pauses, breaker, adaptive)
    }
  }

  /// Whether what becomes of exchanges matters to any limit.
  var hearsOutcomes: Bool { policies != nil }

  /// Long requests over all end-points.
  var totalLong: Int { max(1, total / 2) }
}
