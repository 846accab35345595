// International names: RFC 5891 (IDNA 2008) section 4, with those mappings of RFC 5895 that need no tables.
//
// The full mapping of UTS 46 needs Unicode normalization, which is available here only from a library of 40 MB. Names
// that need it are rejected with a message, never read as a different name: two spellings must not become two
// end-points.

enum InternationalName {
  /// The name in ASCII, as in DNS, with labels in `xn--` form where needed. Nil for an invalid or ambiguous name.
  static func ascii(_ name: String) -> String? {
    let scalars = name.unicodeScalars.map(narrow).flatMap { String($0).lowercased().unicodeScalars }
    let labels = scalars.split(separator: ".", omittingEmptySubsequences: false).map { label in
      ascii(label: String.UnicodeScalarView(label))
    }
    return labels.contains(nil) ? nil : labels.compactMap(\.self).joined(separator: ".")
  }

  private static func ascii(label: String.UnicodeScalarView) -> String? {
    if label.allSatisfy(\.isASCII) { return String(label) }
    guard label.allSatisfy(isPlain), label.first != "-", label.last != "-",
      label.first.map({ !isMark($0) }) ?? false
    else { return nil }
    let encoded = "xn--" + Punycode.encode(label)
    return encoded.utf8.count <= 63 ? encoded : nil
  }

  // Maps full stops of other scripts and full-width ASCII to ASCII.
  private static func narrow(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    switch scalar.value {
    case 0x3002, 0xFF0E, 0xFF61: "."
    case 0xFF01...0xFF5E: Unicode.Scalar(scalar.value - 0xFEE0) ?? scalar
    default: scalar
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: true
    default: false
    }
  }

  // Letters, digits, and the combining marks that some scripts need to write vowels. Rejects characters that have an
  // alternative, composed spelling.
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar == "-" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) }
    switch scalar.value {
    case 0x300...0x36F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F: return false
    // Hangul letters that compose syllables, and compatibility forms of other letters.
    case 0x1100...0x11FF, 0x3130...0x318F, 0xA960...0xA97F, 0xD7B0...0xD7FF, 0xF900...0xFAFF, 0xFB00...0xFDFF,
      0xFE70...0xFEFF, 0xFF00...0xFFEF, 0x2F800...0x2FA1F:
      return false
    default: break
    }
    switch scalar.properties.generalCategory {
    case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber: return true
    default: return false
    }
  }
}
