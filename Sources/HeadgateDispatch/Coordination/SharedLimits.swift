import HeadgateThreads

/// The limits that the programs at a coordinator have configured, and the strictest of them for each end-point and
/// scope. A program's limits count from the first request that names them until the program leaves.
package struct SharedLimits: Sendable {
  package typealias Program = UInt64

  private var endPoints: [EndPoint: [Program: EndPointLimits]] = [:]
  private var scopes: [RequestScope: [Program: ScopeLimits]] = [:]

  package init() {}

  /// Stores the limits of a program. Returns the strictest limits if they have changed. O(programs of the end-point).
  package mutating func set(_ limits: EndPointLimits, for endPoint: EndPoint, by program: Program) -> EndPointLimits? {
    guard endPoints[endPoint]?[program] != limits else { return nil }
    let before = self.limits(of: endPoint)
    endPoints[endPoint, default: [:]][program] = limits
    let after = self.limits(of: endPoint)
    return after == before ? nil : after
  }

  /// Like the method for end-points, for a scope.
  package mutating func set(_ limits: ScopeLimits, for scope: RequestScope, by program: Program) -> ScopeLimits? {
    guard scopes[scope]?[program] != limits else { return nil }
    let before = self.limits(of: scope)
    scopes[scope, default: [:]][program] = limits
    let after = self.limits(of: scope)
    return after == before ? nil : after
  }

  /// Forgets the limits of a program. Returns the end-points and scopes whose limits may have changed. O(all of them).
  package mutating func leave(_ program: Program) -> (endPoints: [EndPoint], scopes: [RequestScope]) {
    let named = endPoints.filter { $0.value[program] != nil }.map(\.key)
    for endPoint in named {
      endPoints[endPoint]?[program] = nil
      if endPoints[endPoint]?.isEmpty == true { endPoints[endPoint] = nil }
    }
    let namedScopes = scopes.filter { $0.value[program] != nil }.map(\.key)
    for scope in namedScopes {
      scopes[scope]?[program] = nil
      if scopes[scope]?.isEmpty == true { scopes[scope] = nil }
    }
    return (named, namedScopes)
  }

  /// The strictest limits of an end-point. Nil if no program has named it.
  package func limits(of endPoint: EndPoint) -> EndPointLimits? {
    endPoints[endPoint].flatMap { EndPointLimits.strictest(Array($0.values)) }
  }

  /// The strictest limits of a scope. Nil if no program has any.
  package func limits(of scope: RequestScope) -> ScopeLimits? {
    scopes[scope].flatMap { ScopeLimits.strictest(Array($0.values)) }
  }
}

extension EndPointLimits {
  /// The lowest counts, all rates, the longest interval, and of each budget the one with the fewest units a second. Nil
  /// for no limits. Connections equal requests: each program counts its own sockets.
  static func strictest(_ all: [EndPointLimits]) -> EndPointLimits? {
    guard let requests = all.map(\.requests).min(), let long = all.map(\.long).min() else { return nil }
    let pace = Pace.strictest(all.compactMap(\.pace))
    return EndPointLimits(unchecked: requests, min(long, requests), requests, 1, pace)
  }
}

extension ScopeLimits {
  static func strictest(_ all: [ScopeLimits]) -> ScopeLimits? {
    all.isEmpty ? nil : ScopeLimits(unchecked: all.compactMap(\.requests).min(), Pace.strictest(all.compactMap(\.pace)))
  }
}

extension Pace {
  static func strictest(_ all: [Pace]) -> Pace? {
    var rates: [Rate] = []
    for rate in all.flatMap(\.rates) where !rates.contains(rate) { rates.append(rate) }
    var budgets: [String: Budget] = [:]
    for budget in all.flatMap(\.budgets) {
      let known = budgets[budget.name]
      budgets[budget.name] = known.map { $0.unitsPerSecond <= budget.unitsPerSecond ? $0 : budget } ?? budget
    }
    return Pace.unchecked(
      rates.sorted { $0.keptNanoseconds < $1.keptNanoseconds }, all.map(\.minimumInterval).max() ?? .zero,
      budgets.values.sorted { $0.name < $1.name }, jitter: all.map(\.jitter).max() ?? 0)
  }
}

extension Budget {
  fileprivate var unitsPerSecond: Double { Double(units) / Double(windowNanoseconds) }
}

extension EndPointLimits {
  /// How long a start counts toward any of the limits.
  package var memory: Duration { .nanoseconds(pace?.memory ?? 0) }
}

extension ScopeLimits {
  /// How long a start counts toward any of the limits.
  package var memory: Duration { .nanoseconds(pace?.memory ?? 0) }
}
