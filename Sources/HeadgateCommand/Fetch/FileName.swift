// Names for files, made from URLs that strangers wrote. A name never leaves its folder, never hides, never breaks a
// terminal, and leaves room for what is added to it.

/// The name that a URL gives to its file.
enum FileName {
  /// A file system takes 255 bytes; the rest is for a number and `.part`.
  static let longest = 240

  /// The last component of the URL's path, percent-decoded and made harmless; `index.html` where there is none. The
  /// query is no part of it.
  static func of(_ url: String) -> String {
    let encoded = lastComponent(of: Substring(url))
    // What is no UTF-8 after decoding keeps its percent signs.
    let name = String(validating: percentDecoded(encoded.utf8), as: UTF8.self) ?? String(encoded)
    let safe = harmless(name)
    return safe.isEmpty ? "index.html" : safe
  }

  private static func lastComponent(of url: Substring) -> Substring {
    var rest = url.prefix { $0 != "?" && $0 != "#" }
    if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
    guard let slash = rest.lastIndex(of: "/") else { return "" }
    return rest[rest.index(after: slash)...]
  }

  private static func percentDecoded(_ encoded: Substring.UTF8View) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = encoded
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2, let high = hex(digits.first), let low = hex(digits.last) {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }

  private static func hex(_ byte: UInt8?) -> UInt8? {
    switch byte {
    case let byte? where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte): byte - UInt8(ascii: "0")
    case let byte? where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20):
      (byte | 0x20) - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  private static func harmless(_ name: String) -> String {
    var safe = String(String.UnicodeScalarView(name.unicodeScalars.map { isHarmful($0) ? "_" : $0 }))
    // Hidden files, and the folder itself and the one above it.
    if safe.hasPrefix(".") { safe = "_" + safe.dropFirst() }
    while safe.utf8.count > longest { safe.removeLast() }
    // That is what a file in the making is called, and one must not take the other's place.
    return safe.hasSuffix(".part") ? safe + "_" : safe
  }

  private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == "/" { return true }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
