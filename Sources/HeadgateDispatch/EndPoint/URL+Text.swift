// A URL from a text as people write it: RFC 3986, with the characters that it leaves out percent-encoded.
//
// Rejected: Foundation's own repair, which encodes the percent signs of what is encoded already ("a%20b c" becomes
// "a%2520b%20c"), and turns international names into their xn-- form only where FoundationInternationalization is
// linked by somebody.

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension URL {
  /// The URL that a text stands for. Percent-encoding that is there already stays as it is.
  init?(text: String, relativeTo base: URL? = nil) {
    self.init(string: URLText.encoded(text), relativeTo: base)
  }

  /// Host and port with the user's information, as they are written.
  var authority: Substring.UTF8View {
    Substring(absoluteString).utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2).prefix { !URLText.endsAuthority($0) }
  }
}

package enum URLText {
  static func encoded(_ text: String) -> String {
    guard text.utf8.contains(where: { !isPlain($0) }) else { return text }
    let bytes = Array(text.utf8)
    let path = endOfAuthority(in: bytes)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(bytes.count + 32)
    for (place, byte) in bytes.enumerated() {
      let isKept =
        switch byte {
        case UInt8(ascii: "%"): bytes.count > place + 2 && isHex(bytes[place + 1]) && isHex(bytes[place + 2])
        // Brackets stand round an IPv6 address and nowhere else.
        case UInt8(ascii: "["), UInt8(ascii: "]"): place < path
        default: isPlain(byte)
        }
      if isKept {
        encoded.append(byte)
      } else {
        encoded += percentEncoded(byte)
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Bytes as text, those beyond ASCII percent-encoded.
  static func ascii(_ bytes: [UInt8]) -> String {
    var encoded: [UInt8] = []
    for byte in bytes { if byte < 0x80 { encoded.append(byte) } else { encoded += percentEncoded(byte) } }
    return String(decoding: encoded, as: UTF8.self)
  }

  private static func percentEncoded(_ byte: UInt8) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// A text without its percent-encoding; nil when that is broken, or hides a zero byte or what is no UTF-8.
  package static func unescaped(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, digits.allSatisfy(isHex),
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16), value != 0
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Everything percent-encoded but letters, digits and `-._~`.
  static func escaped(_ text: String) -> String {
    var escaped: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        escaped.append(byte)
      default: escaped += percentEncoded(byte)
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }

  static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  // 0 for a relative reference that has no authority.
  private static func endOfAuthority(in bytes: [UInt8]) -> Int {
    guard let slash = bytes.firstIndex(where: endsAuthority), bytes[slash...].starts(with: "//".utf8) else { return 0 }
    return bytes[(slash + 2)...].firstIndex(where: endsAuthority) ?? bytes.count
  }

  // What stands for itself wherever it may stand: RFC 3986 sections 2.2 and 2.3, less the brackets.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "&")...UInt8(ascii: ";"): true  // & ' ( ) * + , - . / 0-9 : ;
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "?"): true
    case UInt8(ascii: "@"), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }

  private static func isHex(_ byte: UInt8) -> Bool { Character(Unicode.Scalar(byte)).isHexDigit }
}
