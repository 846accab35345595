// Names in other letters: RFC 5891 (IDNA 2008) section 4, with the mapping of RFC 5895 as far as it needs no tables.
//
// The full mapping of UTS 46 needs Unicode's normalization, which only a library of 40 MB brings along here. What is
// left out is refused with a message, never read as another name: two spellings must not become two end-points.

enum InternationalName {
  /// The name as the name service knows it: every label that needs it in its `xn--` form. Nil: it is none that can be
  /// read without doubt.
  static func ascii(_ name: String) -> String? {
    var labels: [String] = []
    var label = String.UnicodeScalarView()
    func finished() -> Bool {
      guard let text = ascii(label: label) else { return false }
      labels.append(text)
      label = String.UnicodeScalarView()
      return true
    }
    for scalar in name.unicodeScalars.map(narrow).flatMap({ String($0).lowercased().unicodeScalars }) {
      if scalar == "." {
        guard finished() else { return nil }
      } else {
        label.append(scalar)
      }
    }
    guard finished() else { return nil }
    return labels.joined(separator: ".")
  }

  private static func ascii(label: String.UnicodeScalarView) -> String? {
    if label.allSatisfy(\.isASCII) { return String(label) }
    guard label.allSatisfy(isPlain), label.first != "-", label.last != "-",
      label.first.map({ !isMark($0) }) ?? false
    else { return nil }
    let encoded = "xn--" + Punycode.encode(label)
    return encoded.utf8.count <= 63 ? encoded : nil
  }

  // Full stops of other scripts, and the wide forms of ASCII.
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

  // Letters, digits and the marks of scripts that write vowels with them; not what has another, composed spelling.
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar == "-" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) }
    switch scalar.value {
    case 0x300...0x36F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F: return false
    // The parts of Korean syllables, and the forms that stand for other letters.
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
