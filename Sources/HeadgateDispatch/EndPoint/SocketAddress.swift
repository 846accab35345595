// A URL whose server is behind a Unix-domain socket: the socket's path, percent-encoded, stands where the host would.
//
//     http+unix://%2Frun%2Fdocker.sock/v1.44/info
//
// The form that Python's requests-unixsocket and others use. There is no registered one.

import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SocketAddress {
  let endPoint: EndPoint
  let isSecure: Bool
  /// What follows the authority: path and query, without a fragment. Begins with a slash.
  let target: String

  /// Nil: the text is no URL of this kind.
  ///
  /// - Throws: ``EndPointError`` when it is one, and names no path.
  init?(_ text: String) throws(EndPointError) {
    let rest: Substring
    if text.prefix(12).lowercased() == "http+unix://" {
      (isSecure, rest) = (false, text.dropFirst(12))
    } else if text.prefix(13).lowercased() == "https+unix://" {
      (isSecure, rest) = (true, text.dropFirst(13))
    } else {
      return nil
    }
    let end = rest.utf8.firstIndex(where: URLText.endsAuthority) ?? rest.endIndex
    guard let path = URLText.unescaped(rest[..<end]) else { throw EndPointError(.invalidPath, text) }
    endPoint = try EndPoint(unixSocket: path)
    let target = URLText.encoded(String(rest[end...].prefix { $0 != "#" }))
    self.target = target.utf8.first == UInt8(ascii: "/") ? target : "/" + target
  }

  /// The canonical spelling.
  var url: String { (isSecure ? "https" : "http") + "+unix://" + endPoint.hostInURL + target }

  /// The same for a server that has heard of no sockets: what its answers are relative to.
  ///
  /// - Parameter host: What it takes itself for; `localhost` unless the request says otherwise.
  func plainURL(host: String?) -> String { (isSecure ? "https" : "http") + "://" + (host ?? "localhost") + target }
}

extension RequestAddress {
  /// Where a redirect of a server behind a socket leads: a path, or a URL of the host that it takes itself for, is on the
  /// same socket. Nil: elsewhere.
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
  /// The URL as it goes over the wire: for a Unix-domain socket with the host that the request's `Host` field names, or
  /// `localhost`. In TLS the server's certificate has to be for that.
  package var wireURL: String {
    guard endPoint.isUnixSocket, let address = try? SocketAddress(url) else { return url }
    return address.plainURL(host: HTTPField.Name("Host").flatMap { headerFields[$0] })
  }
}
