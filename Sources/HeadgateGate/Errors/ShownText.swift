/// Makes text from outside (a server, a list, a certificate) safe to show on a terminal or in a log.
///
/// Control characters could forge log lines or send commands to the terminal. Direction marks and zero-width
/// characters could make one text look like another.
package enum ShownText {
  /// The default maximum length, in Unicode scalars.
  package static let most = 2_000

  /// The text with a visible escape, such as `\u{1B}`, for each control character, line separator, direction mark and
  /// invisible character. Nothing else is changed, so escaping twice is harmless.
  ///
  /// - Parameters:
  ///   - text: The text. Plain ASCII takes one pass over the bytes and no allocation.
  ///   - most: The maximum number of scalars; the rest is replaced by an ellipsis.
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
    // Blank letters and symbols: the Hangul fillers and the empty Braille pattern.
    case 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0: return true
    // Variation selectors, which choose how the preceding character is drawn.
    case 0xFE00...0xFE0F: return false
    default: break
    }
    if scalar.properties.isDefaultIgnorableCodePoint { return true }
    switch scalar.properties.generalCategory {
    // The category "format" contains direction marks, joiners and tags.
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }

  /// A URL as the user wrote it, with its password replaced by `***`: `https://user:***@host/`. A user without a
  /// password is replaced too, since tokens are often written that way.
  ///
  /// The text need not be a valid URL. Everything before the last `@` of the authority is hidden. If the authority
  /// has something other than a port after its colon, as with a password that contains a slash, everything before the
  /// last `@` of the text is hidden. A password that begins with digits and a slash looks like a port and is not
  /// detected.
  package static func withoutPassword(_ url: String) -> String {
    // Compares bytes: an `@` followed by a combining mark is a different character, but still ends the password.
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

  // After the scheme and any number of slashes: a common typing error is one slash too few or too many.
  private static func startOfAuthority(in bytes: [UInt8]) -> Int {
    var start = 0
    // A scheme contains no `@`: text before an `@` may be a password.
    if let colon = bytes.firstIndex(where: { ":@".utf8.contains($0) || URLText.endsAuthority($0) }),
      bytes[colon] == UInt8(ascii: ":"), bytes.indices.contains(colon + 1), bytes[colon + 1] == UInt8(ascii: "/")
    {
      start = colon + 1
    }
    return bytes[start...].firstIndex { $0 != UInt8(ascii: "/") } ?? bytes.endIndex
  }

  // Whether the text after the last colon is not a port. Then it is the beginning of a password.
  private static func isBroken(_ authority: ArraySlice<UInt8>) -> Bool {
    guard let colon = authority.lastIndex(of: UInt8(ascii: ":")), authority.last != UInt8(ascii: "]") else {
      return false
    }
    return !authority[(colon + 1)...].allSatisfy { (0x30...0x39).contains($0) }
  }
}
