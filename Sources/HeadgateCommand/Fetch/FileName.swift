// Names for files, made from URLs that strangers wrote. A name never leaves its folder, never hides, never breaks a
// terminal, and leaves room for what is added to it.

/// The name that a URL gives to its file.
enum FileName {
  /// A file system takes 255 bytes; the rest is for a number and `.part`.
  static let longest = 240

  /// The last component of the URL's path, percent-decoded and made harmless; `index.html` where there is none. The
  /// query follows it as it is written, as wget has it: pages that differ in nothing else are told apart by it.
  ///
  /// What is too long is cut before its extension; the query then at its end.
  static func of(_ url: String) -> String {
    let encoded = lastComponent(of: url.utf8[...])
    // What is no UTF-8 after decoding keeps its percent signs.
    let name = String(validating: percentDecoded(encoded), as: UTF8.self) ?? String(decoding: encoded, as: UTF8.self)
    let safe = harmless(name)
    let file = safe.isEmpty ? "index.html" : safe
    guard let query = query(of: url), file.utf8.count + 1 < longest else { return notPart(file) }
    return notPart(start(of: file + "?" + withoutHarm(query), atMost: longest))
  }

  private static func query(of url: String) -> String? {
    let rest = url.utf8.prefix { $0 != UInt8(ascii: "#") }
    guard let mark = rest.firstIndex(of: UInt8(ascii: "?")) else { return nil }
    let query = rest[rest.index(after: mark)...]
    return query.isEmpty ? nil : String(decoding: query, as: UTF8.self)
  }

  /// A name in a folder.
  static func path(_ name: String, in folder: String) -> String {
    folder == "." ? name : folder + (folder.hasSuffix("/") ? "" : "/") + name
  }

  // Bytes are what a file system compares, and what separates the parts of a URL. Characters are others: a full stop
  // after U+0600 and a slash before a combining mark are none of their own.

  private static func lastComponent(of url: Substring.UTF8View) -> Substring.UTF8View {
    var rest = url.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    if let scheme = rest.firstRange(of: Array("://".utf8)) { rest = rest[scheme.upperBound...] }
    guard let slash = rest.lastIndex(of: UInt8(ascii: "/")) else { return rest[rest.endIndex...] }
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
    var safe = withoutHarm(name)
    // Hidden files, and the folder itself and the one above it.
    if safe.utf8.first == UInt8(ascii: ".") { safe = "_" + String(safe.unicodeScalars.dropFirst()) }
    guard safe.utf8.count > longest else { return safe }
    let extent = pathExtension(of: safe)
    return start(of: safe, atMost: longest - extent.utf8.count) + extent
  }

  private static func withoutHarm(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { isHarmful($0) ? "_" : $0 }))
  }

  /// `.part` is what a file in the making is called, and one must not take the other's place. Some file systems take
  /// capital letters for small ones.
  private static func notPart(_ name: String) -> String {
    let end = name.utf8.suffix(5).map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    return end == Array(".part".utf8) ? name + "_" : name
  }

  /// What tells programs the kind of a file: from the last full stop on, if no more than 16 letters and digits follow;
  /// else nothing. By bytes, and only where all of them are ASCII.
  private static func pathExtension(of name: String) -> String {
    let tail = name.utf8.suffix(17)
    guard let dot = tail.lastIndex(of: UInt8(ascii: ".")), tail.index(after: dot) != tail.endIndex else { return "" }
    let isPlain = tail[tail.index(after: dot)...].allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }
    return isPlain ? String(decoding: tail[dot...], as: UTF8.self) : ""
  }

  /// As many whole characters as have room. From the front: where a character ends is found in one pass, where it began
  /// may take a pass of its own.
  private static func start(of name: String, atMost most: Int) -> String {
    var start = ""
    for character in name {
      guard start.utf8.count + character.utf8.count <= most else { break }
      start.append(character)
    }
    return start
  }

  private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
    // What turns the direction of writing makes one name look like another.
    if scalar == "/" || scalar.properties.isBidiControl { return true }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
