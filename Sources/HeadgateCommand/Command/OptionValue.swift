import HTTPTypes
import HeadgateDispatch

/// Parses the values of options, with messages for invalid ones.
enum OptionValue {
  /// A positive number of seconds: `30`, `0.5`.
  static func seconds(_ text: String) throws(OptionError) -> Duration {
    // More than a century is as good as no limit. The maximum keeps all arithmetic in range.
    guard let value = Double(text), value > 0, value <= 3.2e9 else {
      throw OptionError("give a number of seconds above 0, such as 30 or 0.5")
    }
    return .seconds(value)
  }

  /// A number of 1 or more.
  static func count(_ text: String) throws(OptionError) -> Int {
    guard let value = Int(text), value >= 1 else { throw OptionError("give a whole number of 1 or more") }
    return value
  }

  /// A number of 0 or more.
  static func whole(_ text: String) throws(OptionError) -> Int {
    guard let value = Int(text), value >= 0 else { throw OptionError("give a whole number of 0 or more") }
    return value
  }

  /// A number of bytes, 1 or more: `1000`, `64K`, `10M`, `2G`. The letters are powers of 1024.
  static func size(_ text: String) throws(OptionError) -> Int {
    let shift: Int? =
      switch text.utf8.last.map({ $0 | 0x20 }) {
      case UInt8(ascii: "k"): 10
      case UInt8(ascii: "m"): 20
      case UInt8(ascii: "g"): 30
      default: nil
      }
    let number = shift == nil ? text[...] : text.dropLast()
    guard let value = Int(number), value >= 1, value <= Int.max >> (shift ?? 0) else {
      throw OptionError("give a number of bytes of 1 or more, such as 100000, 64K, 10M or 2G")
    }
    return value << (shift ?? 0)
  }

  /// Schemes in the form of curl's --proto-redir: `=https`, `=http,https`.
  static func redirectSchemes(_ text: String) throws(OptionError) -> Set<RedirectScheme> {
    guard text.first == "=" else { throw OptionError("write it as =https or =http,https") }
    var schemes: Set<RedirectScheme> = []
    for name in text.dropFirst().split(separator: ",", omittingEmptySubsequences: false) {
      guard let scheme = RedirectScheme(rawValue: name.lowercased()) else {
        throw OptionError("only redirects to http and https are followed, not \"\(name)\"; write =https or =http,https")
      }
      schemes.insert(scheme)
    }
    return schemes
  }

  /// A number of 0 to 1,000.
  static func retries(_ text: String) throws(OptionError) -> Int {
    guard let value = Int(text), (0...1000).contains(value) else {
      throw OptionError("give a whole number between 0 and 1000")
    }
    return value
  }

  /// `PATTERN=N`: a limit for the hosts that match a pattern, or for a group.
  static func rule(_ text: String) throws(OptionError) -> HostRule {
    guard let sign = text.lastIndex(of: "=") else {
      throw OptionError("write it as host=n, such as '*.example.com=2' or api.example.com:8443=10")
    }
    let requests = try count(String(text[text.index(after: sign)...]))
    let hosts = try LimitedHosts(String(text[..<sign]))
    do { return HostRule(hosts: hosts, limits: try EndPointLimits(requests: requests)) } catch {
      throw OptionError("\(error)")
    }
  }

  /// The path of a Unix-domain socket.
  static func socket(_ path: String) throws(OptionError) -> EndPoint {
    do { return try EndPoint(unixSocket: path) } catch { throw OptionError("\(error)") }
  }

  /// `Name: value`.
  static func header(_ text: String) throws(OptionError) -> HTTPField {
    guard let colon = text.firstIndex(of: ":") else { throw OptionError("write it as 'Name: value'") }
    let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
    guard let name = HTTPField.Name(String(text[..<colon])) else {
      throw OptionError("the name may contain letters, digits and hyphens, but no spaces")
    }
    return try field(name, String(value))
  }

  /// A field with a name and a value. Errors never contain the value.
  static func field(_ name: HTTPField.Name, _ value: String) throws(OptionError) -> HTTPField {
    guard HTTPField.isValidValue(value) else {
      throw OptionError("the value must not contain control characters or end with a space")
    }
    guard !name.isTransports else { throw OptionError("headgate sets \(name.rawName) itself") }
    return HTTPField(name: name, value: value)
  }

  /// The value of the User-Agent field.
  static func agent(_ text: String) throws(OptionError) -> String { try field(.userAgent, text).value }

  /// A passphrase or its source. The name of a variable or file must not be empty.
  static func secret(_ text: String) throws(OptionError) -> Secret {
    let secret = Secret(text)
    guard secret != .variable(""), secret != .file("") else {
      throw OptionError("write env:NAME, file:PATH or the passphrase itself")
    }
    return secret
  }
}

/// A limit for the hosts that match a pattern, or for a group.
struct HostRule: Hashable, Sendable {
  let hosts: LimitedHosts
  let limits: EndPointLimits
}

/// What is wrong with the value of an option, and what is valid.
struct OptionError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
