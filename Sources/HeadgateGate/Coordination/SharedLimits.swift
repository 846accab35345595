import HeadgateThreads

/// The limits that the programs at a coordinator have configured, and the strictest of them for each end-point and
/// scope. A program's limits count from the first request that names them until the program leaves.
package struct SharedLimits: Sendable {
  package var endPoints = SharedLimitTable<EndPoint, EndPointLimits>()
  package var scopes = SharedLimitTable<RequestScope, ScopeLimits>()

  package init() {}
}

package protocol SharedLimit: Equatable, Sendable {
  /// The limits that keep all of these. Nil for no limits.
  static func strictest(_ all: [Self]) -> Self?
}

/// The limits of end-points, or those of scopes.
package struct SharedLimitTable<Key: Hashable & Sendable, Limits: SharedLimit>: Sendable {
  package typealias Program = UInt64

  private var programs: [Key: [Program: Limits]] = [:]

  /// Stores the limits of a program. Returns the strictest limits if they have changed. O(programs of the key).
  package mutating func set(_ limits: Limits, for key: Key, by program: Program) -> Limits? {
    guard programs[key]?[program] != limits else { return nil }
    let before = self.limits(of: key)
    programs[key, default: [:]][program] = limits
    let after = self.limits(of: key)
    return after == before ? nil : after
  }

  /// Forgets the limits of a program. Returns the keys whose limits may have changed. O(all of them).
  package mutating func leave(_ program: Program) -> [Key] {
    let named = programs.filter { $0.value[program] != nil }.map(\.key)
    for key in named {
      programs[key]?[program] = nil
      if programs[key]?.isEmpty == true { programs[key] = nil }
    }
    return named
  }

  /// The programs that have limits for a key.
  package func programs(naming key: Key) -> [Program] { programs[key].map { Array($0.keys) } ?? [] }

  /// The strictest limits. Nil if no program has any.
  package func limits(of key: Key) -> Limits? { programs[key].flatMap { Limits.strictest(Array($0.values)) } }
}

extension EndPointLimits: SharedLimit {
  /// The lowest counts, all rates, the longest interval, and of each budget the one with the fewest units a second. Nil
  /// for no limits. Connections equal requests: each program counts its own sockets. Room is kept for short requests if
  /// any program wants that.
  package static func strictest(_ all: [EndPointLimits]) -> EndPointLimits? {
    guard let requests = all.map(\.requests).min(), let long = all.map(\.long).min() else { return nil }
    let pace = Pace.strictest(all.compactMap(\.pace))
    let keepsRoom = all.contains(where: \.keepsRoomForShort)
    return EndPointLimits(
      unchecked: requests, min(long, keepsRoom ? max(1, requests - 1) : requests), requests, 1, pace,
      keepsRoomForShort: keepsRoom)
  }
}

extension ScopeLimits: SharedLimit {
  package static func strictest(_ all: [ScopeLimits]) -> ScopeLimits? {
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
    // Checked values pass the checks again.
    return try? Pace.of(
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
