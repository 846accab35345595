import HeadgateDispatch

/// A proxy that requests go through.
///
/// Plain requests are sent to it; those over TLS, and all through a SOCKS proxy, go through a tunnel to their end-point,
/// so that the proxy sees nothing of them but host and port. Its credentials go to the proxy and to nobody else, and what
/// is meant for the end-point is not sent to the proxy when a tunnel is asked for. HTTP/1.1 is spoken through it.
///
/// A request through a proxy needs the permit of its end-point, as without one: never more of them are under way there
/// than its limit says. The sockets lead to the proxy and count there: `maxConnections` in all, for all end-points behind
/// it, idle ones included; those of its tunnels that lead to one end-point keep to that one's limit too. A request that
/// has its permit and finds no socket waits for one, which counts as waiting.
public struct CurlProxy: Sendable, Hashable, CustomStringConvertible {
  /// Where the proxy is.
  public var endPoint: EndPoint { parts.endPoint }
  /// The most sockets open to it, idle ones included: 32 unless given, as browsers have it.
  public var maxConnections: Int { parts.maxConnections }

  var scheme: String { parts.scheme }
  var user: String { parts.user }
  var password: String { parts.password }

  // An object: every request has its proxy with it, and is asked for it at several steps of its way.
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

  /// A proxy by its URL.
  ///
  /// - Parameters:
  ///   - url: `scheme://user:password@host:port`. The scheme is `http` (which it is if none is given), `https`, `socks4`,
  ///     `socks4a`, `socks5` or `socks5h`; the port is 443 for `https` and 1080 for all others unless given.
  ///   - maxConnections: Sockets to it, 1 or more.
  /// - Throws: `DispatchError` with `proxyFailed` when the URL is none of a proxy, or the number is below 1.
  public init(_ url: String, maxConnections: Int = 32) throws(DispatchError) {
    func bad(_ why: String) -> DispatchError {
      // The text may hold a password.
      DispatchError(.proxyFailed, phase: .connecting, detail: "the proxy's URL can't be used: \(why)")
    }
    guard maxConnections >= 1 else { throw bad("its sockets must be at least 1, not \(maxConnections)") }
    var rest = Substring(url)
    var scheme = "http"
    if let mark = rest.firstRange(of: "://") {
      scheme = rest[..<mark.lowerBound].lowercased()
      rest = rest[mark.upperBound...]
    }
    guard ["http", "https", "socks4", "socks4a", "socks5", "socks5h"].contains(scheme) else {
      throw bad("the scheme \(scheme) is none of a proxy's (http, https, socks4, socks4a, socks5, socks5h)")
    }
    rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    var (user, password) = ("", "")
    if let mark = rest.lastIndex(of: "@") {
      let parts = rest[..<mark].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = URLText.unescaped(parts[0]), let word = parts.count > 1 ? URLText.unescaped(parts[1]) : "" else {
        throw bad("its user or password is badly percent-encoded")
      }
      (user, password) = (name, word)
      rest = rest[rest.index(after: mark)...]
    }
    var port = scheme == "https" ? 443 : 1080
    // A colon after the last bracket.
    if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
      guard let number = Int(rest[rest.index(after: colon)...]) else { throw bad("its port is no number") }
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

  /// Its scheme, host and port, without any credentials.
  public var description: String { "\(scheme)://\(endPoint)" }

  /// Whether all parts are the same.
  public static func == (left: CurlProxy, right: CurlProxy) -> Bool {
    left.parts === right.parts
      || left.endPoint == right.endPoint && left.maxConnections == right.maxConnections && left.scheme == right.scheme
        && left.user == right.user && left.password == right.password
  }

  /// Feeds where it is.
  public func hash(into hasher: inout Hasher) { hasher.combine(endPoint) }

  /// Whether a request goes through a tunnel, so that its connection belongs to its end-point.
  func tunnels(to request: DispatchRequest) -> Bool { request.isSecure || scheme.hasPrefix("socks") }
}

/// Which requests go through which proxy.
public struct CurlProxyRule: Sendable, Hashable {
  enum Value: Hashable { case none, environment(String?), fixed(CurlProxy, String) }
  let value: Value

  /// No proxy, whatever the environment says.
  public static let none = CurlProxyRule(value: .none)

  /// As the process's environment says when the transport is made: `http_proxy` (only so, in small letters: a server's
  /// gateway may set the other from a request's field) for plain requests, `https_proxy` or `HTTPS_PROXY` for those over
  /// TLS, `all_proxy` or `ALL_PROXY` for what has none of its own, and `no_proxy` or `NO_PROXY` for hosts without one:
  /// names, which stand for all below them too, addresses, ranges of addresses (`10.0.0.0/8`), with commas in between, or
  /// `*` for all.
  public static let environment = CurlProxyRule(value: .environment(nil))

  /// As the environment says, but for the hosts without a proxy.
  ///
  /// - Parameter hosts: Hosts without a proxy, in the place of `no_proxy`.
  public static func environment(except hosts: String) -> CurlProxyRule { CurlProxyRule(value: .environment(hosts)) }

  /// One proxy for all requests.
  ///
  /// - Parameters:
  ///   - proxy: The proxy.
  ///   - hosts: Hosts without it, written as for `no_proxy`.
  public static func through(_ proxy: CurlProxy, except hosts: String = "") -> CurlProxyRule {
    CurlProxyRule(value: .fixed(proxy, hosts))
  }
}
