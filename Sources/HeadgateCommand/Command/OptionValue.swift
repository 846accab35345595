import HTTPTypes
import HeadgateDispatch

/// Values of options, with words for what is wrong with them.
enum OptionValue {
  /// A number of seconds, more than none: `30`, `0.5`.
  static func seconds(_ text: String) throws(OptionError) -> Duration {
    // Longer than a century is as good as no limit, and short enough for all arithmetic.
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

  /// A number of 0 to 1,000.
  static func retries(_ text: String) throws(OptionError) -> Int {
    guard let value = Int(text), (0...1000).contains(value) else {
      throw OptionError("give a whole number between 0 and 1000")
    }
    return value
  }

  /// `PATTERN=N`: a limit for the hosts of a pattern.
  static func rule(_ text: String) throws(OptionError) -> HostRule {
    guard let sign = text.lastIndex(of: "=") else {
      throw OptionError("write it as host=n, such as '*.example.com=2' or api.example.com:8443=10")
    }
    let requests = try count(String(text[text.index(after: sign)...]))
    do {
      return HostRule(
        pattern: try HostPattern(String(text[..<sign])), limits: try EndPointLimits(requests: requests))
    } catch {
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
      throw OptionError("the name may have letters, digits and hyphens in it, and no spaces")
    }
    guard HTTPField.isValidValue(String(value)) else {
      throw OptionError("the value may have no control characters in it and no space at its end")
    }
    guard !name.isTransports else { throw OptionError("headgate itself sets \(name.rawName)") }
    return HTTPField(name: name, value: String(value))
  }
}

/// A limit for the hosts of a pattern.
struct HostRule: Hashable, Sendable {
  let pattern: HostPattern
  let limits: EndPointLimits
}

/// What is wrong with the value of an option, and what would be right.
struct OptionError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
