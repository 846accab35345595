/// How an event stream reconnects after it has ended or broken off.
public struct EventReconnection: Hashable, Sendable {
  /// The wait before reconnecting, until the server's `retry` field changes it. 3 s by default.
  public var wait: Duration = .seconds(3)

  /// The limit up to which the wait is doubled with each consecutive connection without an event. A longer wait
  /// requested by the server is respected. One minute by default.
  public var maxWait: Duration = .seconds(60)

  /// The maximum number of consecutive connections without an event. After the last of them the sequence ends, normally
  /// or with the error. No limit by default, as WHATWG specifies.
  public var attempts = Int.max

  /// The longest wait that a `retry` or a `Retry-After` field can request: one day.
  static let maxRetry = Duration.seconds(86400)

  /// Reconnects after 3 s, or after the time that the server requests.
  public init() {}
}
