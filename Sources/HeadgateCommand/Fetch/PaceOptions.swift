import ArgumentParser
import HeadgateDispatch

/// How soon requests to a host follow one another, and what becomes of hosts that refuse or can't be reached.
struct PaceOptions: ParsableArguments {
  @Option(
    name: .customLong("rate"),
    help: ArgumentHelp(
      "Starts at each host and port in a stretch of time: 10/s evenly spaced, 100/min, 5000/h or 20000/d in any such "
        + "stretch; or only for the hosts of a pattern. Repeatable; all that are said of a host hold. (default: those of "
        + "--min-interval)",
      valueName: "[host=]n/s"
    ),
    transform: OptionValue.rate
  )
  var rates: [RateRule] = []

  @Option(
    help: ArgumentHelp(
      "The least time from one start at a host to the next; 0: none. (default: 0.02 and by chance up to half as much "
        + "more, for hosts without a --rate that are not this machine)",
      valueName: "seconds"
    ),
    transform: OptionValue.secondsOrNone
  )
  var minInterval: Duration?

  @Option(
    help: ArgumentHelp(
      "What a host's 429, 503 and Retry-After mean: honour, the whole host pauses, for ten minutes at most; cap:SECONDS, "
        + "for so long at most; ignore, nothing pauses. (default: honour)",
      valueName: "how"
    ),
    transform: OptionValue.retryAfter
  )
  var retryAfter = RetryAfterRule.honour

  @Option(
    help: ArgumentHelp(
      "After so many failures in a row to reach a host (name, connection, TLS, first byte) it is tried only now and "
        + "then, and soon given up; 0: never. (default: 3)",
      valueName: "n"
    ),
    transform: OptionValue.whole
  )
  var hostFailures = 3

  @Flag(
    help: ArgumentHelp(
      "Learn from 429, 503 and 403 what each host takes: fewer at once, or fewer in a second, whichever it refused. Starts "
        + "with one request at a host; --per-host, --limit and --rate stay the most."))
  var adaptive = false

  @Option(
    help: ArgumentHelp(
      "Keep what --adaptive has learned in this file, an hour for each host, and begin with what is in it. Means "
        + "--adaptive.",
      valueName: "file"
    )
  )
  var adaptiveFile: String?

  /// The limits of a host without any of its own, and of those that a rule is for.
  ///
  /// - Parameter budgets: What the requests to each host may weigh together.
  func limits(
    perHost: Int, _ rules: [HostRule], budgets: [Budget] = []
  ) throws(LimitError) -> (EndPointLimits, [HostPattern: EndPointLimits]) {
    func limits(_ requests: Int, _ rates: [Rate]) throws(LimitError) -> EndPointLimits {
      let limits = try EndPointLimits(
        requests: requests, rates: rates, minimumInterval: minInterval ?? .zero, budgets: budgets)
      guard minInterval == nil, rates.isEmpty else { return limits }
      return try limits.with(minimumInterval: Self.usualInterval, jitter: Self.usualJitter)
    }
    let general = rates.filter { $0.pattern == nil }.map(\.rate)
    var all: [HostPattern: EndPointLimits] = [:]
    for rule in rules {
      let own = rates.filter { $0.pattern == rule.pattern }.map(\.rate)
      all[rule.pattern] = try limits(rule.limits.requests, own.isEmpty ? general : own)
    }
    for pattern in Set(rates.compactMap(\.pattern)) where all[pattern] == nil {
      all[pattern] = try limits(perHost, rates.filter { $0.pattern == pattern }.map(\.rate))
    }
    return (try limits(perHost, general), all)
  }

  /// The distance of starts where nobody has said anything: some forty a second, at irregular distances, which servers
  /// and those who watch them hardly ever take for an attack.
  static let usualInterval = Duration.milliseconds(20)
  static let usualJitter = 0.5

  /// Nil: hosts are tried as often as they are asked for.
  var breaker: BreakerPolicy? { hostFailures == 0 ? nil : BreakerPolicy(failures: hostFailures, sleeps: 2) }
}

/// A rate, for all hosts or those of a pattern.
struct RateRule: Hashable, Sendable {
  let pattern: HostPattern?
  let rate: Rate
}

/// What is done about a host that asks to be left alone.
enum RetryAfterRule: Hashable, Sendable {
  case honour
  case cap(Duration)
  case ignore

  var pauses: PausePolicy? {
    switch self {
    case .honour: PausePolicy()
    case .cap(let longest): PausePolicy(longest: longest)
    case .ignore: nil
    }
  }
}

extension OptionValue {
  /// `10/s`, `100/min`, or `PATTERN=` before it.
  static func rate(_ text: String) throws(OptionError) -> RateRule {
    do {
      guard let sign = text.lastIndex(of: "=") else { return RateRule(pattern: nil, rate: try Rate(text)) }
      return RateRule(
        pattern: try HostPattern(String(text[..<sign])), rate: try Rate(String(text[text.index(after: sign)...])))
    } catch {
      throw OptionError("\(error)")
    }
  }

  /// As `seconds`, and `0` for none.
  static func secondsOrNone(_ text: String) throws(OptionError) -> Duration {
    Double(text) == 0 ? .zero : try seconds(text)
  }

  /// `honour`, `cap:30`, `ignore`.
  static func retryAfter(_ text: String) throws(OptionError) -> RetryAfterRule {
    switch text {
    case "honour", "honor": return .honour
    case "ignore": return .ignore
    default:
      guard text.hasPrefix("cap:") else { throw OptionError("write honour, ignore, or cap:30 for 30 seconds at most") }
      return .cap(try seconds(String(text.dropFirst(4))))
    }
  }
}
