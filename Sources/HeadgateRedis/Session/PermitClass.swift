#if Redis
import HeadgateGate
import HeadgateThreads

// The texts in which the scripts get demands and limits. The comments of the scripts describe them.

/// The scopes and budgets in which a demand counts, and the rules for them that the requesting program has configured.
struct PermitClass: Sendable {
  let name: String
  let rules: [(scope: String, rule: String)]

  init(_ demand: SharedDemand) {
    let endPoint = Self.escaped(demand.endPoint.description)
    var words = ["\(endPoint) 1"]
    var rules = [(scope: endPoint, rule: Self.rule(demand.limits))]
    if demand.lane == .long {
      words.append("\(endPoint)%7Clong 1")
      rules.append((endPoint + "%7Clong", Self.rule(long: demand.limits)))
    }
    for scope in demand.scopes {
      let name = Self.escaped(scope.description)
      words.append("\(name) 1")
      if let limits = demand.scopeLimits[scope] { rules.append((name, Self.rule(limits))) }
    }
    let weights = demand.weights.sorted { $0.key < $1.key }.map { "\(Self.budget($0.key)):\(max(0, $0.value))" }
    name = words.joined(separator: " ") + "|" + weights.joined(separator: ",")
    self.rules = rules
  }

  /// The end-point's scope, how much of the pause is left in microseconds, rounded up, and its cause.
  static func words(_ pause: SharedPause) -> [String] {
    let cause =
      switch pause.cause {
      case .refused(let status): status.map { "\($0)" } ?? "refused"
      case .unreachable: "unreachable"
      }
    let left = (pause.left.wholeNanoseconds + 999) / 1000
    return [escaped(pause.endPoint.description), "\(left)", cause]
  }

  /// The cause of a pause. One of a later version is a refusal too.
  static func cause(_ text: String) -> SharedPause.Cause {
    text == "unreachable" ? .unreachable : .refused(status: Int(text))
  }

  /// The scope of a class's end-point.
  static func endPoint(_ name: String) -> String { String(name.prefix { $0 != " " }) }

  /// The scopes of a class and their units.
  static func scopes(_ name: String) -> [(scope: String, units: Int)] {
    let words = name.prefix { $0 != "|" }.split(separator: " ")
    return stride(from: 0, to: words.count - 1, by: 2).compactMap { place in
      Int(words[place + 1]).map { (String(words[place]), $0) }
    }
  }

  static func rule(_ limits: EndPointLimits, _ quarantine: Duration = .zero) -> String {
    rule("\(limits.requests)", quarantine, limits.rates, limits.minimumInterval, limits.budgets)
  }

  static func rule(_ limits: ScopeLimits, _ quarantine: Duration = .zero) -> String {
    rule(limits.requests.map { "\($0)" } ?? "", quarantine, limits.rates, limits.minimumInterval, limits.budgets)
  }

  static func rule(long limits: EndPointLimits, _ quarantine: Duration = .zero) -> String {
    rule("\(limits.long)", quarantine, [], .zero, [])
  }

  private static func rule(
    _ limit: String, _ quarantine: Duration, _ rates: [Rate], _ interval: Duration, _ budgets: [Budget]
  ) -> String {
    var rings = rates.map { rate in
      let nanoseconds = rate.period.wholeNanoseconds
      let count = Int64(rate.count)
      return rate.form == .spaced
        ? "1:\(guarded((nanoseconds + count - 1) / count, rate.spread))"
        : "\(count):\(guarded(nanoseconds, rate.spread))"
    }
    if interval > .zero { rings.append("1:\((interval.wholeNanoseconds + 999) / 1000)") }
    let amounts = budgets.map { "\(budget($0.name)):\($0.units):\(guarded($0.window.wholeNanoseconds, .zero))" }
    let pause = quarantine.wholeNanoseconds / 1000
    return "\(limit)|\(pause)|\(rings.joined(separator: ","))|\(amounts.joined(separator: ","))"
  }

  /// Microseconds, extended like a ``HeadgateGate/Rate`` so that it also holds where the server counts.
  private static func guarded(_ nanoseconds: Int64, _ spread: Duration) -> Int64 {
    (nanoseconds + max((nanoseconds + 49) / 50, spread.wholeNanoseconds) + 999) / 1000
  }

  /// Percent-encodes characters that have a meaning in the scripts or in Redis's key names.
  static func escaped(_ text: String) -> String {
    let special = Set("%|{},!".utf8)
    return URLText.percentEncoded(text.utf8) { _, byte in byte > 32 && byte < 127 && !special.contains(byte) }
  }

  /// The name of a budget, in which a colon ends the name.
  static func budget(_ name: String) -> String {
    escaped(name).split(separator: ":", omittingEmptySubsequences: false).joined(separator: "%3A")
  }

  /// The name of a scope for people.
  static func unescaped(_ text: String) -> String { URLText.percentDecoded(text) ?? text }
}
#endif
