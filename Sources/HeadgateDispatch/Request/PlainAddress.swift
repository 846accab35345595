/// The URL that nearly every request has: `http://name:port/path?query` in canonical spelling already, with nothing to
/// decode, resolve or leave out. Recognized in one pass over its bytes; all others go through Foundation's parser, which
/// took a third of the dispatcher's own time for a request.
struct PlainAddress {
  let isSecure: Bool
  /// A name, or an IPv4 address in its dotted form, as `CanonicalHost` would spell it.
  let host: String
  let port: Int

  init?(_ text: String) {
    let found = text.utf8.withContiguousStorageIfAvailable { bytes -> (Bool, String, Int)? in
      var scanner = Scanner(bytes)
      let isSecure: Bool
      if scanner.skip("http://") {
        isSecure = false
      } else if scanner.skip("https://") {
        isSecure = true
      } else {
        return nil
      }
      guard let host = scanner.host(), let port = scanner.port(isSecure: isSecure), scanner.isAtPlainPath else {
        return nil
      }
      return (isSecure, String(decoding: UnsafeBufferPointer(rebasing: bytes[host]), as: UTF8.self), port)
    }
    guard let (isSecure, host, port) = found ?? nil else { return nil }
    (self.isSecure, self.host, self.port) = (isSecure, host, port)
  }
}

/// Reads a URL's bytes from the left to the right.
private struct Scanner {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var index = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

  mutating func skip(_ prefix: StaticString) -> Bool {
    let length = prefix.utf8CodeUnitCount
    guard bytes.count - index >= length else { return false }
    for offset in 0..<length where bytes[index + offset] != prefix.utf8Start[offset] { return false }
    index += length
    return true
  }

  /// The host, if it is a name or an IPv4 address in canonical form: labels of small letters, digits and hyphens.
  mutating func host() -> Range<Int>? {
    let start = index
    var label = index
    var (labels, numbers) = (0, 0)
    while true {
      let isLabelsEnd = byte.map { !Self.isLabelByte($0) } ?? true
      if isLabelsEnd {
        guard index > label else { return nil }
        labels += 1
        if isByteNumber(label..<index) { numbers += 1 }
        guard byte == UInt8(ascii: ".") else { break }
        label = index + 1
      }
      index += 1
    }
    // A host that ends in a number is an address, however it is written: then it must be the dotted form.
    guard !Self.isDigit(bytes[label]) || labels == 4 && numbers == 4, index - start <= 253 else { return nil }
    return start..<index
  }

  /// 0 to 255 without leading zeros.
  private func isByteNumber(_ range: Range<Int>) -> Bool {
    guard range.count <= 3, range.count == 1 || bytes[range.lowerBound] != UInt8(ascii: "0") else { return false }
    var value = 0
    for index in range {
      guard Self.isDigit(bytes[index]) else { return false }
      value = value * 10 + Int(bytes[index] &- UInt8(ascii: "0"))
    }
    return value <= 255
  }

  /// The port that is written, or the scheme's. A default port that is written, or one with a leading zero, has a
  /// shorter spelling.
  mutating func port(isSecure: Bool) -> Int? {
    let standard = isSecure ? 443 : 80
    guard byte == UInt8(ascii: ":") else { return standard }
    index += 1
    guard byte != UInt8(ascii: "0") else { return nil }
    var port = 0
    while let byte, Self.isDigit(byte), port <= 65535 {
      port = port * 10 + Int(byte &- UInt8(ascii: "0"))
      index += 1
    }
    return (1...65535).contains(port) && port != standard ? port : nil
  }

  /// Whether a path follows, and nothing that would have to be encoded or left out.
  var isAtPlainPath: Bool {
    guard byte == UInt8(ascii: "/") else { return false }
    for index in index..<bytes.count where !Self.isPathByte(bytes[index]) { return false }
    return true
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  private static func isLabelByte(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") || byte == UInt8(ascii: "-")
  }

  // What RFC 3986 allows in a path or query as it is. A percent sign, a fragment and the rest go the long way.
  private static func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "&")...UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: ";"): true
    case UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "="), UInt8(ascii: "?"), UInt8(ascii: "@"): true
    case UInt8(ascii: "!"), UInt8(ascii: "$"): true
    default: false
    }
  }
}
