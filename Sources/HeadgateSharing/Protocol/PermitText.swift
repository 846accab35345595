import HeadgateGate
import HeadgateThreads

// The texts of the permit protocol for end-points, scopes and limits.

extension EndPoint {
  /// `host:port`, `[address]:port`, `unix:/path` with the path percent-encoded, or the name of a resource.
  package var sharedName: String { isUnixSocket && !isResource ? "unix:" + PermitWords.escaped(host) : description }

  /// Parses `host:port`, `[address]:port`, `unix:/path` with the path percent-encoded, or the name of a resource. Returns
  /// nil for any other text.
  package init?(sharedName text: String) {
    let parsed: EndPoint?
    if text.hasPrefix("unix:") {
      parsed = PermitWords.unescaped(text.dropFirst(5)).flatMap { try? EndPoint(unixSocket: $0) }
    } else if let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) {
      parsed = try? EndPoint(host: String(text[..<colon]), port: port)
    } else {
      parsed = EndPoint(resource: text)
    }
    guard let parsed else { return nil }
    self = parsed
  }
}

extension RequestScope {
  /// `key:NAME`, `route:NAME` or `group:NAME`, the name percent-encoded.
  var sharedName: String {
    // Its description is the kind, a space and the name. It is searched by bytes, since a combining mark at the
    // beginning of the name would be part of the character before it.
    String(decoding: description.utf8.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self) + ":"
      + PermitWords.escaped(name)
  }

  init?(sharedName text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = PermitWords.unescaped(parts[1]) else { return nil }
    switch parts[0] {
    case "key": self = .key(name)
    case "route": self = .route(name)
    case "group": self = .group(name)
    default: return nil
    }
  }
}

extension Rate {
  /// `10/s`, or `FORM:COUNT:NANOSECONDS:SPREAD`.
  var sharedName: String {
    let short = "\(self)"
    if !short.contains(" "), let same = try? Rate(short), same == self { return short }
    let form = form == .spaced ? "spaced" : "rolling"
    return "\(form):\(count):\(period.wholeNanoseconds):\(spread.wholeNanoseconds)"
  }

  init(sharedName text: String) throws(LimitError) {
    let parts = text.split(separator: ":")
    guard parts.count == 4, let count = Int(parts[1]), let period = Int64(parts[2]), let spread = Int64(parts[3]) else {
      self = try Rate(text)
      return
    }
    self =
      parts[0] == "spaced"
      ? try .spaced(count, per: .nanoseconds(period), spread: .nanoseconds(spread))
      : try .rolling(count, per: .nanoseconds(period), spread: .nanoseconds(spread))
  }
}

extension Budget {
  /// `NAME:UNITS:NANOSECONDS`, the name percent-encoded.
  var sharedName: String { "\(PermitWords.escaped(name)):\(units):\(window.wholeNanoseconds)" }

  init?(sharedName text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, let name = PermitWords.unescaped(parts[0]), let units = Int(parts[1]),
      let window = Int64(parts[2]), let budget = try? Budget(name, units: units, per: .nanoseconds(window))
    else { return nil }
    self = budget
  }
}

extension PermitWords {
  mutating func add(_ limits: EndPointLimits) {
    add("requests", "\(limits.requests)")
    add("long", "\(limits.long)")
    add(rates: limits.rates, limits.minimumInterval, limits.budgets)
  }

  mutating func add(_ limits: ScopeLimits) {
    if let requests = limits.requests { add("requests", "\(requests)") }
    add(rates: limits.rates, limits.minimumInterval, limits.budgets)
  }

  private mutating func add(rates: [Rate], _ interval: Duration, _ budgets: [Budget]) {
    for rate in rates { add("rate", rate.sharedName) }
    if interval > .zero { add("interval", "\(interval.wholeNanoseconds)") }
    for budget in budgets { add("budget", budget.sharedName) }
  }

  /// The limits of an end-point. Nil if a word is invalid.
  var endPointLimits: EndPointLimits? {
    guard let (rates, interval, budgets) = pace, let requests = Int(first("requests") ?? "6") else { return nil }
    guard let long = first("long").map({ Int($0) }) ?? max(1, requests / 2) else { return nil }
    return try? EndPointLimits(
      requests: requests, long: long, keepsRoomForShort: long < max(2, requests), rates: rates,
      minimumInterval: interval, budgets: budgets)
  }

  /// The limits of a scope. Nil if a word is invalid.
  var scopeLimits: ScopeLimits? {
    guard let (rates, interval, budgets) = pace else { return nil }
    let requests = first("requests").map { Int($0) }
    if let requests, requests == nil { return nil }
    return try? ScopeLimits(
      requests: requests ?? nil, rates: rates, minimumInterval: interval, budgets: budgets)
  }

  private var pace: (rates: [Rate], interval: Duration, budgets: [Budget])? {
    guard let interval = Int64(first("interval") ?? "0"), interval >= 0 else { return nil }
    let rates = all("rate").map { try? Rate(sharedName: $0) }
    let budgets = all("budget").map { Budget(sharedName: $0) }
    guard !rates.contains(nil), !budgets.contains(nil) else { return nil }
    return (rates.compactMap { $0 }, .nanoseconds(interval), budgets.compactMap { $0 })
  }

  /// Weights, from words such as `weight=tokens:400`. Nil if a word is invalid.
  var weights: [String: Int]? {
    var weights: [String: Int] = [:]
    for word in all("weight") {
      let parts = word.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let name = Self.unescaped(parts[0]), let units = Int(parts[1]), units >= 0 else {
        return nil
      }
      weights[name] = units
    }
    return weights
  }

  mutating func add(weights: [String: Int]) {
    for (name, units) in weights.sorted(by: { $0.key < $1.key }) { add("weight", "\(Self.escaped(name)):\(units)") }
  }
}
