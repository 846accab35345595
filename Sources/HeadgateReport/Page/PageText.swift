/// Text from outside as the page shows it: with the escapes that the command uses on a terminal.
///
/// A direction mark could make one URL look like another, and a browser draws control characters as nothing.
enum PageText {
  /// How many scalars of a text the page has; the log has all of them.
  static let most = 2_000

  /// The text with a visible escape, such as `\u{202E}`, for each character that is invisible or turns the direction.
  /// Plain ASCII takes one pass over the bytes and no allocation.
  static func of(_ text: String) -> String {
    if text.utf8.count <= most, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
    var shown = ""
    for scalar in text.unicodeScalars.prefix(most) {
      if isHidden(scalar) {
        shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }

  /// The rule of `ShownText` in HeadgateDispatch, which this module does not link; a test compares them.
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
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
