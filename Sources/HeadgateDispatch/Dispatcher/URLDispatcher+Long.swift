extension URLDispatcher {
  /// Whether a long request would be accepted now. The answer may be outdated when it is read: use
  /// ``tryDispatchLong(_:delegate:on:)`` to act on it. See `EndPointGate.isLongRequestAllowed(at:)`.
  public func isLongRequestAllowed(for request: DispatchRequest) -> Bool {
    gate.isLongRequestAllowed(at: request.endPoint)
  }

  /// Whether a long request to a URL would be accepted now.
  ///
  /// - Throws: `EndPointError` if the URL has no valid end-point.
  public func isLongRequestAllowed(for url: String) throws(EndPointError) -> Bool {
    gate.isLongRequestAllowed(at: try EndPoint(url))
  }

  /// Whether a long request to a host and port would be accepted now.
  ///
  /// - Throws: `EndPointError` if they are not a valid end-point.
  public func isLongRequestAllowed(host: String, port: Int) throws(EndPointError) -> Bool {
    gate.isLongRequestAllowed(at: try EndPoint(host: host, port: port))
  }

  /// The number of long requests running at a request's end-point.
  public func runningLongRequests(for request: DispatchRequest) -> Int {
    gate.runningLongRequests(at: request.endPoint)
  }

  /// The number of long requests running at a URL's end-point.
  ///
  /// - Throws: `EndPointError` if the URL has no valid end-point.
  public func runningLongRequests(for url: String) throws(EndPointError) -> Int {
    gate.runningLongRequests(at: try EndPoint(url))
  }

  /// The number of long requests running at a host and port.
  ///
  /// - Throws: `EndPointError` if they are not a valid end-point.
  public func runningLongRequests(host: String, port: Int) throws(EndPointError) -> Int {
    gate.runningLongRequests(at: try EndPoint(host: host, port: port))
  }

  /// What would happen to a request if it were submitted now. See `EndPointGate.availability(for:lane:priority:)`.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - lane: Its lane. A long request is assumed to wait for a place if the lane is full.
  public func availability(
    for request: DispatchRequest, lane: RequestLane = .short
  ) -> RequestAvailability {
    gate.availability(for: request.endPoint, lane: lane, priority: request.priority)
  }

  /// The maximum number of requests running at an end-point, under the common limit.
  public var maxRequests: Int { limits.endPoint.requests }

  /// The maximum number of those that may be long.
  public var maxLongRequests: Int { limits.endPoint.long }

  /// Changes the maximum number of long requests, at any time. A lower limit ends no request, but no long request
  /// starts until it fits. After a higher limit, all requests that now fit start. See
  /// `EndPointGate.setMaxLongRequests(_:for:)`.
  ///
  /// - Parameters:
  ///   - long: The maximum number of long requests at an end-point: 1 or more, fewer than ``maxRequests`` (or 1 if
  ///     that is 1).
  ///   - endPoint: The end-point; nil for all without a limit of their own.
  /// - Throws: `LimitError` if the number is out of range.
  public func setMaxLongRequests(_ long: Int, for endPoint: EndPoint? = nil) throws(LimitError) {
    try gate.setMaxLongRequests(long, for: endPoint)
  }
}
