import HeadgateThreads

/// The limits of one end-point: the number of running requests, how many of them may be long, the number of sockets,
/// and the share of the total.
///
/// Each can be changed alone, for example in ``EndPointGate/updateLimits(_:)``:
///
///     gate.updateLimits { $0.endPoint.requests = 10 }
///
/// The initializer throws if a number is out of range. A property takes the nearest number in range.
public struct EndPointLimits: Hashable, Sendable {
  /// The maximum number of running requests, short and long together. At least 1. With HTTP/2 these are streams,
  /// subject to `connections`. Setting it also sets ``connections`` if the two were equal, and lowers ``connections`` and
  /// ``long`` if they no longer fit. Raising it leaves ``long`` as it is.
  public var requests: Int {
    didSet {
      if requests < 1 { requests = 1 }
      (connections, long) = (connections == oldValue ? requests : connections, long)
    }
  }

  /// The maximum number of long requests among them. At least 1, and less than `requests` unless that is 1, or unless
  /// ``keepsRoomForShort`` is false.
  ///
  /// While the end-point has not used HTTP/2, each long request needs its own socket, and one of the `connections` is
  /// left for short requests (unless there is only one, or ``keepsRoomForShort`` is false). Over libcurl, streams need
  /// their own sockets with HTTP/2 too.
  public var long: Int {
    didSet { long = min(max(1, long), keepsRoomForShort ? max(1, requests - 1) : requests) }
  }

  /// The maximum number of open sockets, including idle and closing ones, for all dispatchers that share the gate. Each
  /// bare permit counts as one. At least 1 and at most `requests`, which is the default.
  ///
  /// A number below `requests` is for servers with HTTP/2, where one socket carries many requests: `requests` then
  /// limits the streams, and this the sockets. Until the end-point has used HTTP/2, and whenever it does not (HTTP/1.1,
  /// a transport that can't tell), no more requests run than sockets are allowed. The others wait in the queue.
  public var connections: Int { didSet { connections = min(max(1, connections), requests) } }

  /// Whether at least one place is left for short requests. True by default. If false, ``long`` may be as high as
  /// ``requests``. If it is, long requests may use every place and every socket, and short ones wait until one of them
  /// ends. Setting it to false leaves ``long`` as it is.
  public var keepsRoomForShort: Bool { didSet { if keepsRoomForShort { long = min(long, max(1, requests - 1)) } } }

  /// The share of the starts at the total limit, relative to other end-points: twice the weight gives twice the share.
  /// 1 to 1,000; 1 by default.
  public var weight: Int { didSet { weight = min(max(1, weight), 1000) } }

  // Nil if no rate, interval or budget is set.
  private(set) var pace: Pace?

  /// The rates at which requests may start. All of them apply. None by default.
  public var rates: [Rate] {
    get { pace.rates }
    set { pace.rates = newValue }
  }

  /// The minimum time between starts. Zero by default, and at most 366 days.
  public var minimumInterval: Duration {
    get { pace.minimumInterval }
    set { pace.minimumInterval = newValue }
  }

  /// The budgets for the weights of requests. All of them apply. See `DispatchRequest.weights`. None by default. Of
  /// several with one name, the last counts.
  public var budgets: [Budget] {
    get { pace.budgets }
    set { pace.budgets = newValue }
  }

  /// The maximum bandwidth, in bytes per second, 1 or more: the bodies of responses and requests together, as they are
  /// received and sent. Heads are not counted. Nil, the default: none.
  ///
  /// The transfers that run share it in equal parts, whatever their dispatchers. What a slow one leaves, the others
  /// take. A transfer that has used its part is paused, which needs a transport with
  /// `TransportCapabilities.backPressure`, and counts as waiting: for its `timeout`, `idleTimeout` and `minimumSpeed`
  /// that time does not exist. A changed limit applies at once to transfers that began under one. The limit may be
  /// exceeded by what moves at full speed in 16 ms, and by one piece of each transfer.
  public var bandwidth: Int? { didSet { bandwidth = bandwidth.map { max(1, $0) } } }

  /// Six requests, three of which may be long: the usual limit of browsers with HTTP/1.1.
  public static let standard = EndPointLimits(unchecked: 6, 3, 6, 1)

  /// Four requests, two of which may be long: the limits of the classic dispatcher on a phone.
  public static let classic = EndPointLimits(unchecked: 4, 2, 4, 1)

  /// Creates a limit.
  ///
  /// - Parameters:
  ///   - requests: The maximum number of running requests, 1 or more.
  ///   - long: The maximum number of long requests among them: 1 or more, less than `requests` (or 1 if that is 1). Half
  ///     of `connections` by default.
  ///   - connections: The maximum number of sockets, from 1 to `requests`; `requests` by default.
  ///   - keepsRoomForShort: Whether at least one place is left for short requests. If not, `long` may be as high as
  ///     `requests`, which is then its default.
  ///   - weight: The share of the total, relative to other end-points.
  ///   - rates: The rates at which requests may start.
  ///   - minimumInterval: The minimum time between starts, at most 366 days.
  ///   - budgets: The budgets for the weights of requests, at most one for each name.
  ///   - bandwidth: The maximum bandwidth in bytes per second. Nil: none.
  /// - Throws: ``LimitError`` if a number is out of range. The initializer never clamps a number, and 0 never means
  ///   "no limit".
  public init(
    requests: Int, long: Int? = nil, connections: Int? = nil, keepsRoomForShort: Bool = true, weight: Int = 1,
    rates: [Rate] = [], minimumInterval: Duration = .zero, budgets: [Budget] = [], bandwidth: Int? = nil
  ) throws(LimitError) {
    guard requests >= 1 else { throw LimitError("an end-point's limit must be at least 1, not \(requests)") }
    let sockets = connections ?? requests
    guard (1...requests).contains(sockets) else {
      throw LimitError(
        "an end-point's connections must be at least 1 and at most its requests (\(requests)), not \(sockets)")
    }
    guard (1...1000).contains(weight) else { throw LimitError("a weight must be between 1 and 1,000, not \(weight)") }
    let share = long ?? (keepsRoomForShort ? max(1, sockets / 2) : requests)
    guard (1...requests).contains(share) else {
      throw LimitError(
        "the long lane's limit must be at least 1 and at most the end-point's limit (\(requests)), not \(share)")
    }
    guard !keepsRoomForShort || share < requests || requests == 1 else {
      throw LimitError(
        "the long lane's limit (\(share)) must be below the end-point's limit (\(requests)), or long requests could "
          + "shut out short ones; say keepsRoomForShort: false if that is intended")
    }
    self.init(
      unchecked: requests, share, sockets, weight, try Pace.of(rates, minimumInterval, budgets),
      keepsRoomForShort: keepsRoomForShort)
    try Self.check(bandwidth)
    self.bandwidth = bandwidth
  }

  static func check(_ bandwidth: Int?) throws(LimitError) {
    guard let bandwidth, bandwidth < 1 else { return }
    throw LimitError("a bandwidth must be at least 1 byte per second, not \(bandwidth)")
  }

  /// A copy with another minimum time between starts, randomly extended by up to a fraction of itself.
  ///
  /// - Parameters:
  ///   - minimumInterval: The minimum time; zero for none.
  ///   - jitter: 0 to 1.
  package func with(minimumInterval: Duration, jitter: Double) throws(LimitError) -> EndPointLimits {
    var copy = self
    copy.pace = try Pace.of(rates, minimumInterval, budgets, jitter: jitter)
    return copy
  }

  init(
    unchecked requests: Int, _ long: Int, _ connections: Int, _ weight: Int, _ pace: Pace? = nil,
    keepsRoomForShort: Bool = true
  ) {
    self.requests = requests
    self.long = long
    self.connections = connections
    self.keepsRoomForShort = keepsRoomForShort
    self.weight = weight
    self.pace = pace
  }

  /// The maximum number of long requests while each needs a socket.
  @inline(__always)
  var longOverSockets: Int { min(long, keepsRoomForShort ? max(1, connections - 1) : connections) }
}

/// An invalid limit.
public struct LimitError: HeadgateError, Hashable {
  /// `invalid_limit`.
  public var codeName: String { "invalid_limit" }

  /// What is wrong, and which values are valid. Invisible characters are escaped.
  public let description: String

  init(_ description: String) { self.description = ShownText.of(description) }
}
