// A URL of a server behind a Unix-domain socket, with the socket's path, percent-encoded, as the host.
//
//     http+unix://%2Frun%2Fdocker.sock/v1.44/info
//
// The form used by Python's requests-unixsocket and others. No form is registered.

package struct SocketAddress {
  package let endPoint: EndPoint
  package let isSecure: Bool
  /// Path and query, without the fragment. Begins with a slash.
  let target: String

  /// Nil if the text is not a URL of this kind.
  ///
  /// - Throws: ``EndPointError`` if it is one, but its path is invalid.
  package init?(_ text: String) throws(EndPointError) {
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
  package var url: String { (isSecure ? "https" : "http") + "+unix://" + endPoint.hostInURL + target }

  /// The equivalent http or https URL, which the server's relative references are resolved against.
  ///
  /// - Parameter host: The server's name for itself; `localhost` unless the request specifies another.
  package func plainURL(host: String?) -> String {
    (isSecure ? "https" : "http") + "://" + (host ?? "localhost") + target
  }
}
