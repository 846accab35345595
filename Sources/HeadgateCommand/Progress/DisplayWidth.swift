/// Measures the width of texts in terminal columns.
///
/// Terminals differ for emoji and for characters of ambiguous width. A width that is too large leaves a gap, but one
/// that is too small wraps a line, so doubtful characters count as wide.
enum DisplayWidth {
  static func of(_ text: String) -> Int {
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text.utf8.count }
    return text.unicodeScalars.reduce(0) { $0 + of($1) }
  }

  static func of(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.value {
    case 0x20...0x7E: return 1
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1F000...0x1FAFF, 0x2_0000...0x3_FFFD:
      return 2
    default: break
    }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .control, .format: return 0
    default: return scalar.properties.isEmoji ? 2 : 1
    }
  }

  /// The width of a text with colour escapes.
  static func ofPainted(_ text: String) -> Int {
    guard text.utf8.contains(0x1B) else { return of(text) }
    var width = 0
    var isInEscape = false
    for scalar in text.unicodeScalars {
      if isInEscape {
        isInEscape = scalar != "m"
      } else if scalar == "\u{1B}" {
        isInEscape = true
      } else {
        width += of(scalar)
      }
    }
    return width
  }

  /// The text cut to a number of columns, with `..` at the end. Combining marks stay with their character.
  static func cut(_ text: String, to columns: Int) -> String {
    guard of(text) > columns else { return text }
    let end = columns >= 6 ? ".." : ""
    var kept = ""
    var left = columns - end.utf8.count
    for character in text {
      let width = of(String(character))
      guard width <= left else { break }
      kept.append(character)
      left -= width
    }
    return kept + end
  }

  /// The text cut or padded with spaces to exactly this number of columns.
  static func pad(_ text: String, to columns: Int) -> String {
    let text = cut(text, to: columns)
    return text + String(repeating: " ", count: max(0, columns - of(text)))
  }
}
