import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A URL, parsed once: the transport dials the same host and port that the limits apply to.
struct RequestAddress {
  let url: String
  let endPoint: EndPoint
  let isSecure: Bool
  /// `user:password`, decoded; nil if the URL has none.
  let credentials: String?

  init(_ text: String, relativeTo base: String? = nil, host: String? = nil) throws(DispatchError) {
    // A `localhost` in the response of a server behind a socket does not mean a TCP end-point.
    let isOnSocket = base?.hasPrefix("http+unix:") ?? false || base?.hasPrefix("https+unix:") ?? false
    if !isOnSocket, let canonical = RequestAddress(canonical: text) {
      self = canonical
      return
    }
    do {
      if let socket = try SocketAddress(text) {
        (url, endPoint, isSecure, credentials) = (socket.url, socket.endPoint, socket.isSecure, nil)
        return
      }
      if let base, let socket = try SocketAddress(base), let there = RequestAddress(text, on: socket, host: host) {
        self = there
        return
      }
    } catch {
      throw DispatchError(.invalidURL, detail: error.description, underlyingError: error)
    }
    let baseURL = base.flatMap { URL(string: $0) }
    guard let parsed = URL(text: text, relativeTo: baseURL)?.absoluteURL,
      let components = URLComponents(url: parsed, resolvingAgainstBaseURL: true)
    else {
      throw DispatchError(.invalidURL, detail: "\"\(ShownText.withoutPassword(text))\"")
    }
    let scheme = components.scheme?.lowercased() ?? ""
    guard scheme == "http" || scheme == "https" else {
      throw DispatchError(
        .invalidURL,
        detail: scheme.isEmpty
          ? "\"\(ShownText.withoutPassword(text))\" has no scheme" : "the scheme \(scheme) is not supported")
    }
    do {
      endPoint = try EndPoint(parsed)
    } catch {
      throw DispatchError(.invalidURL, detail: error.description, underlyingError: error)
    }
    isSecure = scheme == "https"
    let (user, password) = (components.user ?? "", components.password ?? "")
    credentials = user.isEmpty && password.isEmpty ? nil : "\(user):\(password)"

    let isDefaultPort = endPoint.port == EndPoint.defaultPort(ofScheme: scheme)
    let path = components.percentEncodedPath
    url =
      scheme + "://" + endPoint.hostInURL + (isDefaultPort ? "" : ":\(endPoint.port)")
      + (path.isEmpty ? "/" : path) + (components.percentEncodedQuery.map { "?" + $0 } ?? "")
  }
}

extension RequestAddress {
  /// The address of a URL already in canonical form, like that of almost every request. Nil if anything must be
  /// decoded, resolved or removed. Avoids Foundation's parser, which takes a third of the dispatcher's own time per
  /// request, and reads each byte once.
  init?(canonical text: String) {
    let isSecure = text.hasPrefix("https://")
    guard isSecure || text.hasPrefix("http://") else { return nil }
    let start = isSecure ? 8 : 7
    let parts = text.utf8.withContiguousStorageIfAvailable { bytes -> (host: Int, port: Int)? in
      guard let host = CanonicalHost.canonicalPrefix(UnsafeBufferPointer(rebasing: bytes[start...])) else { return nil }
      var (place, port) = (start + host, isSecure ? 443 : 80)
      if place < bytes.count, bytes[place] == UInt8(ascii: ":") {
        guard let written = Self.port(bytes[(place + 1)...]), written.number != port else { return nil }
        (place, port) = (place + 1 + written.digits, written.number)
      }
      guard place < bytes.count, bytes[place] == UInt8(ascii: "/"),
        bytes[place...].allSatisfy({ URLText.isPlain($0) && $0 != UInt8(ascii: "#") })
      else { return nil }
      return (host, port)
    }
    guard let parts = parts ?? nil else { return nil }
    let host = text.utf8.index(text.utf8.startIndex, offsetBy: start)
    let end = text.utf8.index(host, offsetBy: parts.host)
    (url, endPoint, credentials) = (text, EndPoint(canonical: String(text[host..<end]), port: parts.port), nil)
    self.isSecure = isSecure
  }

  /// A port as its canonical form has it, without leading zeros.
  private static func port(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> (number: Int, digits: Int)? {
    var (number, digits) = (0, 0)
    for byte in bytes {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
      (number, digits) = (number * 10 + Int(byte - UInt8(ascii: "0")), digits + 1)
      guard number > 0, number <= 65535 else { return nil }
    }
    return digits > 0 ? (number, digits) : nil
  }
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
