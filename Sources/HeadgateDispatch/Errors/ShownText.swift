/// Text from outside (a server, a list, a certificate) as it may be shown to people: on a terminal, in a log.
///
/// Control characters could end a line and begin another, or command the terminal; marks of direction and characters of
/// no width could make a text look like another one.
package enum ShownText {
  /// What is kept of a text, in characters of Unicode, unless said otherwise.
  package static let most = 2_000

  /// The text with a visible escape, such as `\u{1B}`, for every control character, line separator, mark of direction
  /// and character that is not seen. Nothing else is changed, so that what was escaped once stays as it is.
  ///
  /// - Parameters:
  ///   - text: The text. O(1) beyond one look at each byte where it is plain ASCII.
  ///   - most: How many characters are kept; an ellipsis stands for the rest.
  package static func of(_ text: String, atMost most: Int = ShownText.most) -> String {
    if text.utf8.count <= most, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
    var shown = String.UnicodeScalarView()
    for (place, scalar) in text.unicodeScalars.enumerated() {
      guard place < most else { return String(shown.prefix(most)) + "\u{2026}" }
      if isHidden(scalar) {
        shown.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
      } else {
        shown.append(scalar)
      }
    }
    return shown.count <= most ? String(shown) : String(shown.prefix(most)) + "\u{2026}"
  }

  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20...0x7E: return false
    // Letters and signs that are blank: the fillers of Korean script, the empty pattern of Braille.
    case 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0: return true
    // They choose how the letter or sign before them is drawn.
    case 0xFE00...0xFE0F: return false
    default: break
    }
    if scalar.properties.isDefaultIgnorableCodePoint { return true }
    switch scalar.properties.generalCategory {
    // Marks of direction and what joins, parts or tags letters are of the category "format".
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }

  /// A URL as somebody wrote it, with `***` for its password: `https://user:***@host/`. A user without a password is
  /// hidden too, since that is how tokens are written.
  ///
  /// The text need not be a URL that can be used. What stands before the last `@` of the part that names the host is
  /// hidden; so is all before the last `@` of the text where that part has no port behind its colon, as in a password
  /// that contains a slash. A password that begins with digits and a slash looks like a port, and is not found.
  package static func withoutPassword(_ url: String) -> String {
    // By bytes: an `@` before a combining mark is another character, and ends the password all the same.
    let bytes = Array(url.utf8)
    guard bytes.contains(UInt8(ascii: "@")) else { return url }
    let start = startOfAuthority(in: bytes)
    let end = bytes[start...].firstIndex(where: URLText.endsAuthority) ?? bytes.endIndex
    let isBroken = isBroken(bytes[start..<end])
    guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) ?? (isBroken ? lastAt(in: bytes) : nil) else {
      return url
    }
    let colon = bytes[start..<at].firstIndex(of: UInt8(ascii: ":"))
    let user = colon.map { bytes[start..<$0] + ":***".utf8 } ?? ArraySlice("***".utf8)
    return String(decoding: bytes[..<start] + user + bytes[at...], as: UTF8.self)
  }

  private static func lastAt(in bytes: [UInt8]) -> Int? { bytes.lastIndex(of: UInt8(ascii: "@")) }

  // Behind a scheme and any number of slashes: some write one too few or one too many.
  private static func startOfAuthority(in bytes: [UInt8]) -> Int {
    var start = 0
    if let colon = bytes.firstIndex(where: { $0 == UInt8(ascii: ":") || URLText.endsAuthority($0) }),
      bytes[colon] == UInt8(ascii: ":"), bytes.indices.contains(colon + 1), bytes[colon + 1] == UInt8(ascii: "/")
    {
      start = colon + 1
    }
    return bytes[start...].firstIndex { $0 != UInt8(ascii: "/") } ?? bytes.endIndex
  }

  // Whether what follows the host's colon is no port: then it is what a password begins with.
  private static func isBroken(_ authority: ArraySlice<UInt8>) -> Bool {
    guard let colon = authority.lastIndex(of: UInt8(ascii: ":")), authority.last != UInt8(ascii: "]") else {
      return false
    }
    return !authority[(colon + 1)...].allSatisfy { (0x30...0x39).contains($0) }
  }
}
