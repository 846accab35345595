/// Which redirects a request follows. What it refuses ends the request with the error `redirectRefused`.
///
///     request.redirects = .sameOrigin
///     request.redirects = .noDowngrade.refusingPrivateAddresses
///     request.redirects = .custom { $0.to.hasPrefix("https://cdn.example.com/") }
///
/// However it is set, a redirect to another origin (scheme, host or port) takes none of the caller's header fields
/// along that could be secret: see ``DispatchRequest/redirects``.
public struct RedirectPolicy: Sendable {
  enum Rule: Sendable {
    case none, sameOrigin, noDowngrade, all
    case custom(@Sendable (ProposedRedirect) -> Bool)
  }

  let rule: Rule

  /// Whether the redirect of a public server may not lead to a private address (``AddressScope``): to this machine, to
  /// its network, or to where a cloud keeps its metadata. False unless set.
  ///
  /// The address that is dialled decides, not the name. It holds from such a redirect on, over all that follow and for
  /// further attempts; a server whose own address is private may lead to another private one. A sender whose address
  /// the transport does not know counts as public. The transport must know which address it dials
  /// (``TransportCapabilities/addressRules``): over one that does not the request ends with the error `unsupported`.
  public var refusesPrivateAddresses = false

  private init(_ rule: Rule) { self.rule = rule }

  /// None is followed: the redirect itself is the response, as with ``DispatchRequest/maxRedirects`` 0.
  public static let none = RedirectPolicy(.none)
  /// Those that stay at the same scheme, host and port.
  public static let sameOrigin = RedirectPolicy(.sameOrigin)
  /// All but those from https to http: what was asked for in secret is not asked for in the clear. The default.
  public static let noDowngrade = RedirectPolicy(.noDowngrade)
  /// All, from https to http too.
  public static let all = RedirectPolicy(.all)

  /// Those that a closure allows.
  ///
  /// - Parameter isAllowed: Asked about each redirect that could be followed. Called on the transport's thread, where
  ///   every other exchange waits: it must return at once, and blocking calls of the dispatcher are refused.
  public static func custom(_ isAllowed: @escaping @Sendable (ProposedRedirect) -> Bool) -> RedirectPolicy {
    RedirectPolicy(.custom(isAllowed))
  }

  /// The same policy, with ``refusesPrivateAddresses`` set.
  public var refusingPrivateAddresses: RedirectPolicy {
    var policy = self
    policy.refusesPrivateAddresses = true
    return policy
  }

  var followsNone: Bool {
    if case .none = rule { true } else { false }
  }

  /// Why a redirect is refused; nil when it is allowed.
  func objection(to redirect: ProposedRedirect, isSameOrigin: Bool, isDowngrade: Bool) -> String? {
    switch rule {
    case .none: "the policy follows none"
    case .sameOrigin: isSameOrigin ? nil : "the policy stays at one scheme, host and port"
    case .noDowngrade: isDowngrade ? "the policy does not go from https to http" : nil
    case .all: nil
    case .custom(let isAllowed): isAllowed(redirect) ? nil : "the request's own rule says no"
    }
  }
}

/// A redirect that a server asks for, and that could be followed.
public struct ProposedRedirect: Sendable, Hashable {
  /// The URL that was asked, in canonical form.
  public let from: String
  /// Where it leads, in canonical form: absolute, with no user information and no fragment.
  public let to: String
  /// The redirect's status: 301, 302, 303, 307 or 308.
  public let statusCode: Int
}
