/// Which redirects a request follows. Others end the request with the error `redirectRefused`.
///
///     request.redirects = .sameOrigin
///     request.redirects = .noDowngrade.refusingPrivateAddresses
///     request.redirects = .custom { $0.to.hasPrefix("https://cdn.example.com/") }
///
/// With every policy, a redirect to another origin (scheme, host or port) drops all header fields of the caller that
/// could be secret: see ``DispatchRequest/redirects``.
public struct RedirectPolicy: Sendable, CustomStringConvertible {
  typealias Rule = @Sendable (ProposedRedirect, _ isSameOrigin: Bool, _ isDowngrade: Bool) -> String?

  // Says why a redirect is refused; nil if it is allowed. Without a rule, none is followed.
  private let rule: Rule?
  private let name: String

  /// Whether redirects from a public server to a private address (``AddressScope``) are refused: to this machine, its
  /// local network, or a cloud's metadata service. Default: false.
  ///
  /// The rule applies to the address of the connection, not to the host name. Once a public server has redirected the
  /// request, the rule applies to all later redirects and to retries. A server whose own address is private may
  /// redirect to a private one. A server whose address the transport does not know counts as public. A transport
  /// without ``TransportCapabilities/addressRules`` fails the request with `unsupported`.
  public var refusesPrivateAddresses = false

  private init(_ name: String, _ rule: Rule?) { (self.name, self.rule) = (name, rule) }

  /// Its name, as in a program: `noDowngrade`, `sameOrigin.refusingPrivateAddresses`.
  public var description: String { refusesPrivateAddresses ? "\(name).refusingPrivateAddresses" : name }

  /// Follows no redirects: the redirect itself is the response, as with ``DispatchRequest/maxRedirects`` 0.
  public static let none = RedirectPolicy("none", nil)
  /// Follows redirects within the same scheme, host and port.
  public static let sameOrigin = RedirectPolicy("sameOrigin") { _, isSameOrigin, _ in
    isSameOrigin ? nil : "the policy stays at one scheme, host and port"
  }

  /// Follows all redirects except from https to http, which would send an encrypted request in plain text. The
  /// default.
  public static let noDowngrade = RedirectPolicy("noDowngrade") { _, _, isDowngrade in
    isDowngrade ? "the policy does not allow https to http" : nil
  }

  /// Follows all redirects, including those from https to http.
  public static let all = RedirectPolicy("all") { _, _, _ in nil }

  /// Follows the redirects that a closure allows.
  ///
  /// - Parameter isAllowed: Called for each redirect that could be followed, on the transport's thread, where it
  ///   delays every other exchange: it must return at once, and blocking calls of the dispatcher throw.
  public static func custom(_ isAllowed: @escaping @Sendable (ProposedRedirect) -> Bool) -> RedirectPolicy {
    RedirectPolicy("custom") { redirect, _, _ in isAllowed(redirect) ? nil : "the request's custom policy refuses it" }
  }

  /// Follows the redirects to which a closure has no objection. Otherwise its text is the reason in the error.
  package static func objecting(_ objection: @escaping @Sendable (ProposedRedirect) -> String?) -> RedirectPolicy {
    RedirectPolicy("custom") { redirect, _, _ in objection(redirect) }
  }

  /// The same policy, with ``refusesPrivateAddresses`` set.
  public var refusingPrivateAddresses: RedirectPolicy {
    var policy = self
    policy.refusesPrivateAddresses = true
    return policy
  }

  var followsNone: Bool { rule == nil }

  /// Why a redirect is refused; nil if it is allowed.
  func objection(to redirect: ProposedRedirect, isSameOrigin: Bool, isDowngrade: Bool) -> String? {
    guard let rule else { return "the policy follows no redirects" }
    return rule(redirect, isSameOrigin, isDowngrade)
  }
}

/// A redirect requested by a server.
public struct ProposedRedirect: Sendable, Hashable {
  /// The URL of the request, in canonical form.
  public let from: String
  /// The redirect's URL in canonical form: absolute, without user information and fragment.
  public let to: String
  /// The redirect's status: 301, 302, 303, 307 or 308.
  public let statusCode: Int
}
