/// The hosts to which a rule applies: one host, all hosts below a domain, or all hosts.
///
///     limits.rules[try HostPattern("*.example.com")] = try EndPointLimits(requests: 2)
///     limits.rules[try HostPattern("api.example.com:8443")] = try EndPointLimits(requests: 20)
///
/// `*.example.com` matches every name below `example.com`, at any depth, but not `example.com` itself. `*` matches all
/// hosts, including addresses. A pattern with a port matches that port only. Of several matching patterns the most
/// specific applies: a host before a domain, a longer domain before a shorter one, and for equal hosts the one with a
/// port. Names are written as in an ``EndPoint``: letter case and a trailing dot make no difference.
public struct HostPattern: Hashable, Sendable, CustomStringConvertible {
  // The canonical host, or the domain of a wildcard with a leading dot. Empty for `*`.
  private let host: String
  private let isWildcard: Bool
  private let port: Int?
}

extension HostPattern {
  /// Creates a pattern from `host`, `*.domain` or `*`, optionally followed by `:port`.
  ///
  /// - Throws: ``LimitError`` if the text is not a pattern: a `*` in another place, no host, or a port out of range.
  public init(_ text: String) throws(LimitError) {
    guard !text.utf8.contains(UInt8(ascii: "/")) else {
      throw LimitError("\"\(text)\" is not a host pattern; leave out http:// and the path of a URL")
    }
    var rest = Substring(text)
    var port: Int?
    // A colon after the last bracket. An IPv6 address without brackets contains more than one.
    if let colon = rest.lastIndex(of: ":"), rest[..<colon].last == "]" || !rest[..<colon].contains(":") {
      guard let number = Int(rest[rest.index(after: colon)...]), (1...65535).contains(number) else {
        throw LimitError("\"\(text)\" has no valid port; it must be between 1 and 65535")
      }
      port = number
      rest = rest[..<colon]
    }
    let isWildcard = rest == "*" || rest.hasPrefix("*.")
    if isWildcard { rest = rest.dropFirst(rest == "*" ? 1 : 2) }
    var host = ""
    if !isWildcard || !rest.isEmpty {
      do { host = try CanonicalHost.of(String(rest)) } catch {
        throw LimitError(
          "\"\(text)\" is not a host pattern (\(error)); write host, *.domain or *, optionally with :port")
      }
      // An address has no names below it.
      if isWildcard, host.contains(":") || host.split(separator: ".").last.map({ Int($0) != nil }) ?? true {
        throw LimitError("\"\(text)\" is not a host pattern: an address has no names below it")
      }
    } else if text.hasPrefix("*.") {
      throw LimitError("\"\(text)\" has no domain; write * for all hosts")
    }
    self.host = isWildcard && !host.isEmpty ? "." + host : host
    self.isWildcard = isWildcard
    self.port = port
  }

  /// The value of the most specific matching pattern. O(labels of the host).
  package static func mostSpecific<Value>(in rules: [HostPattern: Value], for endPoint: EndPoint) -> Value? {
    mostSpecific(in: rules, covering: HostPattern(host: endPoint.host, isWildcard: false, port: endPoint.port))
  }

  /// The value of the most specific pattern that matches all hosts of a pattern. O(labels of the host).
  package static func mostSpecific<Value>(in rules: [HostPattern: Value], covering pattern: HostPattern) -> Value? {
    func find(_ host: String, isWildcard: Bool) -> Value? {
      rules[HostPattern(host: host, isWildcard: isWildcard, port: pattern.port)]
        ?? rules[HostPattern(host: host, isWildcard: isWildcard, port: nil)]
    }
    if !pattern.isWildcard, let exact = find(pattern.host, isWildcard: false) { return exact }
    var domain = Substring(pattern.host)
    while let dot = domain.firstIndex(of: ".") {
      if let found = find(String(domain[dot...]), isWildcard: true) { return found }
      domain = domain[domain.index(after: dot)...]
    }
    return find("", isWildcard: true)
  }

  /// The pattern as written.
  public var description: String {
    let name = isWildcard ? "*" + host : host.contains(":") ? "[\(host)]" : host
    return port.map { "\(name):\($0)" } ?? name
  }
}
