import HeadgateThreads

/// Why a request waits: the one limit that keeps it from starting, and the number of requests ahead of it.
///
///     print(request.waitReason ?? "runs")
///
///     limit 4/4
///     behind 3 others: 10/s, next in 80 ms
///     key acct-7: paused 12.0 s by 429
///
/// If several limits apply, the first of these is reported: stopped manually; paused or unreachable; the end-point's
/// limit; its long lane's limit; the limits of the request's scopes in their order; the connections left for requests
/// that share none; the end-point's rates and budgets; the total.
public struct WaitReason: Hashable, Sendable, CustomStringConvertible {
  /// The kind of limit. More kinds may be added: a `switch` needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    // A trivial value, and a place in `WaitSums`.
    enum Word: UInt8, CaseIterable, Sendable {
      case limit, longLane, scope, socket, total, rate, budget, quota, paused, unreachable, recovering, stopped, shared
      case memory, bandwidth, turn
    }

    let word: Word

    init(_ word: Word) { self.word = word }

    /// A word for logs and metrics, from a bounded set.
    public var description: String {
      switch word {
      case .limit: "limit"
      case .longLane: "long_lane"
      case .scope: "scope"
      case .socket: "socket"
      case .total: "total"
      case .rate: "rate"
      case .budget: "budget"
      case .quota: "quota"
      case .paused: "paused"
      case .unreachable: "unreachable"
      case .recovering: "recovering"
      case .stopped: "stopped"
      case .shared: "shared"
      case .memory: "memory"
      case .bandwidth: "bandwidth"
      case .turn: "turn"
      }
    }

    /// The maximum number of requests is running.
    public static let limit = Kind(.limit)
    /// The maximum number of long requests is running.
    public static let longLane = Kind(.longLane)
    /// The maximum number of requests of one of its scopes is running.
    public static let scope = Kind(.scope)
    /// No connection is left for it: the maximum number is open, or is in use by requests that share none.
    public static let socket = Kind(.socket)
    /// The maximum number of requests at all end-points is running.
    public static let total = Kind(.total)
    /// A rate, or the minimum time between starts.
    public static let rate = Kind(.rate)
    /// A budget has no room for the request's weight.
    public static let budget = Kind(.budget)
    /// The server reported that it accepts no more before its window ends.
    public static let quota = Kind(.quota)
    /// The server refused a request, and the end-point pauses.
    public static let paused = Kind(.paused)
    /// The server could not be reached, and is tried again later.
    public static let unreachable = Kind(.unreachable)
    /// The end-point was paused, and until it has recovered the number of requests or the interval between starts is
    /// limited.
    public static let recovering = Kind(.recovering)
    /// The end-point was stopped manually.
    public static let stopped = Kind(.stopped)
    /// The limit that several programs share: see ``GateCoordinator``.
    public static let shared = Kind(.shared)
    /// The bodies that are collected take up all memory that is allowed for them. Only in ``WaitTimes``.
    public static let memory = Kind(.memory)
    /// The bandwidth limit is used up. Only in ``WaitTimes``.
    public static let bandwidth = Kind(.bandwidth)
    /// Other requests go first, and no limit applies.
    public static let turn = Kind(.turn)
  }

  enum Cause: Hashable, Sendable {
    case stopped, turn, shared
    case limit(Int, of: Int)
    /// The maximum number of requests that have a socket of their own is running.
    case sockets(Int, of: Int)
    /// The maximum number of requests learned from refusals is running.
    case learnedLimit(Int, of: Int)
    case longLane(Int, of: Int)
    case total(Int, of: Int)
    case totalLong(Int, of: Int)
    case recovering(Int, of: Int)
    /// The reason of the last failure is nil if it is not known, as after the report of a bare permit.
    case unreachable(because: String?)
    /// The status is nil if a bare permit reported the refusal.
    case paused(status: Int?)
    case start(StartCause)
  }

  private struct Fields: Hashable {
    let cause: Cause
    let scope: RequestScope?
    let until: Deadline?
    let remaining: Duration?
    let ahead: Int
  }

  // Indirect: every result of the scheduler can hold a reason, but few do.
  private indirect enum Box: Hashable {
    case of(Fields)
  }

  private let box: Box
  private var fields: Fields {
    switch box {
    case .of(let fields): fields
    }
  }

  var cause: Cause { fields.cause }
  /// The scope of the limit. Nil for a limit of the end-point or the gate.
  public var scope: RequestScope? { fields.scope }
  /// The time until which this limit lets nothing start, by the gate's clock. Nil if the wait does not depend on time.
  public var until: Deadline? { fields.until }
  /// The time from the query until then.
  public var remaining: Duration? { fields.remaining }
  /// The number of requests ahead of it in its lane, with the same scopes.
  public var ahead: Int { fields.ahead }

  init(_ cause: Cause, scope: RequestScope? = nil, until: Deadline? = nil, ahead: Int = 0, at now: Deadline) {
    let remaining = until.map { max(.zero, $0 - now) }
    box = .of(Fields(cause: cause, scope: scope, until: until, remaining: remaining, ahead: ahead))
  }

  /// The kind of limit.
  public var kind: Kind {
    switch cause {
    case .stopped: .stopped
    case .turn: .turn
    case .shared: .shared
    case .unreachable: .unreachable
    case .limit: scope == nil ? .limit : .scope
    case .sockets: .socket
    case .learnedLimit: .limit
    case .longLane: .longLane
    case .total, .totalLong: .total
    case .recovering: .recovering
    case .paused: .paused
    case .start(let cause): cause.kind
    }
  }

  /// A readable text: `limit 4/4`, `connections 3/3`, `limit 3/3 learned`, `long lane 2/2`, `total 1024/1024`, `10/s, next in 80 ms`,
  /// `paused 12.0 s by 429` (without a status if a bare permit reported it), `unreachable, next try in 5.0 s`, `stopped`. The
  /// reason of the last failure to reach the end-point follows, if it is known. A scope's limit begins with the scope's name.
  /// The text begins with `behind 3 others` if other requests are ahead.
  public var description: String {
    let place = scope.map { "\($0): " } ?? ""
    guard ahead > 0 else { return cause == .turn ? "its turn" : place + wordsWithoutScope }
    let before = ahead == 1 ? "behind 1 other" : "behind \(ahead) others"
    return cause == .turn ? before : "\(before): \(place)\(wordsWithoutScope)"
  }

  /// The text for the next request in line, without the scope's name.
  var wordsWithoutScope: String {
    let left = (remaining ?? .zero).words
    return switch cause {
    case .stopped: "stopped"
    case .turn: "its turn"
    case .shared: "a permit shared with other programs"
    case .unreachable(let reason): "unreachable, next try in \(left)" + (reason.map { ": \($0)" } ?? "")
    case .limit(let running, let most): "limit \(running)/\(most)"
    case .sockets(let running, let most): "connections \(running)/\(most)"
    case .learnedLimit(let running, let most): "limit \(running)/\(most) learned"
    case .longLane(let running, let most): "long lane \(running)/\(most)"
    case .total(let running, let most): "total \(running)/\(most)"
    case .totalLong(let running, let most): "long half of the total \(running)/\(most)"
    case .recovering(let running, let most): "recovering \(running)/\(most)"
    case .paused(let status): "paused \(left)" + (status.map { " by \($0)" } ?? "")
    case .start(.rate(let rate)): "\(rate), next in \(left)"
    case .start(.learnedRate(let rate)): "\(AdaptiveLimit.words(ofRate: rate)) learned, next in \(left)"
    case .start(.minimumInterval(let interval)): "\(interval.words) between starts, next in \(left)"
    case .start(.budget(let budget, let weight)):
      "\(weight) of \(budget.units) \(ShownText.of(budget.name)) in \(budget.window.words), next in \(left)"
    case .start(.quota): "the server's quota, next in \(left)"
    case .start(.recovery(let interval)): "recovering, \(interval.words) between starts, next in \(left)"
    }
  }
}

extension StartCause {
  /// The kind of limit.
  var kind: WaitReason.Kind {
    switch self {
    case .rate, .minimumInterval, .learnedRate: .rate
    case .budget: .budget
    case .quota: .quota
    case .recovery: .recovering
    }
  }
}
