import HeadgateThreads

/// A token, as ``BearerTokens`` are handed one.
public struct BearerToken: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The token itself.
  public let value: String

  /// How long it is valid, from when it was asked for; nil where nobody knows.
  public let lifetime: Duration?

  /// A token.
  ///
  /// - Parameters:
  ///   - value: The token itself, without `Bearer`.
  ///   - lifetime: How long it is valid, from when it was asked for. Nil: until a server refuses it.
  public init(_ value: String, validFor lifetime: Duration? = nil) {
    self.value = value
    self.lifetime = lifetime
  }

  /// Shows that there is one, and not which.
  public var description: String { "BearerToken(REDACTED)" }

  /// Shows none of it.
  public var customMirror: Mirror { Mirror(self, children: ["lifetime": lifetime as Any]) }
}

/// What there is for fetching a token.
public struct TokenFetch: Sendable {
  /// The token that was refused, or is about to expire: for services that make a new one of it. Nil for the first.
  public let old: BearerToken?

  private let interception: Interception

  init(_ old: BearerToken?, _ interception: Interception) {
    self.old = old
    self.interception = interception
  }

  /// Sends a request through the dispatcher whose request needs the token, past all interceptors; see
  /// ``Interception/send(_:)``.
  ///
  /// - Parameter request: What to send.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``DispatchError``.
  public func send(_ request: DispatchRequest) async throws(DispatchError) -> DispatchResponse {
    try await interception.send(request)
  }
}
