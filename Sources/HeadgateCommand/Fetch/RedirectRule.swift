import HeadgateDispatch

/// Which redirects are followed, by where they lead.
enum FollowedRedirects: String, CaseIterable, Sendable {
  case none
  case sameOrigin = "same-origin"
  case noDowngrade = "no-downgrade"
  case all
}

/// What a redirect may lead to.
enum RedirectScheme: String, CaseIterable, Sendable { case http, https }

/// Which redirects a run follows.
struct RedirectRule: Equatable, Sendable {
  var followed = FollowedRedirects.noDowngrade
  /// The allowed schemes. Nil: any.
  var schemes: Set<RedirectScheme>?
  /// Whether public servers may redirect to private addresses.
  var allowsPrivate = false
  /// The only allowed end-point. Nil: any.
  var socket: EndPoint?

  /// The library's policy for this rule. Built-in policies are preferred, since they give a reason for each refusal.
  var policy: RedirectPolicy {
    var policy: RedirectPolicy =
      switch followed {
      case .none: .none
      case _ where schemes != nil || socket != nil: .custom { allows($0.to, after: $0.from) }
      case .sameOrigin: .sameOrigin
      case .noDowngrade: .noDowngrade
      case .all: .all
      }
    policy.refusesPrivateAddresses = !allowsPrivate
    return policy
  }

  /// Whether a redirect from one URL to another may be followed, as far as the URLs say.
  func allows(_ target: String, after source: String) -> Bool {
    guard let from = try? DispatchRequest(source), let to = try? DispatchRequest(target) else { return false }
    if let schemes, !schemes.contains(to.isSecure ? .https : .http) { return false }
    if let socket, to.endPoint != socket { return false }
    return switch followed {
    case .none: false
    case .sameOrigin: to.endPoint == from.endPoint && to.isSecure == from.isSecure
    case .noDowngrade: to.isSecure || !from.isSecure
    case .all: true
    }
  }
}
