/// The behaviour of an ``Origin`` apart from the paths of requests.
public struct OriginScript: Sendable {
  /// The maximum number of connections that each end-point serves at once; nil for no limit.
  ///
  /// A connection beyond the limit is left unanswered until its client closes it, as by an overloaded server, even if
  /// others close meanwhile. It does not count toward the limit for later ones.
  public var connectionLimit: Int?

  /// A delay before each response, in addition to the response's own delay.
  public var delay: Duration

  /// The body of the response to `/`.
  public var body: [UInt8]

  /// Determines the response instead of the path; if it returns nil, the path determines it.
  ///
  /// Runs on the thread that serves all connections, after the request's head has been read: it must return soon and
  /// must not wait for the origin.
  public var handler: (@Sendable (OriginRequest) -> OriginAnswer?)?

  /// Creates a script without a limit or delay, where paths determine the responses.
  public init(
    connectionLimit: Int? = nil,
    delay: Duration = .zero,
    body: [UInt8] = Array("ok\n".utf8),
    handler: (@Sendable (OriginRequest) -> OriginAnswer?)? = nil
  ) {
    self.connectionLimit = connectionLimit
    self.delay = delay
    self.body = body
    self.handler = handler
  }
}
