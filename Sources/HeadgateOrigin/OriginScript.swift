/// How an ``Origin`` behaves where the path of a request does not say.
public struct OriginScript: Sendable {
  /// How many connections each end-point serves at once; nil for no limit.
  ///
  /// A connection that arrives while that many are being served is left unanswered until its client closes it, as an
  /// overloaded server would, and stays so even when others close. It does not count towards the limit of later ones.
  public var connectionLimit: Int?

  /// How long to wait before each answer, in addition to the answer's own delay.
  public var delay: Duration

  /// The body of the answer to `/`.
  public var body: [UInt8]

  /// Decides the answer in place of the path; nil from the hook leaves the decision to the path.
  ///
  /// Runs on the thread that serves all connections, once the request's head has been read: it must return soon and
  /// must not wait for the origin.
  public var answerHook: (@Sendable (OriginRequest) -> OriginAnswer?)?

  /// A script without a limit that answers at once, as the path says.
  public init(
    connectionLimit: Int? = nil,
    delay: Duration = .zero,
    body: [UInt8] = Array("ok\n".utf8),
    answerHook: (@Sendable (OriginRequest) -> OriginAnswer?)? = nil
  ) {
    self.connectionLimit = connectionLimit
    self.delay = delay
    self.body = body
    self.answerHook = answerHook
  }
}
