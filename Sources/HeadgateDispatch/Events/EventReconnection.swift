/// How a stream of events is connected again after it has ended or broken off.
public struct EventReconnection: Hashable, Sendable {
  /// The wait before a new connection, until the server's `retry` field says another one. 3 s unless set.
  public var wait: Duration = .seconds(3)

  /// The most to which connections that bring no event double the wait, one after the other; a longer wait that the server
  /// asks for is kept to. A minute unless set.
  public var longestWait: Duration = .seconds(60)

  /// How many connections in a row may bring no event; after the last of them the sequence ends: with the failure, or at
  /// its end. No limit unless set, as WHATWG has it.
  public var attempts = Int.max

  /// The longest wait that a `retry` field can ask for: a day.
  static let longestRetry = Duration.seconds(86400)

  /// A stream that comes back after 3 s, or after what its server says.
  public init() {}
}
