import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A delegate's answer to an ``AuthenticationChallenge``.
public struct AuthenticationAnswer: Sendable, CustomStringConvertible, CustomReflectable {
  private enum Value: Sendable {
    case proceed, cancel
    case field(scheme: String?, String)
  }

  private let value: Value

  /// Sends no credential: the response with the challenge is delivered.
  public static let `default` = AuthenticationAnswer(value: .proceed)

  /// Cancels the request.
  public static let cancel = AuthenticationAnswer(value: .cancel)

  /// Sends the request again with a user name and password, using the Basic scheme. Counts as ``default`` if the server
  /// does not offer Basic: that scheme hardly protects the password, so the password is only sent if the server asks
  /// for it.
  public static func credential(user: String, password: String) -> AuthenticationAnswer {
    AuthenticationAnswer(value: .field(scheme: "basic", basicAuthorization("\(user):\(password)")))
  }

  /// Sends the request again with a token, using the Bearer scheme. Counts as ``default`` if the server does not offer
  /// Bearer.
  public static func bearer(_ token: String) -> AuthenticationAnswer {
    AuthenticationAnswer(value: .field(scheme: "bearer", "Bearer " + token))
  }

  /// Sends the request again with this value of `Authorization` (`Proxy-Authorization` for a proxy), regardless of the
  /// schemes offered. For schemes other than Basic and Bearer.
  public static func authorization(_ value: String) -> AuthenticationAnswer {
    AuthenticationAnswer(value: .field(scheme: nil, value))
  }

  /// What it does, without the credential: `default`, `cancel`, `basic`, `bearer`, `authorization`.
  public var description: String {
    switch value {
    case .proceed: "default"
    case .cancel: "cancel"
    case .field(let scheme, _): scheme ?? "authorization"
    }
  }

  /// Without the credential, for `dump` and for messages about failed expectations.
  public var customMirror: Mirror { Mirror(self, children: []) }

  /// The effect on the request.
  enum Consequence {
    case proceed, cancel
    case resend(HTTPField.Name, String)
  }

  func consequence(of challenge: AuthenticationChallenge) -> Consequence {
    switch value {
    case .proceed: .proceed
    case .cancel: .cancel
    case .field(let scheme?, _) where !challenge.schemes.contains(scheme): .proceed
    case .field(_, let value): .resend(challenge.isProxy ? .proxyAuthorization : .authorization, value)
    }
  }

  /// The value of `Authorization` for `user:password` in the Basic scheme (RFC 7617).
  static func basicAuthorization(_ credentials: String) -> String {
    "Basic " + Data(credentials.utf8).base64EncodedString()
  }
}
