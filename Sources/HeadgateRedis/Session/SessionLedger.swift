#if Redis
import HeadgateGate

/// What this program waits for, holds, and has still to tell Redis. Pure: it does no I/O and calls nothing.
struct SessionLedger {
  private(set) var waits: [String: [RedisWait]] = [:]
  /// Permits by number, with their class.
  private(set) var held: [UInt64: String] = [:]
  private var lastNumber: UInt64 = 0
  private var rules: [String: String] = [:]
  // What has changed since the last step.
  private var undeclared: Set<String> = []
  private var wanted: Set<String> = []
  private var released: [String: Int] = [:]
  private var settled: [[String]] = []

  var isWaiting: Bool { !waits.isEmpty }
  var hasNews: Bool { !undeclared.isEmpty || !wanted.isEmpty || !released.isEmpty || !settled.isEmpty }
  var isIdle: Bool { waits.isEmpty && held.isEmpty && !hasNews }

  mutating func add(_ wait: RedisWait) {
    for (scope, rule) in wait.kind.rules where rules[scope] != rule {
      rules[scope] = rule
      undeclared.insert(scope)
    }
    waits[wait.kind.name, default: []].append(wait)
    wanted.insert(wait.kind.name)
  }

  mutating func withdraw(_ wait: RedisWait) {
    guard var line = waits[wait.kind.name], let place = line.firstIndex(where: { $0 === wait }) else { return }
    line.remove(at: place)
    waits[wait.kind.name] = line.isEmpty ? nil : line
    wanted.insert(wait.kind.name)
  }

  /// Removes all that wait, for an outage or the end.
  mutating func takeWaits() -> [RedisWait] {
    defer { waits = [:] }
    for name in waits.keys { wanted.insert(name) }
    return waits.values.flatMap { $0 }
  }

  /// A permit was granted. Returns its number and the request that it is for, if that still waits.
  mutating func grant(_ name: String) -> (UInt64, RedisWait?) {
    lastNumber += 1
    held[lastNumber] = name
    guard var line = waits[name], !line.isEmpty else { return (lastNumber, nil) }
    let wait = line.removeFirst()
    waits[name] = line.isEmpty ? nil : line
    return (lastNumber, wait)
  }

  /// Returns false if the permit is no longer counted by Redis.
  mutating func release(_ number: UInt64) -> Bool {
    guard let name = held.removeValue(forKey: number) else { return false }
    released[name, default: 0] += 1
    return true
  }

  mutating func settle(_ name: String, _ moment: String, _ budget: String, _ charged: Int, _ used: Int) {
    settled.append(["s", name, moment, budget, "\(charged)", "\(used)"])
  }

  /// Repeats all waiting requests: another program may have failed to pass permits on.
  mutating func repeatWishes() { wanted.formUnion(waits.keys) }

  /// The news, as arguments of the step script. At most 64 of the waiting classes are included at a time.
  mutating func takeNews() -> [String] {
    var words: [String] = []
    for scope in undeclared { words += ["d", scope, rules[scope] ?? "|0||"] }
    undeclared = []
    for (name, count) in released { words += ["r", name, "\(count)"] }
    released = [:]
    words += settled.flatMap { $0 }
    settled = []
    for name in wanted.prefix(64) {
      words += ["w", name, "\(waits[name]?.count ?? 0)"]
      wanted.remove(name)
    }
    return words
  }

  /// The units held in each scope, to be declared to a new session. Rules and waiting requests become news again, since
  /// the new session does not know them.
  mutating func claims() -> [String: Int] {
    // Settlements stay: an empty server ignores those of budgets that it does not know.
    (released, undeclared) = ([:], Set(rules.keys))
    wanted = Set(waits.keys)
    var claims: [String: Int] = [:]
    for name in held.values {
      for (scope, units) in PermitClass.scopes(name) { claims[scope, default: 0] += units }
    }
    return claims
  }

  /// Forgets permits that Redis has given to others. Returns how many.
  ///
  /// - Parameter believedUntil: The end of the lease, if Redis believed the claim. All permits are forgotten if the
  ///   lease may have ended before the claim arrived. Nil if Redis has gone by its own record.
  mutating func keepOnly(
    _ confirmed: [String: Int], believedUntil: ContinuousClock.Instant?, now: ContinuousClock.Instant
  ) -> Int {
    if let believedUntil, now >= believedUntil {
      defer { held = [:] }
      return held.count
    }
    var left = confirmed
    // Redis still counts the permits that were released since the claim, until the next step.
    for (name, count) in released {
      for (scope, units) in PermitClass.scopes(name) { left[scope, default: 0] -= units * count }
    }
    var lost = 0
    for (number, name) in held.sorted(by: { $0.key < $1.key }) {
      let scopes = PermitClass.scopes(name)
      if scopes.allSatisfy({ (left[$0.scope] ?? 0) >= $0.units }) {
        for (scope, units) in scopes { left[scope, default: 0] -= units }
      } else {
        held[number] = nil
        lost += 1
      }
    }
    return lost
  }
}
#endif
