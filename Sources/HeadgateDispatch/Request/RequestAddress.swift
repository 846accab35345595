#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A URL taken apart once: what the transport dials and what the limit belongs to are the same host and port.
struct RequestAddress {
  let url: String
  let endPoint: EndPoint
  let isSecure: Bool
  /// `user:password`, decoded; nil when the URL has none.
  let credentials: String?

  init(_ text: String, relativeTo base: String? = nil, host: String? = nil) throws(DispatchError) {
    // What a server behind a socket calls localhost is no TCP end-point.
    let isOnSocket = base?.hasPrefix("http+unix:") ?? false || base?.hasPrefix("https+unix:") ?? false
    if !isOnSocket, let plain = PlainAddress(text) {
      endPoint = EndPoint(canonical: plain.host, port: plain.port)
      (url, isSecure, credentials) = (text, plain.isSecure, nil)
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
      throw DispatchError(.invalidURL, detail: error.description, underlying: error)
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
      throw DispatchError(.invalidURL, detail: error.description, underlying: error)
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
