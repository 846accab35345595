#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension EndPoint {
  /// The end-point of an absolute URL.
  ///
  /// - Throws: ``EndPointError`` when the text is no absolute URL, its host is empty or invalid, or its scheme has no
  ///   default port and it gives none.
  public init(_ url: String) throws(EndPointError) {
    guard let parsed = URL(string: url, encodingInvalidCharacters: false) else {
      throw EndPointError(.malformed, url)
    }
    try self.init(parsed)
  }

  /// The end-point of an absolute URL.
  ///
  /// - Throws: ``EndPointError`` when the URL has no scheme or host, or its scheme has no default port and it gives
  ///   none.
  public init(_ url: URL) throws(EndPointError) {
    guard let scheme = url.scheme?.lowercased() else { throw EndPointError(.malformed, url.absoluteString) }
    guard let host = url.host(percentEncoded: false), !host.isEmpty else {
      throw EndPointError(.missingHost, url.absoluteString)
    }
    guard let port = url.port ?? EndPoint.defaultPort(ofScheme: scheme) else {
      throw EndPointError(.unknownScheme, url.absoluteString)
    }
    try self.init(host: host, port: port)
  }
}
