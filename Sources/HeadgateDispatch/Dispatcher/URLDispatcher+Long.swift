extension URLDispatcher {
  /// Whether a long request would be taken now. The answer is old when it is read: to act on it, call
  /// ``tryDispatchLong(_:delegate:on:)``. See ``EndPointGate/isLongRequestAllowed(at:)``.
  public func isLongRequestAllowed(for request: DispatchRequest) -> Bool {
    gate.isLongRequestAllowed(at: request.endPoint)
  }

  /// Whether a long request to a URL would be taken now.
  ///
  /// - Throws: ``EndPointError`` when the URL names no end-point.
  public func isLongRequestAllowed(for url: String) throws(EndPointError) -> Bool {
    gate.isLongRequestAllowed(at: try EndPoint(url))
  }

  /// Whether a long request to a host and port would be taken now.
  ///
  /// - Throws: ``EndPointError`` when they are no end-point.
  public func isLongRequestAllowed(host: String, port: Int) throws(EndPointError) -> Bool {
    gate.isLongRequestAllowed(at: try EndPoint(host: host, port: port))
  }

  /// How many long requests run at a request's end-point.
  public func runningLongRequests(for request: DispatchRequest) -> Int {
    gate.runningLongRequests(at: request.endPoint)
  }

  /// How many long requests run at a URL's end-point.
  ///
  /// - Throws: ``EndPointError`` when the URL names no end-point.
  public func runningLongRequests(for url: String) throws(EndPointError) -> Int {
    gate.runningLongRequests(at: try EndPoint(url))
  }

  /// How many long requests run at a host and port.
  ///
  /// - Throws: ``EndPointError`` when they are no end-point.
  public func runningLongRequests(host: String, port: Int) throws(EndPointError) -> Int {
    gate.runningLongRequests(at: try EndPoint(host: host, port: port))
  }

  /// What a request would meet if it were submitted now; see ``EndPointGate/availability(for:lane:priority:)``.
  ///
  /// - Parameters:
  ///   - request: Where to.
  ///   - lane: By which lane it goes; a long one is taken to be willing to wait for a place there.
  public func availability(
    for request: DispatchRequest, lane: RequestLane = .short
  ) -> RequestAvailability {
    gate.availability(for: request.endPoint, lane: lane, priority: request.priority)
  }

  /// How many requests at once the common limit allows an end-point.
  public var maxRequests: Int { limits.endPoint.requests }

  /// How many of them may be long.
  public var maxLongRequests: Int { limits.endPoint.long }

  /// Changes how many requests may be long, while all runs. A lower limit ends nothing: no long request starts until it
  /// fits. With a higher one all that became eligible start. See ``EndPointGate/setMaxLongRequests(_:for:)``.
  ///
  /// - Parameters:
  ///   - long: Long requests at once at an end-point, 1 or more, fewer than ``maxRequests`` (or 1 when that is 1).
  ///   - endPoint: For this one only; nil for all that have no limit of their own.
  /// - Throws: ``LimitError`` for a number that is out of range.
  public func setMaxLongRequests(_ long: Int, for endPoint: EndPoint? = nil) throws(LimitError) {
    try gate.setMaxLongRequests(long, for: endPoint)
  }
}
