import HeadgateDispatch

/// Identifies a URL of a list for comparison: the first half of its SHA-256.
struct URLDigest: Hashable, Sendable {
  let high: UInt64
  private let low: UInt64

  /// The digest of a URL with scheme and host in lower case, without a default port, and with `/` in place of an empty
  /// path. The rest is not normalized, since only the server knows which URLs are equivalent.
  ///
  /// - Throws: `invalidURL`.
  init(_ url: String) throws(DispatchError) { (high, low) = SHA256.half(of: try Self.canonical(url).utf8) }

  static func canonical(_ url: String) throws(DispatchError) -> String {
    let sent = try DispatchRequest(url).url
    let bytes = url.utf8
    // The request contains neither of these, but both belong to the URL.
    let fragment = bytes.firstIndex(of: UInt8(ascii: "#")).map { String(url[$0...]) } ?? ""
    guard let user = user(of: bytes), let start = sent.utf8.firstRange(of: Array("://".utf8))?.upperBound else {
      return sent + fragment
    }
    return sent[..<start] + user + sent[start...] + fragment
  }

  /// User name and password with the `@`. Nil if there are none.
  private static func user(of url: String.UTF8View) -> String? {
    guard let start = url.firstRange(of: Array("://".utf8))?.upperBound else { return nil }
    let authority = url[start...].prefix { !"/?#".utf8.contains($0) }
    guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return nil }
    return String(decoding: authority[...at], as: UTF8.self)
  }
}
