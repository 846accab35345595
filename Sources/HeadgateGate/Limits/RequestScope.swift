/// Something that a request belongs to besides its end-point, and that may have its own limits: an account's key, a
/// route of an API, a group of requests.
///
///     limits.scopes[.key("acct-7")] = try ScopeLimits(requests: 2, rates: [Rate("60/min")])
///     request.scopes = [.key("acct-7"), .route("POST /messages")]
///
/// A scope applies to the whole gate, at every end-point. A request starts when its end-point and all its scopes have
/// room. Until then it takes nothing from any of them.
public struct RequestScope: Hashable, Sendable, CustomStringConvertible {
  private enum Kind: String { case key, route, group }

  private let kind: Kind
  /// The name, as given.
  public let name: String

  /// An account, a token or a tenant, by which the server counts requests.
  public static func key(_ name: String) -> RequestScope { RequestScope(kind: .key, name: name) }

  /// A route of an API: `POST /messages`.
  public static func route(_ name: String) -> RequestScope { RequestScope(kind: .route, name: name) }

  /// Requests of the program that belong together.
  public static func group(_ name: String) -> RequestScope { RequestScope(kind: .group, name: name) }

  /// The kind and the name: `key acct-7`. Invisible characters are escaped.
  public var description: String {
    "\(kind.rawValue) \(ShownText.of(name))"
  }
}
