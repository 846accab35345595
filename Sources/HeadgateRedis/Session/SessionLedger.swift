#if Redis
import HeadgateGate
import HeadgateThreads

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
  private var unused: [String: Int] = [:]
  private var settled: [[String]] = []
  private var forgotten: Set<String> = []
  /// The pauses that this program has told of and that are not over. Each session is told of them.
  private var pauses: [EndPoint: (pause: SharedPause, until: Deadline)] = [:]
  private var untold: Set<EndPoint> = []
  private var mostRules = 2 * Self.mostRules

  /// The number of scopes whose rules stay declared although nothing waits or runs there.
  static let mostRules = 1000
  /// The number of classes, and of scopes, that one step tells of. A step with more would keep Redis busy.
  static let mostInStep = 16

  var isWaiting: Bool { !waits.isEmpty }
  var hasNews: Bool {
    !undeclared.isEmpty || !wanted.isEmpty || !released.isEmpty || !unused.isEmpty || !settled.isEmpty
      || !forgotten.isEmpty || !untold.isEmpty
  }
  var isIdle: Bool { waits.isEmpty && held.isEmpty && !hasNews }

  mutating func add(_ wait: RedisWait) {
    if rules.count > mostRules { forgetRules() }
    for (scope, rule) in wait.kind.rules where rules[scope] != rule {
      rules[scope] = rule
      undeclared.insert(scope)
      forgotten.remove(scope)
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
  mutating func release(_ number: UInt64, isUsed: Bool = true) -> Bool {
    guard let name = held.removeValue(forKey: number) else { return false }
    if isUsed { released[name, default: 0] += 1 } else { unused[name, default: 0] += 1 }
    return true
  }

  /// Redis is told of a pause, and so is each later session until it is over.
  mutating func pause(_ pause: SharedPause, until end: Deadline) {
    pauses = pauses.filter { $0.value.until > .now }
    untold = untold.filter { pauses[$0] != nil }
    pauses[pause.endPoint] = (pause, end)
    untold.insert(pause.endPoint)
  }

  /// The end-point of a scope for which something waits.
  func endPoint(of scope: String) -> EndPoint? {
    waits.first { PermitClass.endPoint($0.key) == scope }?.value.first?.demand.endPoint
  }

  /// The scopes in which something waits, runs, or was released and is not reported yet.
  private var used: Set<String> {
    var used: Set<String> = []
    for name in Set(waits.keys).union(held.values).union(released.keys).union(unused.keys) {
      used.formUnion(PermitClass.scopes(name).map(\.scope))
    }
    return used
  }

  /// A program that visits many end-points does not keep the limits of those that it has left.
  private mutating func forgetRules() {
    let used = used
    for scope in rules.keys where !used.contains(scope) {
      rules[scope] = nil
      undeclared.remove(scope)
      forgotten.insert(scope)
    }
    // If most of them are used, the next look comes later.
    mostRules = max(Self.mostRules, rules.count) * 2
  }

  mutating func settle(_ name: String, _ moment: String, _ budget: String, _ charged: Int, _ used: Int) {
    settled.append(["s", name, moment, budget, "\(charged)", "\(used)"])
  }

  /// Repeats all waiting requests: another program may have failed to pass permits on.
  mutating func repeatWishes() { wanted.formUnion(waits.keys) }

  /// The news, as arguments of the step script: at most ``mostInStep`` of each kind. The rest is left to the next step.
  mutating func takeNews() -> [String] {
    var words: [String] = []
    for endPoint in untold.prefix(Self.mostInStep) {
      if let (pause, end) = pauses[endPoint], case let left = end - Deadline.now, left > .zero,
        let rest = SharedPause(at: endPoint, left: left, pause.cause)
      {
        words += ["p"] + PermitClass.words(rest)
      }
      untold.remove(endPoint)
    }
    for scope in forgotten.prefix(Self.mostInStep) {
      words += ["u", scope]
      forgotten.remove(scope)
    }
    let wishes = Array(wanted.prefix(Self.mostInStep))
    // What is wanted is declared before. The others are those of permits that were held when the session began.
    let first = wishes.flatMap { PermitClass.scopes($0) }.map(\.scope).filter { undeclared.contains($0) }
    for scope in Set(first).union(undeclared.prefix(Self.mostInStep)) {
      words += ["d", scope, rules[scope] ?? "|0||"]
      undeclared.remove(scope)
    }
    for (name, count) in released.prefix(Self.mostInStep) {
      words += ["r", name, "\(count)"]
      released[name] = nil
    }
    for (name, count) in unused.prefix(Self.mostInStep) {
      words += ["x", name, "\(count)"]
      unused[name] = nil
    }
    words += settled.prefix(Self.mostInStep).flatMap { $0 }
    settled.removeFirst(min(settled.count, Self.mostInStep))
    for name in wishes {
      words += ["w", name, "\(waits[name]?.count ?? 0)"]
      wanted.remove(name)
    }
    return words
  }

  /// The units held in each scope, to be declared to a new session. Rules and waiting requests become news again, since
  /// the new session does not know them.
  mutating func claims() -> [String: Int] {
    // Settlements stay: an empty server ignores those of budgets that it does not know.
    (released, unused, forgotten) = ([:], [:], [])
    // The new session declares nothing but what it uses. The others are declared when they are used again.
    let used = used
    rules = rules.filter { used.contains($0.key) }
    (undeclared, wanted, untold) = (Set(rules.keys), Set(waits.keys), Set(pauses.keys))
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
    for (name, count) in released.merging(unused, uniquingKeysWith: +) {
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
