#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension EndPoint {
  /// Creates the end-point of an absolute URL.
  ///
  /// - Parameter url: `http://host:port/path`, or `http+unix://%2Frun%2Fx.sock/path` for a Unix-domain socket.
  /// - Throws: ``EndPointError`` if the text is not an absolute URL, if its host is empty or invalid, or if it has no
  ///   port and its scheme has no default one.
  public init(_ url: String) throws(EndPointError) {
    if let address = try SocketAddress(url) {
      self = address.endPoint
      return
    }
    guard let parsed = URL(text: url) else {
      throw EndPointError(.malformed, url)
    }
    try self.init(parsed)
  }

  /// Creates the end-point of an absolute URL.
  ///
  /// - Throws: ``EndPointError`` if the URL has no scheme or host, or if it has no port and its scheme has no default
  ///   one.
  public init(_ url: URL) throws(EndPointError) {
    guard let scheme = url.scheme?.lowercased() else { throw EndPointError(.malformed, url.absoluteString) }
    guard let host = url.host(percentEncoded: false), !host.isEmpty else {
      throw EndPointError(.missingHost, url.absoluteString)
    }
    // Only an IPv6 address may be in brackets; `host` comes without them.
    guard host.utf8.contains(UInt8(ascii: ":")) || !url.authority.contains(UInt8(ascii: "[")) else {
      throw EndPointError(.invalidHost, url.absoluteString)
    }
    if url.port == nil, let digits = Self.writtenPort(of: url) { throw EndPointError(.invalidPort, digits) }
    guard let port = url.port ?? EndPoint.defaultPort(ofScheme: scheme) else {
      throw EndPointError(.unknownScheme, url.absoluteString)
    }
    try self.init(host: host, port: port)
  }

  // Foundation returns nil for a port too large for an Int. The default port must not be used then.
  private static func writtenPort(of url: URL) -> String? {
    let digits = url.authority.reversed().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard !digits.isEmpty, url.authority.dropLast(digits.count).last == UInt8(ascii: ":") else { return nil }
    return String(decoding: digits.reversed(), as: UTF8.self)
  }
}

extension URL {
  /// Creates the URL. Existing percent-encoding is not changed.
  package init?(text: String, relativeTo base: URL? = nil) {
    self.init(string: URLText.encoded(text), relativeTo: base)
  }

  /// Host and port with user information, as written.
  var authority: Substring.UTF8View {
    Substring(absoluteString).utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2).prefix { !URLText.endsAuthority($0) }
  }
}
