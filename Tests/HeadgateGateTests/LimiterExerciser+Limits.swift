import HeadgateThreads

@testable import HeadgateGate

// Limits, and how they change during the run.

extension LimiterExerciser {
  static let breaker = BreakerPolicy(
    failures: 2, initialSuspension: .microseconds(20), maxSuspension: .microseconds(100), probes: 2, jitter: 0)

  mutating func pausePolicy() -> PausePolicy {
    PausePolicy(
      maxPause: .microseconds(200), initialPause: .microseconds(20), jitter: 0,
      unavailableThreshold: .random(in: 1...3, using: &random), of: 4,
      patience: Bool.random(using: &random) ? .microseconds(Int.random(in: 30...300, using: &random)) : nil)
  }

  /// Only numbers change, not the set of rates. Which past starts a new rate counts is for another test.
  private func pace(_ thing: Int, units: Int) throws -> ([Rate], Duration, [Budget]) {
    let tokens = try Budget("tokens", units: units, per: .microseconds(thing % 3 == 0 ? 60 : 25))
    switch (thing + Int(seed)) % 4 {
    case 0: return ([], .zero, [])
    case 1: return ([try .spaced(4, per: .microseconds(10))], .zero, [tokens])
    case 2: return ([try .rolling(5, per: .microseconds(20)), try .rolling(9, per: .microseconds(50))], .zero, [])
    default: return ([], .microseconds(1), [tokens])
    }
  }

  mutating func setEndPoint(_ place: Int) throws {
    let pace = try pace(place, units: .random(in: 8...30, using: &random))
    let requests = Int.random(in: 1...6, using: &random)
    let connections = Bool.random(using: &random) ? requests : Int.random(in: 1...requests, using: &random)
    let keepsRoom = Int.random(in: 0..<4, using: &random) > 0
    let long =
      Bool.random(using: &random)
      ? nil : Int.random(in: 1...(keepsRoom ? max(1, requests - 1) : requests), using: &random)
    limits.overrides[endPoints[place]] = try EndPointLimits(
      requests: requests, long: long, connections: connections, keepsRoomForShort: keepsRoom, rates: pace.0,
      minimumInterval: pace.1, budgets: pace.2)
    things[place].adopt(pace)
  }

  mutating func setScope(_ scope: Int) throws {
    let thing = Self.endPointCount + scope
    let pace = try pace(thing, units: .random(in: 8...30, using: &random))
    let requests = Bool.random(using: &random) ? Int.random(in: 1...5, using: &random) : nil
    limits.scopes[names[scope]] = try ScopeLimits(
      requests: requests, rates: pace.0, minimumInterval: pace.1, budgets: pace.2)
    things[thing].most = requests ?? .max
    things[thing].adopt(pace)
  }

  /// An end-point without rates may lose all of its limits. Its counts are not lost with them.
  private mutating func removeScope(_ scope: Int) {
    let thing = Self.endPointCount + scope
    guard (thing + Int(seed)) % 4 == 0 else { return }
    limits.scopes[names[scope]] = nil
    things[thing].most = .max
  }

  mutating func changeLimits() throws {
    let place = Int.random(in: 0..<Self.endPointCount, using: &random)
    let scope = Int.random(in: 0..<Self.scopeCount, using: &random)
    switch Int.random(in: 0..<10, using: &random) {
    case 0: limits.total = .random(in: 2...14, using: &random)
    case 1: limits.overflow = Self.policies.randomElement(using: &random) ?? .refuse
    case 2 where limits.waiting < 1_000: limits.waiting = .random(in: 4...20, using: &random)
    case 3: limits.pauses = limits.pauses == nil || Bool.random(using: &random) ? pausePolicy() : nil
    case 4: limits.breaker = limits.breaker == nil ? Self.breaker : nil
    case 5: removeScope(scope)
    case 6, 7:
      // Only for this end-point, which forgets nothing.
      try setEndPoint(place)
      scheduler.setLimits(limits.overrides[endPoints[place]], for: endPoints[place])
      return
    default:
      try setEndPoint(place)
      if !limits.scopes.isEmpty { try setScope(scope) }
    }
    scheduler.setLimits(limits)
    for thing in things.indices {
      things[thing].health.adopt(limits.pauses, thing < Self.endPointCount ? limits.breaker : nil)
    }
    // Idle end-points are forgotten, with what is known of their sockets.
    let busy = Set(known.values.map(\.endPoint))
    // An idle one is remembered only if more than its limits is known.
    remembered.formIntersection(busy.union(multiplexing).union(troubled))
    multiplexing.formIntersection(remembered)
  }

  /// How many may run at an end-point: as many as it has sockets, unless a socket carries several.
  func mostWithSocket(_ place: Int) -> Int {
    let own = limits.of(endPoints[place])
    return multiplexing.contains(place) && own.keepsRoomForShort ? max(1, own.connections - 1) : own.connections
  }

  /// How many of them may be long: each needs a socket, unless a socket carries several.
  func mostLong(_ place: Int) -> Int {
    let own = limits.of(endPoints[place])
    if multiplexing.contains(place) { return own.long }
    return min(own.long, own.keepsRoomForShort ? max(1, own.connections - 1) : own.connections)
  }

  func most(_ place: Int) -> Int {
    let own = limits.of(endPoints[place])
    return multiplexing.contains(place) ? own.requests : own.connections
  }
}
