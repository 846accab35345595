import HTTPTypes

/// What a delegate answers to an ``AuthenticationChallenge``.
public struct AuthenticationAnswer: Sendable {
  private enum Value: Sendable {
    case proceed, cancel
    case basic(user: String, password: String)
    case field(scheme: String?, String)
  }

  private let value: Value

  /// No credential: the response that asks is the request's response.
  public static let `default` = AuthenticationAnswer(value: .proceed)

  /// The request is cancelled.
  public static let cancel = AuthenticationAnswer(value: .cancel)

  /// The request is sent again with user and password, by the scheme Basic. Where the server does not offer that, it
  /// counts as ``default``: they travel as good as in clear, and nobody gets them unasked.
  public static func credential(user: String, password: String) -> AuthenticationAnswer {
    AuthenticationAnswer(value: .basic(user: user, password: password))
  }

  /// The request is sent again with a token, by the scheme Bearer; where the server does not offer that, it counts as
  /// ``default``.
  public static func bearer(_ token: String) -> AuthenticationAnswer {
    AuthenticationAnswer(value: .field(scheme: "bearer", "Bearer " + token))
  }

  /// The request is sent again with this value of `Authorization` (a proxy's: `Proxy-Authorization`), whatever the server
  /// offers: for schemes of the caller's.
  public static func authorization(_ value: String) -> AuthenticationAnswer {
    AuthenticationAnswer(value: .field(scheme: nil, value))
  }

  /// What follows for the request.
  enum Consequence {
    case proceed, cancel
    case sendAgain(HTTPField.Name, String)
  }

  func consequence(of challenge: AuthenticationChallenge) -> Consequence {
    let name: HTTPField.Name = challenge.isProxy ? .proxyAuthorization : .authorization
    switch value {
    case .proceed: return .proceed
    case .cancel: return .cancel
    case .basic(let user, let password):
      guard challenge.schemes.contains("basic") else { return .proceed }
      return .sendAgain(name, basicAuthorization("\(user):\(password)"))
    case .field(let scheme, let value):
      if let scheme, !challenge.schemes.contains(scheme) { return .proceed }
      return .sendAgain(name, value)
    }
  }
}
