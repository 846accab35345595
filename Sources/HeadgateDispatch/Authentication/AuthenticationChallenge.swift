import HTTPTypes

/// A server wants to know who asks (status 401), or a proxy does (407).
public struct AuthenticationChallenge: Sendable {
  /// The response that asks. Its body becomes the request's if the answer is ``AuthenticationAnswer/default``.
  public let response: ResponseHead

  /// The schemes that would do, in lower case and in the server's order: `basic`, `bearer`, `digest`. Never empty.
  public let schemes: [String]

  /// What the credentials are for, in the server's words; nil where it says nothing.
  public let realm: String?

  /// How many answers of this request were not accepted before.
  public let previousFailures: Int

  /// Whether a proxy asks, and not the server.
  public var isProxy: Bool { response.statusCode == 407 }

  /// Nil where the response asks for nothing.
  init?(_ response: ResponseHead, previousFailures: Int) {
    let name: HTTPField.Name
    switch response.statusCode {
    case 401: name = .wwwAuthenticate
    case 407: name = .proxyAuthenticate
    default: return nil
    }
    let offers = AuthenticationOffers(response[name] ?? "")
    guard !offers.schemes.isEmpty else { return nil }
    self.response = response
    self.schemes = offers.schemes
    self.realm = offers.realm
    self.previousFailures = previousFailures
  }
}
