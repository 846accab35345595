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
      case _ where schemes != nil || socket != nil: .objecting { objection(to: $0.to, after: $0.from) }
      case .sameOrigin: .sameOrigin
      case .noDowngrade: .noDowngrade
      case .all: .all
      }
    policy.refusesPrivateAddresses = !allowsPrivate
    return policy
  }

  /// Whether a redirect from one URL to another may be followed, as far as the URLs say.
  func allows(_ target: String, after source: String) -> Bool { objection(to: target, after: source) == nil }

  /// Why a redirect from one URL to another may not be followed. Nil if it may, as far as the URLs say.
  private func objection(to target: String, after source: String) -> String? {
    guard let from = try? DispatchRequest(source), let to = try? DispatchRequest(target) else {
      return "it has no valid URL"
    }
    let scheme: RedirectScheme = to.isSecure ? .https : .http
    if let schemes, !schemes.contains(scheme) { return "--proto-redir does not allow \(scheme.rawValue)" }
    if let socket, to.endPoint != socket { return "it leaves the socket of --unix-socket" }
    switch followed {
    case .none: return "--redirects none follows no redirects"
    case .sameOrigin:
      let isSame = to.endPoint == from.endPoint && to.isSecure == from.isSecure
      return isSame ? nil : "--redirects same-origin stays at one scheme, host and port"
    case .noDowngrade:
      return to.isSecure || !from.isSecure ? nil : "--redirects no-downgrade does not allow https to http"
    case .all: return nil
    }
  }
}
