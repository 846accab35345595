// Creates a URL from text as people write it: RFC 3986, with invalid characters percent-encoded.
//
// Rejected: Foundation's own repair, which encodes the percent signs of existing escapes ("a%20b c" becomes
// "a%2520b%20c"), and converts international names to their xn-- form only if FoundationInternationalization happens
// to be linked.

package enum URLText {
  static func encoded(_ text: String) -> String {
    guard text.utf8.contains(where: { !isPlain($0) }) else { return text }
    let bytes = Array(text.utf8)
    let path = endOfAuthority(in: bytes)
    return percentEncoded(bytes) { place, byte in
      switch byte {
      case UInt8(ascii: "%"): bytes.count > place + 2 && isHex(bytes[place + 1]) && isHex(bytes[place + 2])
      // Brackets are valid only around an IPv6 address.
      case UInt8(ascii: "["), UInt8(ascii: "]"): place < path
      default: isPlain(byte)
      }
    }
  }

  /// Bytes as text, with those that are not kept percent-encoded.
  package static func percentEncoded(
    _ bytes: some Sequence<UInt8>, except isKept: (_ place: Int, _ byte: UInt8) -> Bool
  ) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for (place, byte) in bytes.enumerated() {
      encoded += isKept(place, byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Removes percent-encoding; nil if it is malformed, encodes a NUL byte, or the result is not UTF-8.
  package static func unescaped(_ text: Substring) -> String? {
    percentDecoded(text).flatMap { $0.utf8.contains(0) ? nil : $0 }
  }

  /// Removes percent-encoding; nil if it is malformed, or the result is not UTF-8.
  package static func percentDecoded(_ text: some StringProtocol) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, digits.allSatisfy(isHex),
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Percent-encodes everything except letters, digits and `-._~`.
  package static func escaped(_ text: String) -> String {
    if text.utf8.allSatisfy(isUnreserved) { return text }
    return percentEncoded(text.utf8) { isUnreserved($1) }
  }

  /// Whether a byte is a letter, a digit or one of `-._~`: RFC 3986, section 2.3.
  package static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  package static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  // 0 for a relative reference without an authority.
  private static func endOfAuthority(in bytes: [UInt8]) -> Int {
    guard let slash = bytes.firstIndex(where: endsAuthority), bytes[slash...].starts(with: "//".utf8) else { return 0 }
    return bytes[(slash + 2)...].firstIndex(where: endsAuthority) ?? bytes.count
  }

  // Characters that need no encoding: RFC 3986 sections 2.2 and 2.3, except the brackets.
  package static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&")...UInt8(ascii: ";"): true  // & ' ( ) * + , - . / 0-9 : ;
    case UInt8(ascii: "?")...UInt8(ascii: "Z"): true  // ? @ A-Z
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "="): true
    default: isUnreserved(byte)
    }
  }

  private static func isHex(_ byte: UInt8) -> Bool { Character(Unicode.Scalar(byte)).isHexDigit }
}
