import HTTPTypes

/// A request for credentials by a server (status 401) or a proxy (407).
public struct AuthenticationChallenge: Sendable {
  /// The response with the challenge. Its body is delivered if the answer is ``AuthenticationAnswer/default``.
  public let response: ResponseHead

  /// The schemes offered, in lower case and in the server's order, such as `basic`, `bearer`, `digest`. Never empty.
  public let schemes: [String]

  /// The protected realm, as named by the server. Nil if it names none.
  public let realm: String?

  /// The number of credentials rejected so far for this request.
  public let previousFailures: Int

  /// Whether the challenge comes from a proxy rather than the server.
  public var isProxy: Bool { response.statusCode == 407 }

  /// Nil if the response contains no challenge.
  init?(_ response: ResponseHead, previousFailures: Int) {
    let name: HTTPField.Name
    switch response.statusCode {
    case 401: name = .wwwAuthenticate
    case 407: name = .proxyAuthenticate
    default: return nil
    }
    let offers = AuthenticationOffers(response.headerFields[values: name])
    guard !offers.all.isEmpty else { return nil }
    self.response = response
    self.schemes = offers.schemes
    self.realm = offers.realm
    self.previousFailures = previousFailures
  }
}
