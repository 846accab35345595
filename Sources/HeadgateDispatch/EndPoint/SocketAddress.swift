// A URL of a server behind a Unix-domain socket, with the socket's path, percent-encoded, as the host.
//
//     http+unix://%2Frun%2Fdocker.sock/v1.44/info
//
// The form used by Python's requests-unixsocket and others. No form is registered.

import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SocketAddress {
  let endPoint: EndPoint
  let isSecure: Bool
  /// Path and query, without the fragment. Begins with a slash.
  let target: String

  /// Nil if the text is not a URL of this kind.
  ///
  /// - Throws: ``EndPointError`` if it is one, but its path is invalid.
  init?(_ text: String) throws(EndPointError) {
    let scheme = text.prefix { $0 != ":" }.lowercased()
    isSecure = scheme == "https+unix"
    guard isSecure || scheme == "http+unix", text.dropFirst(scheme.count).hasPrefix("://") else { return nil }
    let rest = text.dropFirst(scheme.count + 3)
    let end = rest.utf8.firstIndex(where: URLText.endsAuthority) ?? rest.endIndex
    guard let path = URLText.unescaped(rest[..<end]) else { throw EndPointError(.invalidPath, text) }
    endPoint = try EndPoint(unixSocket: path)
    let target = URLText.encoded(String(rest[end...].prefix { $0 != "#" }))
    self.target = target.utf8.first == UInt8(ascii: "/") ? target : "/" + target
  }

  /// The canonical form.
  var url: String { (isSecure ? "https" : "http") + "+unix://" + endPoint.hostInURL + target }

  /// The equivalent http or https URL, which the server's relative references are resolved against.
  ///
  /// - Parameter host: The server's name for itself; `localhost` unless the request specifies another.
  func plainURL(host: String?) -> String { (isSecure ? "https" : "http") + "://" + (host ?? "localhost") + target }
}

extension RequestAddress {
  /// Resolves a redirect of a server behind a socket. A path, or a URL with the server's own host, is on the same
  /// socket. Nil for other URLs.
  init?(_ text: String, on socket: SocketAddress, host: String?) {
    guard let base = URL(string: socket.plainURL(host: host)),
      let there = URL(text: text, relativeTo: base)?.absoluteURL, there.scheme?.lowercased() == base.scheme,
      there.host()?.lowercased() == base.host()?.lowercased(), there.port == base.port
    else { return nil }
    let target = Substring(there.absoluteString).utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
      .drop { !URLText.endsAuthority($0) }.prefix { $0 != UInt8(ascii: "#") }
    let path = String(decoding: target, as: UTF8.self)
    endPoint = socket.endPoint
    isSecure = socket.isSecure
    credentials = nil
    url =
      (isSecure ? "https" : "http") + "+unix://" + endPoint.hostInURL
      + (path.utf8.first == UInt8(ascii: "/") ? path : "/" + path)
  }
}

extension DispatchRequest {
  /// The URL as sent to the server: for a Unix-domain socket with the host of the request's `Host` field, or
  /// `localhost`. With TLS the server's certificate must match that host.
  package var wireURL: String {
    guard endPoint.isUnixSocket, let address = try? SocketAddress(url) else { return url }
    return address.plainURL(host: HTTPField.Name("Host").flatMap { headerFields[$0] })
  }
}
