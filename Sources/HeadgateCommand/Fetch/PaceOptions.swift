import ArgumentParser
import HeadgateDispatch

/// How fast requests to a host are started, and how hosts that refuse requests or can't be reached are handled.
struct PaceOptions: ParsableArguments {
  @Option(
    name: .customLong("rate"),
    help: ArgumentHelp(
      "Requests that may start per host and port in a period: 10/s evenly spaced; 100/min, 5000/h or 20000/d in any "
        + "such period. With a pattern before it, only for its hosts; with the name of a --group, for all of its hosts "
        + "together. Repeatable: all rates of a host's most specific pattern apply together. "
        + "(default: see --min-interval)",
      valueName: "[host=]n/s"
    ),
    transform: OptionValue.rate
  )
  var rates: [RateRule] = []

  @Option(
    name: .customLong("limit-rate"),
    help: ArgumentHelp(
      "The most bytes per second that all transfers together receive and send: 500K, 20M (powers of 1024). They share it "
        + "in equal parts. With a pattern before it, each of its hosts. Repeatable: the most specific pattern applies.",
      valueName: "[host=]bytes"
    ),
    transform: OptionValue.bandwidth
  )
  var bandwidths: [BandwidthRule] = []

  @Option(
    help: ArgumentHelp(
      "The minimum time between two starts at a host; 0 for none. (default: 0.02 and a random addition of up to half as "
        + "much, for hosts without a --rate that are not this machine)",
      valueName: "seconds"
    ),
    transform: OptionValue.secondsOrNone
  )
  var minInterval: Duration?

  @Option(
    help: ArgumentHelp(
      "How to treat a host's 429, 503 and Retry-After: honour, pause the whole host, for at most ten minutes; "
        + "cap:SECONDS, pause it for at most this time; ignore, never pause it. (default: honour)",
      valueName: "how"
    ), completion: .list(["honour", "cap:", "ignore"]),
    transform: OptionValue.retryAfter
  )
  var retryAfter = RetryAfterRule.honour

  @Option(
    help: ArgumentHelp(
      "Header fields in which a server states what is left of a quota and when it is full again, or how long to wait, "
        + "before the usual ones: remaining=FIELD,reset=FIELD, optionally with limit=FIELD and of=tokens, or "
        + "wait=FIELD. unit=s or unit=ms says what a number means. (default: seconds, or a moment since 1970) "
        + "Repeatable.",
      valueName: "fields"
    ),
    transform: RateFieldsRule.init
  )
  var rateFields: [RateFieldsRule] = []

  @Option(
    help: ArgumentHelp(
      "How long a host may refuse requests (see --retry-after) without answering any before what is left of it is given "
        + "up, in seconds or as 15m, 2h; a host that asks for a longer wait is given up at once. 0: wait as long as the "
        + "host asks, up to a day at a time. (default: 15m, and 0 with --retry-after cap or ignore)",
      valueName: "time"
    ),
    transform: OptionValue.time
  )
  var hostPatience: Duration?

  @Option(
    help: ArgumentHelp(
      "After this number of consecutive failures to reach a host (name, connection, TLS, first byte), suspend it and "
        + "probe it with single requests; when several probes have failed, its URLs fail. 0 for never. (default: 3)",
      valueName: "n"
    ),
    transform: OptionValue.whole
  )
  var hostFailures = 3

  @Flag(
    help: ArgumentHelp(
      "Learn from 429, 503 and 403 what each host accepts, and reduce concurrent requests or the rate accordingly. "
        + "Starts with one request per host. --per-host, --limit and --rate remain the upper bounds."))
  var adaptive = false

  @Option(
    help: ArgumentHelp(
      "Store the limits that --adaptive learns in this file, for an hour per host, and start with its contents. "
        + "Implies --adaptive.",
      valueName: "file"
    ), completion: .file()
  )
  var adaptiveFile: String?

  /// The default limits of a host, and those of the hosts that rules name.
  ///
  /// - Parameters:
  ///   - groups: What is for a group is no limit of a host.
  ///   - budgets: The budgets for the total weight of the requests to each host.
  func limits(
    perHost: Int, _ rules: [HostRule], besides groups: HostGroups, budgets: [Budget] = []
  ) throws(LimitError) -> (EndPointLimits, [HostPattern: EndPointLimits]) {
    func limits(_ requests: Int, _ rates: [Rate], _ bandwidth: Int? = nil) throws(LimitError) -> EndPointLimits {
      let limits = try EndPointLimits(
        requests: requests, rates: rates, minimumInterval: minInterval ?? .zero, budgets: budgets,
        bandwidth: bandwidth)
      guard minInterval == nil, rates.isEmpty else { return limits }
      return try limits.with(minimumInterval: Self.usualInterval, jitter: Self.usualJitter)
    }
    let general = rates.filter { $0.hosts == nil }.map(\.rate)
    var all: [HostPattern: EndPointLimits] = [:]
    let requests = Dictionary(
      rules.filter { !groups.include($0.hosts) }.map { ($0.hosts.pattern, $0.limits.requests) }
    ) { $1 }
    let ratesOf = Dictionary(
      rates.filter { !groups.include($0.hosts) }.compactMap { rule in rule.hosts.map { ($0.pattern, [rule.rate]) } },
      uniquingKeysWith: +)
    let bandwidthOf = Dictionary(bandwidths.compactMap { rule in rule.hosts.map { ($0.pattern, rule.bytes) } }) { $1 }
    // One rule applies to a host, so each one has what wider patterns say of the other limits.
    for pattern in Set(requests.keys).union(ratesOf.keys).union(bandwidthOf.keys) {
      all[pattern] = try limits(
        HostPattern.mostSpecific(in: requests, covering: pattern) ?? perHost,
        HostPattern.mostSpecific(in: ratesOf, covering: pattern) ?? general,
        HostPattern.mostSpecific(in: bandwidthOf, covering: pattern))
    }
    return (try limits(perHost, general), all)
  }

  /// The default spacing of starts: about forty a second, at irregular intervals, which servers and their operators are
  /// unlikely to take for an attack.
  static let usualInterval = Duration.milliseconds(20)
  static let usualJitter = 0.5

  /// The bandwidth of all transfers together, in bytes per second. Nil: no limit.
  var bandwidth: Int? { bandwidths.last { $0.hosts == nil }?.bytes }

  /// When a host pauses, and when it is given up. Nil: never.
  var pauses: PausePolicy? {
    var pauses = retryAfter.pauses
    // With a cap, the user has chosen to ask again long before the time that the host names.
    let patience = hostPatience ?? (retryAfter == .honour ? Self.usualPatience : .zero)
    pauses?.patience = patience > .zero ? patience : nil
    // As long as it takes: no wait that a server can name is cut short.
    if retryAfter == .honour, patience == .zero { pauses?.maxPause = .seconds(86_400) }
    return pauses
  }

  static let usualPatience = Duration.seconds(900)

  /// Nil: hosts that fail are tried as often as any other.
  var breaker: BreakerPolicy? { hostFailures == 0 ? nil : BreakerPolicy(failures: hostFailures, probes: 2) }
}

/// A rate, for all hosts or those of a pattern, or for a group.
struct RateRule: Hashable, Sendable {
  let hosts: LimitedHosts?
  let rate: Rate
}

/// A bandwidth in bytes per second: of all transfers together, or of each host of a pattern.
struct BandwidthRule: Hashable, Sendable {
  let hosts: LimitedHosts?
  let bytes: Int
}

/// How to treat a host that asks for a pause.
enum RetryAfterRule: Hashable, Sendable {
  case honour
  case cap(Duration)
  case ignore

  var pauses: PausePolicy? {
    switch self {
    case .honour: PausePolicy()
    case .cap(let longest): PausePolicy(maxPause: longest)
    case .ignore: nil
    }
  }
}

extension OptionValue {
  /// Parses `10/s` or `100/min`, with or without `PATTERN=` before it.
  static func rate(_ text: String) throws(OptionError) -> RateRule {
    let (hosts, rate) = try ruled(text)
    do { return RateRule(hosts: hosts, rate: try Rate(rate)) } catch { throw OptionError("\(error)") }
  }

  /// Parses `20M`, with or without `PATTERN=` before it.
  static func bandwidth(_ text: String) throws(OptionError) -> BandwidthRule {
    let (hosts, bytes) = try ruled(text)
    return BandwidthRule(hosts: hosts, bytes: try size(bytes))
  }

  /// Parses `VALUE` or `PATTERN=VALUE`.
  private static func ruled(_ text: String) throws(OptionError) -> (hosts: LimitedHosts?, value: String) {
    guard let sign = text.lastIndex(of: "=") else { return (nil, text) }
    return (try LimitedHosts(String(text[..<sign])), String(text[text.index(after: sign)...]))
  }

  /// Parses seconds, with `0` for none.
  static func secondsOrNone(_ text: String) throws(OptionError) -> Duration {
    Double(text) == 0 ? .zero : try seconds(text)
  }

  /// Parses `90`, `90s`, `15m`, `2h` or `1d`, with `0` for none.
  static func time(_ text: String) throws(OptionError) -> Duration {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    let unit = text.last.flatMap { units[$0] }
    guard let number = Double(unit == nil ? text : String(text.dropLast())), number >= 0 else {
      throw OptionError("write a time, such as 90, 15m or 2h")
    }
    return number == 0 ? .zero : try seconds("\(number * (unit ?? 1))")
  }

  /// Parses `honour`, `cap:30` or `ignore`.
  static func retryAfter(_ text: String) throws(OptionError) -> RetryAfterRule {
    switch text {
    case "honour", "honor": return .honour
    case "ignore": return .ignore
    default:
      guard text.hasPrefix("cap:") else { throw OptionError("write honour, ignore, or cap:30 for at most 30 seconds") }
      return .cap(try seconds(String(text.dropFirst(4))))
    }
  }
}
