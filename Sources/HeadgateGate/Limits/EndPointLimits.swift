import HeadgateThreads

/// The limits of one end-point: the number of running requests, how many of them may be long, the number of sockets,
/// and the share of the total.
public struct EndPointLimits: Hashable, Sendable {
  /// The maximum number of running requests, short and long together. At least 1. With HTTP/2 these are streams,
  /// subject to `connections`.
  public let requests: Int

  /// The maximum number of long requests among them. At least 1, and less than `connections` unless that is 1 or the
  /// limit was created by ``allLong(requests:connections:weight:rates:minimumInterval:budgets:)``. In that case long
  /// requests may use every socket, and short ones wait until one of them ends.
  public let long: Int

  /// The maximum number of open sockets, including idle and closing ones, for all dispatchers that share the gate. Each
  /// bare permit counts as one. At least 1 and at most `requests`, which is the default.
  ///
  /// A number below `requests` is for servers with HTTP/2, where one socket carries many requests: `requests` then
  /// limits the streams, and this the sockets. Until the end-point has used HTTP/2, and whenever it does not (HTTP/1.1,
  /// a transport that can't tell), no more requests run than sockets are allowed. The others wait in the queue.
  public let connections: Int

  /// The share of the starts at the total limit, relative to other end-points: twice the weight gives twice the share.
  /// 1 to 1,000; 1 by default.
  public let weight: Int

  // Nil if no rate, interval or budget is set.
  let pace: Pace?

  /// The rates at which requests may start. All of them apply. None by default.
  public var rates: [Rate] { pace?.rates ?? [] }

  /// The minimum time between starts. Zero by default.
  public var minimumInterval: Duration { pace?.minimumInterval ?? .zero }

  /// The budgets for the weights of requests. All of them apply. See `DispatchRequest.weights`. None by default.
  public var budgets: [Budget] { pace?.budgets ?? [] }

  /// Six requests, three of which may be long: the usual limit of browsers with HTTP/1.1.
  public static let standard = EndPointLimits(unchecked: 6, 3, 6, 1)

  /// Four requests, two of which may be long: the limits of the classic dispatcher on a phone.
  public static let classic = EndPointLimits(unchecked: 4, 2, 4, 1)

  /// Creates a limit.
  ///
  /// - Parameters:
  ///   - requests: The maximum number of running requests, 1 or more.
  ///   - long: The maximum number of long requests among them: 1 or more, less than `connections` (or 1 if that is 1),
  ///     because each may need its own socket. Half of `connections` by default.
  ///   - connections: The maximum number of sockets, from 1 to `requests`; `requests` by default.
  ///   - weight: The share of the total, relative to other end-points.
  ///   - rates: The rates at which requests may start.
  ///   - minimumInterval: The minimum time between starts, at most 366 days.
  ///   - budgets: The budgets for the weights of requests, at most one for each name.
  /// - Throws: ``LimitError`` if a number is out of range. Numbers are never clamped silently, and 0 never means "no
  ///   limit".
  public init(
    requests: Int, long: Int? = nil, connections: Int? = nil, weight: Int = 1, rates: [Rate] = [],
    minimumInterval: Duration = .zero, budgets: [Budget] = []
  ) throws(LimitError) {
    let pace = try Pace.of(rates, minimumInterval, budgets)
    try self.init(requests, long, connections, weight, pace)
  }

  private init(
    _ requests: Int, _ long: Int?, _ connections: Int?, _ weight: Int, _ pace: Pace?, mayBeAllLong: Bool = false
  ) throws(LimitError) {
    guard requests >= 1 else { throw LimitError("an end-point's limit must be at least 1, not \(requests)") }
    let sockets = connections ?? requests
    guard (1...requests).contains(sockets) else {
      throw LimitError(
        "an end-point's connections must be at least 1 and at most its requests (\(requests)), not \(sockets)")
    }
    guard (1...1000).contains(weight) else { throw LimitError("a weight must be between 1 and 1,000, not \(weight)") }
    let share = long ?? max(1, sockets / 2)
    guard share >= 1 else { throw LimitError("the long lane's limit must be at least 1, not \(share)") }
    guard mayBeAllLong || share < sockets || sockets == 1 && share == 1 else {
      let whose = sockets == requests ? "the end-point's limit" : "its limit on connections"
      throw LimitError(
        "the long lane's limit (\(share)) must be below \(whose) (\(sockets)), or long requests could shut "
          + "out short ones; use EndPointLimits.allLong(requests:) if that is intended")
    }
    self.init(unchecked: requests, share, sockets, weight, pace)
  }

  /// Creates a limit under which long requests may use every socket. Short requests may then have to wait until one
  /// ends.
  ///
  /// - Parameters:
  ///   - requests: The maximum number of running requests, 1 or more.
  ///   - connections: The maximum number of sockets, as in
  ///     ``init(requests:long:connections:weight:rates:minimumInterval:budgets:)``. As many requests may be long.
  ///   - weight: The share of the total, relative to other end-points.
  ///   - rates: The rates at which requests may start.
  ///   - minimumInterval: The minimum time between starts.
  ///   - budgets: The budgets for the weights of requests.
  /// - Throws: ``LimitError`` if a number is out of range.
  public static func allLong(
    requests: Int, connections: Int? = nil, weight: Int = 1, rates: [Rate] = [], minimumInterval: Duration = .zero,
    budgets: [Budget] = []
  ) throws(LimitError) -> EndPointLimits {
    let pace = try Pace.of(rates, minimumInterval, budgets)
    return try EndPointLimits(requests, connections ?? requests, connections, weight, pace, mayBeAllLong: true)
  }

  /// A copy with another limit on long requests.
  func with(long: Int) throws(LimitError) -> EndPointLimits {
    try EndPointLimits(requests, long, connections, weight, pace)
  }

  /// A copy with another minimum time between starts, randomly extended by up to a fraction of itself.
  ///
  /// - Parameters:
  ///   - minimumInterval: The minimum time; zero for none.
  ///   - jitter: 0 to 1.
  package func with(minimumInterval: Duration, jitter: Double) throws(LimitError) -> EndPointLimits {
    let pace = try Pace.of(rates, minimumInterval, budgets, jitter: jitter)
    return EndPointLimits(unchecked: requests, long, connections, weight, pace)
  }

  init(unchecked requests: Int, _ long: Int, _ connections: Int, _ weight: Int, _ pace: Pace? = nil) {
    self.requests = requests
    self.long = long
    self.connections = connections
    self.weight = weight
    self.pace = pace
  }
}

/// An invalid limit.
public struct LimitError: HeadgateError, Hashable {
  /// `invalid_limit`.
  public var codeName: String { "invalid_limit" }

  /// What is wrong, and which values are valid. Invisible characters are escaped.
  public let description: String

  init(_ description: String) { self.description = ShownText.of(description) }
}
