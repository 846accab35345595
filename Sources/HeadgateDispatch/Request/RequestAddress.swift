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

  init(_ text: String, relativeTo base: String? = nil) throws(DispatchError) {
    if let plain = PlainAddress(text) {
      endPoint = EndPoint(canonical: plain.host, port: plain.port)
      (url, isSecure, credentials) = (text, plain.isSecure, nil)
      return
    }
    let baseURL = base.flatMap { URL(string: $0) }
    guard let parsed = URL(text: text, relativeTo: baseURL)?.absoluteURL,
      let components = URLComponents(url: parsed, resolvingAgainstBaseURL: true)
    else {
      throw DispatchError(.invalidURL, detail: "\"\(text)\"")
    }
    let scheme = components.scheme?.lowercased() ?? ""
    guard scheme == "http" || scheme == "https" else {
      throw DispatchError(
        .invalidURL, detail: scheme.isEmpty ? "\"\(text)\" has no scheme" : "the scheme \(scheme) is not supported")
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
