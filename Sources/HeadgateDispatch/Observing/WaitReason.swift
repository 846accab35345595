import HeadgateThreads

/// What a request waits for: the one limit that keeps it from starting, and how many go before it.
///
///     print(operation.waitReason ?? "runs")
///
///     limit 4/4
///     behind 3 others: 10/s, next in 80 ms
///     key acct-7: paused 12.0 s by 429
///
/// Where several limits are in its way it is the first of these: stopped by hand, asleep (a pause, or out of reach), the
/// limit of the end-point, that of its long lane, those of the request's scopes in their order, the end-point's rates and
/// budgets, the total.
public struct WaitReason: Hashable, Sendable, CustomStringConvertible {
  /// Which limit it is. More may be added: a `switch` needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// A word for logs and metrics, from a bounded set.
    public let description: String

    /// As many run as may.
    public static let limit = Kind(description: "limit")
    /// As many long ones run as may.
    public static let longLane = Kind(description: "long_lane")
    /// As many run over all end-points as may.
    public static let total = Kind(description: "total")
    /// A rate, or the least time between two starts.
    public static let rate = Kind(description: "rate")
    /// A budget has no room for what the request weighs.
    public static let budget = Kind(description: "budget")
    /// The server has said that it takes no more before its window ends.
    public static let quota = Kind(description: "quota")
    /// The server refused a request, and is left alone for a while.
    public static let paused = Kind(description: "paused")
    /// It could not be reached, and is tried again later.
    public static let unreachable = Kind(description: "unreachable")
    /// It slept, and as many run as may until it is known to be well again, or start as soon after one another.
    public static let recovering = Kind(description: "recovering")
    /// It was stopped by hand.
    public static let stopped = Kind(description: "stopped")
    /// Others go first, and nothing else keeps it.
    public static let turn = Kind(description: "turn")
  }

  enum Cause: Hashable, Sendable {
    case stopped, turn, unreachable
    case limit(Int, of: Int)
    /// As many run as was learned from refusals.
    case learnedLimit(Int, of: Int)
    case longLane(Int, of: Int)
    case total(Int, of: Int)
    case totalLong(Int, of: Int)
    case recovering(Int, of: Int)
    case paused(status: Int)
    case start(StartCause)
  }

  private struct Fields: Hashable {
    let cause: Cause
    let scope: RequestScope?
    let until: Deadline?
    let remaining: Duration?
    let ahead: Int
  }

  // Boxed: every answer of the scheduler has room for a reason, and hardly any has one.
  private final class Box: Sendable {
    let fields: Fields

    init(_ fields: Fields) { self.fields = fields }
  }

  private let box: Box

  var cause: Cause { box.fields.cause }
  /// Whose limit it is; nil: that of the end-point, or of the gate.
  public var scope: RequestScope? { box.fields.scope }
  /// The time before which nothing can start as far as this limit goes, by the gate's clock; nil where that is not a
  /// question of time.
  public var until: Deadline? { box.fields.until }
  /// The time from the moment of the question until then.
  public var remaining: Duration? { box.fields.remaining }
  /// How many requests of its lane, with its scopes, go before it.
  public var ahead: Int { box.fields.ahead }

  init(_ cause: Cause, scope: RequestScope? = nil, until: Deadline? = nil, ahead: Int = 0, at now: Deadline) {
    let remaining = until.map { max(.zero, $0 - now) }
    box = Box(Fields(cause: cause, scope: scope, until: until, remaining: remaining, ahead: ahead))
  }

  /// Whether both say the same.
  public static func == (left: WaitReason, right: WaitReason) -> Bool { left.box.fields == right.box.fields }

  /// Hashes what it says.
  public func hash(into hasher: inout Hasher) { hasher.combine(box.fields) }

  /// Which limit it is.
  public var kind: Kind {
    switch cause {
    case .stopped: .stopped
    case .turn: .turn
    case .unreachable: .unreachable
    case .limit, .learnedLimit: .limit
    case .longLane: .longLane
    case .total, .totalLong: .total
    case .recovering: .recovering
    case .paused: .paused
    case .start(.rate), .start(.minimumInterval), .start(.learnedRate): .rate
    case .start(.budget): .budget
    case .start(.quota): .quota
    case .start(.recovery): .recovering
    }
  }

  /// For people: `limit 4/4`, `limit 3/3 learned`, `long lane 2/2`, `total 1024/1024`, `10/s, next in 80 ms`, `paused 12.0 s by 429`,
  /// `unreachable, next try in 5.0 s`, `stopped`, with the scope's name in front where it is not the end-point's, and with
  /// `behind 3 others` for one that is not the next.
  public var description: String {
    let place = scope.map { "\($0): " } ?? ""
    guard ahead > 0 else { return cause == .turn ? "its turn" : place + words }
    let before = ahead == 1 ? "behind 1 other" : "behind \(ahead) others"
    return cause == .turn ? before : "\(before): \(place)\(words)"
  }

  /// The same for the next one in line, without the scope's name.
  var wordsWithoutScope: String { words }

  private var words: String {
    let left = (remaining ?? .zero).words
    return switch cause {
    case .stopped: "stopped"
    case .turn: "its turn"
    case .unreachable: "unreachable, next try in \(left)"
    case .limit(let running, let most): "limit \(running)/\(most)"
    case .learnedLimit(let running, let most): "limit \(running)/\(most) learned"
    case .longLane(let running, let most): "long lane \(running)/\(most)"
    case .total(let running, let most): "total \(running)/\(most)"
    case .totalLong(let running, let most): "long half of the total \(running)/\(most)"
    case .recovering(let running, let most): "recovering \(running)/\(most)"
    case .paused(let status): "paused \(left) by \(status)"
    case .start(.rate(let rate)): "\(rate), next in \(left)"
    case .start(.learnedRate(let rate)): "\(AdaptiveLimit.words(ofRate: rate)) learned, next in \(left)"
    case .start(.minimumInterval(let interval)): "\(interval.words) between starts, next in \(left)"
    case .start(.budget(let budget, let weight)):
      "\(weight) of \(budget.units) \(ShownText.of(budget.name)) in \(budget.window.words), next in \(left)"
    case .start(.quota): "the server's quota, next in \(left)"
    case .start(.recovery(let distance)): "recovering, \(distance.words) between starts, next in \(left)"
    }
  }
}
