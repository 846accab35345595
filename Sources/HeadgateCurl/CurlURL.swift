import CCurl

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The URL of one of libcurl's easy handles, taken apart (CURLOPT_CURLU).
///
/// The text of CURLOPT_URL libcurl parses and writes anew for each transfer, which is an eighth of all its work for a small
/// response (7.88). Of a URL that is taken apart it copies the parts; and a request to where the one before it went changes
/// only path and query.
struct CurlURL: ~Copyable {
  let handle: OpaquePointer
  // Scheme, host and port of what the handle holds, as they were written.
  private var origin: [UInt8] = []
  private var hasQuery = false

  init?() {
    guard let handle = curl_url() else { return nil }
    self.handle = handle
  }

  deinit { curl_url_cleanup(handle) }

  /// Takes over a whole `http` or `https` URL. False when libcurl can't read it: then the handle holds something else.
  mutating func set(_ url: String) -> Bool {
    var url = url
    return url.withUTF8 { text in
      if let target = plainTarget(of: text) { return set(target: target) }
      origin = Self.origin(of: text)
      hasQuery = text.contains(UInt8(ascii: "?"))
      guard Self.with(text, { curl_url_set(handle, CURLUPART_URL, $0, 0) }) == CURLUE_OK else {
        origin = []
        return false
      }
      return true
    }
  }

  private mutating func set(target: UnsafeBufferPointer<UInt8>) -> Bool {
    let pathEnd = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
    let path = UnsafeBufferPointer(rebasing: target[..<pathEnd])
    var isSet = Self.with(path) { curl_url_set(handle, CURLUPART_PATH, $0, 0) } == CURLUE_OK
    if pathEnd < target.count {
      let query = UnsafeBufferPointer(rebasing: target[(pathEnd + 1)...])
      isSet = isSet && Self.with(query) { curl_url_set(handle, CURLUPART_QUERY, $0, 0) } == CURLUE_OK
    } else if hasQuery {
      isSet = isSet && curl_url_set(handle, CURLUPART_QUERY, nil, 0) == CURLUE_OK
    }
    hasQuery = pathEnd < target.count
    if !isSet { origin = [] }
    return isSet
  }

  /// Path and query, if the rest is what the handle holds and libcurl would leave them as they are: set by itself a part
  /// is not resolved, and its escapes are written in small letters.
  private func plainTarget(of text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
    guard !origin.isEmpty, text.count > origin.count, text[origin.count] == UInt8(ascii: "/"),
      text.starts(with: origin)
    else { return nil }
    let target = UnsafeBufferPointer(rebasing: text[origin.count...])
    var last = UInt8(0)
    for byte in target {
      if byte == UInt8(ascii: "%") || byte == UInt8(ascii: ".") && last == UInt8(ascii: "/") { return nil }
      last = byte
    }
    return target
  }

  /// All before the path.
  private static func origin(of text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var slashes = 0
    return Array(
      text.prefix { byte in
        if byte == UInt8(ascii: "/") { slashes += 1 }
        return slashes < 3
      })
  }

  /// Calls with the bytes and a zero behind them.
  private static func with(_ bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafePointer<CChar>) -> CURLUcode)
    -> CURLUcode
  {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
      // Both are as large as the bytes, the buffer by one larger; CChar and UInt8 have the same layout.
      if let from = bytes.baseAddress, let to = buffer.baseAddress { memcpy(to, from, bytes.count) }
      buffer[bytes.count] = 0
      return buffer.baseAddress.map { body($0) } ?? CURLUE_OUT_OF_MEMORY
    }
  }
}
