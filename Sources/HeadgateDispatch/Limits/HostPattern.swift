/// Which hosts a rule is for: one host, all below a domain, or all.
///
///     limits.rules[try HostPattern("*.example.com")] = try EndPointLimits(requests: 2)
///     limits.rules[try HostPattern("api.example.com:8443")] = try EndPointLimits(requests: 20)
///
/// `*.example.com` is for every name below `example.com`, however deep, and not for `example.com` itself; `*` is for all,
/// addresses too. A pattern with a port is for that port only. Of the patterns that fit, the most specific wins: a host
/// before a domain, a longer domain before a shorter, and with equal hosts the one that names the port. Names are
/// spelled as those of an ``EndPoint``: letter case and a dot at the end don't matter.
public struct HostPattern: Hashable, Sendable, CustomStringConvertible {
  // The canonical host, or the domain of a wildcard with its dot in front; empty for `*`.
  private let host: String
  private let isWildcard: Bool
  private let port: Int?

  /// A pattern: `host`, `*.domain` or `*`, and perhaps `:port`.
  ///
  /// - Throws: ``LimitError`` when the text is none: a `*` elsewhere than in front, no host, a port out of range.
  public init(_ text: String) throws(LimitError) {
    var rest = Substring(text)
    var port: Int?
    // A colon after the last bracket; an address of IPv6 without brackets holds more than one.
    if let colon = rest.lastIndex(of: ":"), rest[..<colon].last == "]" || !rest[..<colon].contains(":") {
      guard let number = Int(rest[rest.index(after: colon)...]), (1...65535).contains(number) else {
        throw LimitError("\"\(text)\" names no port between 1 and 65535")
      }
      port = number
      rest = rest[..<colon]
    }
    let isWildcard = rest == "*" || rest.hasPrefix("*.")
    if isWildcard { rest = rest.dropFirst(rest == "*" ? 1 : 2) }
    var host = ""
    if !isWildcard || !rest.isEmpty {
      do { host = try CanonicalHost.of(String(rest)) } catch {
        throw LimitError("\"\(text)\" is no pattern of hosts (\(error)); write host, *.domain or *, and perhaps :port")
      }
      // What looks like an address has no domains below it.
      if isWildcard, host.contains(":") || host.split(separator: ".").last.map({ Int($0) != nil }) ?? true {
        throw LimitError("\"\(text)\" is no pattern of hosts: there is nothing below an address")
      }
    } else if text.hasPrefix("*.") {
      throw LimitError("\"\(text)\" names no domain; write * for all hosts")
    }
    self.host = isWildcard && !host.isEmpty ? "." + host : host
    self.isWildcard = isWildcard
    self.port = port
  }

  private init(_ host: String, isWildcard: Bool, port: Int?) {
    self.host = host
    self.isWildcard = isWildcard
    self.port = port
  }

  /// The value of the most specific pattern that fits. O(labels of the host).
  static func mostSpecific<Value>(in rules: [HostPattern: Value], for endPoint: EndPoint) -> Value? {
    func find(_ host: String, isWildcard: Bool) -> Value? {
      rules[HostPattern(host, isWildcard: isWildcard, port: endPoint.port)]
        ?? rules[HostPattern(host, isWildcard: isWildcard, port: nil)]
    }
    if let exact = find(endPoint.host, isWildcard: false) { return exact }
    var domain = Substring(endPoint.host)
    while let dot = domain.firstIndex(of: ".") {
      if let found = find(String(domain[dot...]), isWildcard: true) { return found }
      domain = domain[domain.index(after: dot)...]
    }
    return find("", isWildcard: true)
  }

  /// As it is written.
  public var description: String {
    let name = isWildcard ? "*" + host : host.contains(":") ? "[\(host)]" : host
    return port.map { "\(name):\($0)" } ?? name
  }
}
