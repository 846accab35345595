import HeadgateDispatch

/// What stands for a URL of a list, where only the same one matters: the first half of its SHA-256.
struct URLDigest: Hashable, Sendable {
  let high: UInt64
  private let low: UInt64

  /// Of a URL whose scheme and host are in small letters, that has no default port, and `/` in place of an empty path. All
  /// else is as it was written: what a server takes for the same is its own matter.
  ///
  /// - Throws: `invalidURL`.
  init(_ url: String) throws(DispatchError) { self.init(text: try Self.canonical(url)) }

  private init(text: String) {
    let sum = SHA256.sum(text.utf8)
    high = sum[..<8].reduce(0) { $0 << 8 | UInt64($1) }
    low = sum[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
  }

  static func canonical(_ url: String) throws(DispatchError) -> String {
    let sent = try DispatchRequest(url).url
    let bytes = url.utf8
    // Neither is part of what the transport gets, but both are of the URL.
    let fragment = bytes.firstIndex(of: UInt8(ascii: "#")).map { String(url[$0...]) } ?? ""
    guard let user = user(of: bytes), let start = sent.utf8.firstRange(of: Array("://".utf8))?.upperBound else {
      return sent + fragment
    }
    return sent[..<start] + user + sent[start...] + fragment
  }

  /// Name and password with the `@`; nil where there are none.
  private static func user(of url: String.UTF8View) -> String? {
    guard let start = url.firstRange(of: Array("://".utf8))?.upperBound else { return nil }
    let authority = url[start...].prefix { !"/?#".utf8.contains($0) }
    guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return nil }
    return String(decoding: authority[...at], as: UTF8.self)
  }
}
