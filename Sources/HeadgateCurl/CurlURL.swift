import CCurl
import HeadgateLibC

/// The parsed URL of a libcurl easy handle (CURLOPT_CURLU).
///
/// With CURLOPT_URL, libcurl (7.88) parses and rewrites the text for each transfer, which is an eighth of its work
/// for a small response. Of a parsed URL it only copies the parts, and for a request to the same origin only path and
/// query change.
struct CurlURL: ~Copyable {
  let handle: OpaquePointer
  // Scheme, host and port of the handle's URL, as written.
  private var origin: [UInt8] = []
  private var hasQuery = false

  init?() {
    guard let handle = curl_url() else { return nil }
    self.handle = handle
  }

  deinit { curl_url_cleanup(handle) }

  /// Sets a complete `http` or `https` URL. Returns false if libcurl can't parse it; then the handle's URL is
  /// undefined.
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

  /// Path and query, if the origin is unchanged and libcurl would leave them as they are. Parts set individually are
  /// not normalized (dot segments), and their escapes become lower case.
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

  /// The text before the path.
  private static func origin(of text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var slashes = 0
    return Array(
      text.prefix { byte in
        if byte == UInt8(ascii: "/") { slashes += 1 }
        return slashes < 3
      })
  }

  /// Calls `body` with a NUL-terminated copy.
  private static func with(_ bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafePointer<CChar>) -> CURLUcode)
    -> CURLUcode
  {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
      // The buffer is one byte larger than the source; CChar and UInt8 have the same layout.
      if let from = bytes.baseAddress, let to = buffer.baseAddress { memcpy(to, from, bytes.count) }
      buffer[bytes.count] = 0
      return buffer.baseAddress.map { body($0) } ?? CURLUE_OUT_OF_MEMORY
    }
  }
}
