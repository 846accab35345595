#if Redis
import HeadgateGate
import HeadgateThreads

/// Redis can't be used, or has refused a command.
public struct RedisError: HeadgateError, Hashable {
  /// What happened to a command.
  enum Kind: Hashable, Sendable {
    /// The server answered with an error: the command had no effect.
    case refused
    /// There is no connection, or it broke: the command may have had its effect.
    case broken
    case invalid
  }

  let kind: Kind

  /// What is wrong, and what to do.
  public let description: String

  /// `redis`.
  public var codeName: String { "redis" }

  init(_ text: String, _ kind: Kind = .invalid) {
    self.kind = kind
    // Replies come from outside.
    description = ShownText.of(text, atMost: 300)
  }
}
#endif
