import HTTPTypes
import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A user's name and password, for all hosts or some: a name, whose password is asked for, or a variable with both. The
/// password itself is never an argument, since other users see those.
struct UserSource: Hashable, Sendable {
  enum Place: Hashable, Sendable {
    /// The name. The terminal is asked for the password.
    case prompt(String)
    /// A variable with `name:password`.
    case variable(String)
  }

  /// The hosts that it is for. Nil for all.
  let pattern: HostPattern?
  let place: Place

  /// Returns the name and the password, which it reads from the terminal or the environment.
  ///
  /// - Throws: ``FetchProblem``. Its text never contains the password.
  func read(
    _ environment: (String) -> String? = Environment.value(of:), ask: (String) throws(FetchProblem) -> String
  ) throws(FetchProblem) -> User {
    switch place {
    case .prompt(let name):
      let hosts = pattern.map { " at \($0)" } ?? ""
      return User(pattern: pattern, name: name, password: try ask("Password for \(name)\(hosts): "))
    case .variable(let variable):
      guard let value = environment(variable) else {
        throw FetchProblem("-u: the environment has no variable \(variable)", status: .usage)
      }
      guard let colon = value.utf8.firstIndex(of: UInt8(ascii: ":")) else {
        throw FetchProblem("-u: the variable \(variable) has no colon; set it to NAME:PASSWORD", status: .usage)
      }
      return User(
        pattern: pattern, name: String(value[..<colon]), password: String(value[value.utf8.index(after: colon)...]))
    }
  }
}

/// A user for some hosts.
struct User: Hashable, Sendable {
  let pattern: HostPattern?
  let name: String
  let password: String

  /// The field of the Basic scheme (RFC 7617).
  var basic: HTTPField {
    HTTPField(name: .authorization, value: "Basic " + Data("\(name):\(password)".utf8).base64EncodedString())
  }

  /// Answers challenges in the Digest scheme at the user's hosts. Nil if the hosts are not limited, since any of them
  /// could then try passwords on the answer.
  ///
  /// - Parameter patterns: Those of all users. At each host, the user of the most specific one answers.
  func digest(among patterns: [HostPattern]) -> DigestCredentials? {
    let all = Dictionary(patterns.map { ($0, $0) }) { $1 }
    return pattern.map { pattern in
      DigestCredentials(user: name, password: password) {
        HostPattern.mostSpecific(in: all, for: $0.endPoint) == pattern
      }
    }
  }
}

extension OptionValue {
  private static let passwordAdvice =
    "give the name alone and the password at the prompt, env:NAME for a variable with both, or --netrc-file FILE: other "
    + "users could see a password in the process list"

  /// `USER` or `env:NAME`, or `HOST=` before it.
  static func user(_ text: String) throws(OptionError) -> UserSource {
    var (pattern, rest) = (HostPattern?.none, Substring(text))
    if let sign = text.firstIndex(of: "=") {
      // The text before the sign may be part of a password.
      do { pattern = try HostPattern(String(text[..<sign])) } catch { throw OptionError(passwordAdvice) }
      rest = text[text.index(after: sign)...]
    }
    guard !rest.isEmpty else { throw OptionError("write the user's name, or env:NAME for a variable") }
    if rest.hasPrefix("env:") { return UserSource(pattern: pattern, place: .variable(String(rest.dropFirst(4)))) }
    guard !rest.contains(":") else {
      throw OptionError(passwordAdvice)
    }
    return UserSource(pattern: pattern, place: .prompt(String(rest)))
  }
}
