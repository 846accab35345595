import HeadgateThreads

/// How many requests an end-point tolerates at once: in all, how many of them may be long, and over how many sockets. And
/// its share of the total.
public struct EndPointLimits: Hashable, Sendable {
  /// Requests under way at once, short and long together. At least 1. With HTTP/2: streams, subject to `connections`.
  public let requests: Int

  /// Long requests among them. At least 1, and below `connections` unless that is 1 or it was asked for by name: then long
  /// ones may have every socket, and short ones wait until one of them ends.
  public let long: Int

  /// Sockets open at once, idle and closing ones included, over all dispatchers that share the gate; each bare permit counts
  /// as one. At least 1, at most `requests`, which it is unless given.
  ///
  /// Below `requests` it is for servers that speak HTTP/2, where one socket carries many requests: `requests` limits the
  /// streams then, and this the sockets. Until the end-point has shown that it does, and whenever it does not (HTTP/1.1,
  /// a transport that can't tell), no more requests run than there may be sockets; the others wait in the queue.
  public let connections: Int

  /// How many requests it starts in a row when its turn comes, while the total over all end-points is what everybody
  /// waits for: twice the weight, twice the share. 1 to 1,000; 1 unless given.
  public let weight: Int

  // Nil where neither a rate, an interval nor a budget is set.
  let pace: Pace?

  /// How soon requests may follow one another there; all of them hold. None unless given.
  public var rates: [Rate] { pace?.rates ?? [] }

  /// The least time from one start to the next. Zero unless given.
  public var minimumInterval: Duration { pace?.minimumInterval ?? .zero }

  /// What its requests may weigh together in a stretch of time; all of them hold. See ``DispatchRequest/weights``. None
  /// unless given.
  public var budgets: [Budget] { pace?.budgets ?? [] }

  /// Six, of which three may be long: what browsers allow themselves with HTTP/1.1.
  public static let standard = EndPointLimits(unchecked: 6, 3, 6, 1)

  /// Four, of which two may be long: what the classic dispatcher allowed on a phone.
  public static let classic = EndPointLimits(unchecked: 4, 2, 4, 1)

  /// A limit for an end-point.
  ///
  /// - Parameters:
  ///   - requests: Requests at once, 1 or more.
  ///   - long: Long ones among them, 1 or more, fewer than `connections` (or 1 when that is 1): each may need a socket of
  ///     its own. Half of `connections` unless given.
  ///   - connections: Sockets at once, 1 or more and no more than `requests`; as many as `requests` unless given.
  ///   - weight: Its share of the total, beside those of other end-points.
  ///   - rates: How many starts in a stretch of time, beside how many at once.
  ///   - minimumInterval: The least time from one start to the next, at most 366 days.
  ///   - budgets: What its requests may weigh together in a stretch of time; one of each name.
  /// - Throws: ``LimitError`` for a number that is out of range: nothing is clamped in silence, and 0 never means "no
  ///   limit".
  public init(
    requests: Int, long: Int? = nil, connections: Int? = nil, weight: Int = 1, rates: [Rate] = [],
    minimumInterval: Duration = .zero, budgets: [Budget] = []
  ) throws(LimitError) {
    let pace = try Pace.of(rates, minimumInterval, budgets)
    try self.init(requests, long, connections, weight, pace)
  }

  private init(
    _ requests: Int, _ long: Int?, _ connections: Int?, _ weight: Int, _ pace: Pace?
  ) throws(LimitError) {
    let sockets = try Self.checked(requests, connections ?? requests)
    let share = long ?? max(1, sockets / 2)
    guard share >= 1 else { throw LimitError("the long lane's limit must be at least 1, not \(share)") }
    guard share < sockets || sockets == 1 && share == 1 else {
      let whose = sockets == requests ? "the end-point's" : "that on its connections"
      throw LimitError(
        "the long lane's limit (\(share)) must be below \(whose) (\(sockets)), or long requests could shut "
          + "out short ones; use EndPointLimits.allLong(requests:) where that is meant")
    }
    self.init(unchecked: requests, share, sockets, try Self.checked(weight), pace)
  }

  /// A limit whose every socket may be used by a long request: short ones then may have to wait for a stream's end.
  ///
  /// - Parameters:
  ///   - requests: Requests at once, 1 or more.
  ///   - connections: Sockets at once, as in ``init(requests:long:connections:weight:rates:minimumInterval:budgets:)``.
  ///     As many requests may be long.
  ///   - weight: Its share of the total, beside those of other end-points.
  ///   - rates: How many starts in a stretch of time.
  ///   - minimumInterval: The least time from one start to the next.
  ///   - budgets: What its requests may weigh together in a stretch of time.
  /// - Throws: ``LimitError`` for a number that is out of range.
  public static func allLong(
    requests: Int, connections: Int? = nil, weight: Int = 1, rates: [Rate] = [], minimumInterval: Duration = .zero,
    budgets: [Budget] = []
  ) throws(LimitError) -> EndPointLimits {
    let sockets = try checked(requests, connections ?? requests)
    let pace = try Pace.of(rates, minimumInterval, budgets)
    return EndPointLimits(unchecked: requests, sockets, sockets, try checked(weight), pace)
  }

  /// The same with another limit on long requests.
  func with(long: Int) throws(LimitError) -> EndPointLimits {
    try EndPointLimits(requests, long, connections, weight, pace)
  }

  /// The same with another least time between two starts, which is longer by chance by such a part of itself at most.
  ///
  /// - Parameters:
  ///   - minimumInterval: Zero: none.
  ///   - jitter: 0 to 1.
  package func with(minimumInterval: Duration, jitter: Double) throws(LimitError) -> EndPointLimits {
    let pace = try Pace.of(rates, minimumInterval, budgets, jitter: jitter)
    return EndPointLimits(unchecked: requests, long, connections, weight, pace)
  }

  private static func checked(_ requests: Int, _ connections: Int) throws(LimitError) -> Int {
    guard requests >= 1 else { throw LimitError("an end-point's limit must be at least 1, not \(requests)") }
    guard (1...requests).contains(connections) else {
      throw LimitError(
        "an end-point's connections must be at least 1 and at most its requests (\(requests)), not \(connections)")
    }
    return connections
  }

  private static func checked(_ weight: Int) throws(LimitError) -> Int {
    guard (1...1000).contains(weight) else { throw LimitError("a weight must be between 1 and 1,000, not \(weight)") }
    return weight
  }

  private init(unchecked requests: Int, _ long: Int, _ connections: Int, _ weight: Int, _ pace: Pace? = nil) {
    self.requests = requests
    self.long = long
    self.connections = connections
    self.weight = weight
    self.pace = pace
  }
}

/// A limit that can't be.
public struct LimitError: HeadgateError, Hashable {
  /// `invalid_limit`.
  public var codeName: String { "invalid_limit" }

  /// What is wrong with it, and what to give instead. Characters that are not seen stand in it as escapes.
  public let description: String

  init(_ description: String) { self.description = ShownText.of(description) }
}
