/// Something that a request belongs to beside its end-point, and that may have limits of its own: an account's key, a route
/// of an interface, a group of requests.
///
///     limits.scopes[.key("acct-7")] = try ScopeLimits(requests: 2, rates: [Rate("60/min")])
///     request.scopes = [.key("acct-7"), .route("POST /messages")]
///
/// A scope holds for the whole gate, whatever the end-point. A request starts when its end-point and all its scopes have room,
/// and takes from none of them before.
public struct RequestScope: Hashable, Sendable, CustomStringConvertible {
  private enum Kind: UInt8 { case key, route, group }

  private let kind: Kind
  /// Its name, as it was given.
  public let name: String

  /// An account, a token, a tenant: whatever the server counts by.
  public static func key(_ name: String) -> RequestScope { RequestScope(kind: .key, name: name) }

  /// A route of an interface: `POST /messages`.
  public static func route(_ name: String) -> RequestScope { RequestScope(kind: .route, name: name) }

  /// Requests of the program that belong together.
  public static func group(_ name: String) -> RequestScope { RequestScope(kind: .group, name: name) }

  /// Its kind and its name: `key acct-7`. Characters that are not seen stand in it as escapes.
  public var description: String {
    let word =
      switch kind {
      case .key: "key "
      case .route: "route "
      case .group: "group "
      }
    return word + ShownText.of(name)
  }
}
