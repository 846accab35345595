import HeadgateDispatch

/// A proxy for requests.
///
/// Plain requests are sent to the proxy. Requests over TLS, and all requests through a SOCKS proxy, use a tunnel to
/// their end-point, so that the proxy sees only host and port. The proxy's credentials are sent to the proxy only,
/// and header fields for the end-point are not sent with the tunnel request. HTTP/1.1 is used through a proxy.
///
/// A request through a proxy needs the permit of its end-point, as without one, so the end-point's limit holds. Its
/// socket leads to the proxy and counts there: at most `maxConnections` in total, for all end-points behind it,
/// including idle ones. Tunnels to an end-point also count toward that end-point's limit. A request with a permit but
/// no socket waits for one, which counts as waiting.
public struct CurlProxy: Sendable, Hashable, CustomStringConvertible {
  /// The address of the proxy.
  public var endPoint: EndPoint { parts.endPoint }
  /// The maximum number of open sockets to the proxy, including idle ones. Default: 32, as in browsers.
  public var maxConnections: Int { parts.maxConnections }

  var scheme: String { parts.scheme }
  var user: String { parts.user }
  var password: String { parts.password }

  // A reference, since every request carries its proxy along.
  private let parts: Parts

  private final class Parts: Sendable {
    let endPoint: EndPoint
    let maxConnections: Int
    let scheme: String
    let user: String
    let password: String

    init(_ endPoint: EndPoint, _ maxConnections: Int, scheme: String, user: String, password: String) {
      (self.endPoint, self.maxConnections) = (endPoint, maxConnections)
      (self.scheme, self.user, self.password) = (scheme, user, password)
    }
  }

  /// Creates a proxy from its URL.
  ///
  /// - Parameters:
  ///   - url: `scheme://user:password@host:port`. The scheme is `http` (the default), `https`, `socks4`, `socks4a`,
  ///     `socks5` or `socks5h`. The default port is 443 for `https` and 1080 for all others.
  ///   - maxConnections: The maximum number of sockets to it, 1 or more.
  /// - Throws: `DispatchError` with `proxyFailed` if the URL is not valid for a proxy, or if the number is below 1.
  public init(_ url: String, maxConnections: Int = 32) throws(DispatchError) {
    func bad(_ why: String) -> DispatchError {
      // The URL is not shown, since it may contain a password.
      DispatchError(.proxyFailed, phase: .connecting, detail: "the proxy's URL is not valid: \(why)")
    }
    guard maxConnections >= 1 else { throw bad("maxConnections must be at least 1, not \(maxConnections)") }
    var rest = Substring(url)
    var scheme = "http"
    if let mark = rest.firstRange(of: "://") {
      scheme = rest[..<mark.lowerBound].lowercased()
      rest = rest[mark.upperBound...]
    }
    guard ["http", "https", "socks4", "socks4a", "socks5", "socks5h"].contains(scheme) else {
      throw bad("the scheme \(scheme) is not one of http, https, socks4, socks4a, socks5, socks5h")
    }
    rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    var (user, password) = ("", "")
    if let mark = rest.lastIndex(of: "@") {
      let parts = rest[..<mark].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = URLText.unescaped(parts[0]), let word = parts.count > 1 ? URLText.unescaped(parts[1]) : "" else {
        throw bad("the percent-encoding of user or password is invalid")
      }
      (user, password) = (name, word)
      rest = rest[rest.index(after: mark)...]
    }
    var port = scheme == "https" ? 443 : 1080
    // The colon must follow the last bracket.
    if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
      guard let number = Int(rest[rest.index(after: colon)...]) else { throw bad("the port is not a number") }
      port = number
      rest = rest[..<colon]
    }
    do {
      let endPoint = try EndPoint(host: String(rest), port: port)
      parts = Parts(endPoint, maxConnections, scheme: scheme, user: user, password: password)
    } catch {
      throw bad("\(error)")
    }
  }

  /// Scheme, host and port, without credentials.
  public var description: String { "\(scheme)://\(endPoint)" }

  /// Whether all properties are equal.
  public static func == (left: CurlProxy, right: CurlProxy) -> Bool {
    left.parts === right.parts
      || left.endPoint == right.endPoint && left.maxConnections == right.maxConnections && left.scheme == right.scheme
        && left.user == right.user && left.password == right.password
  }

  /// Hashes the end-point.
  public func hash(into hasher: inout Hasher) { hasher.combine(endPoint) }

  /// Whether a request uses a tunnel, so that its connection belongs to its end-point.
  func tunnels(to request: DispatchRequest) -> Bool { request.isSecure || scheme.hasPrefix("socks") }
}

/// Which requests use which proxy.
public struct CurlProxyRule: Sendable, Hashable, CustomStringConvertible {
  enum Value: Hashable { case none, environment(String?), fixed(CurlProxy, String) }
  let value: Value

  /// No proxy. Ignores the environment.
  public static let none = CurlProxyRule(value: .none)

  /// Reads the process's environment when the transport is created: `http_proxy` for plain requests (lower case only,
  /// because a CGI server may set the other from a request's field); `https_proxy` or `HTTPS_PROXY` for requests over
  /// TLS; `all_proxy` or `ALL_PROXY` as the fallback for both; `no_proxy` or `NO_PROXY` for exceptions. Exceptions
  /// are separated by commas: names, which include their subdomains, addresses, address ranges (`10.0.0.0/8`), or `*`
  /// for all hosts.
  public static let environment = CurlProxyRule(value: .environment(nil))

  /// Reads the environment, with other exceptions.
  ///
  /// - Parameter hosts: Hosts without a proxy, in place of `no_proxy`.
  public static func environment(except hosts: String) -> CurlProxyRule { CurlProxyRule(value: .environment(hosts)) }

  /// One proxy for all requests.
  ///
  /// - Parameters:
  ///   - proxy: The proxy.
  ///   - hosts: Hosts that don't use it, written like `no_proxy`.
  public static func through(_ proxy: CurlProxy, except hosts: String = "") -> CurlProxyRule {
    CurlProxyRule(value: .fixed(proxy, hosts))
  }

  /// Its name, as in a program, with the proxy but without its credentials: `through(http://proxy:8080)`.
  public var description: String {
    switch value {
    case .none: "none"
    case .environment(nil): "environment"
    case .environment(let hosts?): "environment(except: \(hosts))"
    case .fixed(let proxy, ""): "through(\(proxy))"
    case .fixed(let proxy, let hosts): "through(\(proxy), except: \(hosts))"
    }
  }
}
