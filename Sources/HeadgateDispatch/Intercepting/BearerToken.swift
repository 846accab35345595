import HeadgateThreads

/// A bearer token and its lifetime. See ``BearerTokens``.
public struct BearerToken: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The token itself.
  public let value: String

  /// How long the token is valid, counted from the start of its fetch. Nil if unknown.
  public let lifetime: Duration?

  /// Creates a token.
  ///
  /// - Parameters:
  ///   - value: The token itself, without `Bearer`.
  ///   - lifetime: How long it is valid, counted from the start of its fetch. Nil: until a server refuses it.
  public init(_ value: String, validFor lifetime: Duration? = nil) {
    self.value = value
    self.lifetime = lifetime
  }

  /// A fixed text that does not contain the token.
  public var description: String { "BearerToken(REDACTED)" }

  /// A mirror without the token.
  public var customMirror: Mirror { Mirror(self, children: ["lifetime": lifetime as Any]) }
}

/// The context of a token fetch.
public struct TokenFetch: Sendable {
  /// The token that was refused or is about to expire, for services that renew a token. Nil for the first fetch.
  public let old: BearerToken?

  let interception: Interception

  /// Sends a request through the dispatcher whose request needs the token, bypassing all interceptors; see
  /// ``Interception/send(_:)``.
  ///
  /// - Parameter request: What to send.
  /// - Returns: The response, whatever its status.
  /// - Throws: `DispatchError`.
  public func send(_ request: DispatchRequest) async throws(DispatchError) -> DispatchResponse {
    try await interception.send(request)
  }
}
