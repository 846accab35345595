#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The file name in a Content-Disposition field (RFC 6266).
enum ContentDisposition {
  /// The name without folders. Nil if there is none. `filename*` (RFC 8187) takes precedence over `filename`.
  static func name(_ field: String) -> String? {
    var (plain, extended): (String?, String?)
    var rest = field.utf8[...]
    for (name, value) in FieldParameters.take(&rest) {
      switch name.lowercased() {
      case "filename": plain = plain ?? encodedWords(value) ?? value
      case "filename*": extended = extended ?? decoded(value)
      default: break
      }
    }
    // Either of them may be unusable.
    return [extended, plain].lazy.compactMap { $0.flatMap(last) }.first
  }

  /// The text after the last slash or backslash, without white space around it.
  private static func last(_ name: String) -> String? {
    let bytes = Array(name.utf8)
    let start = bytes.lastIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }.map { $0 + 1 } ?? 0
    let isSpace: (UInt8) -> Bool = { $0 <= 0x20 || $0 == 0x7F }
    let text = bytes[start...].drop(while: isSpace)
    let end = text.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? text.startIndex
    let name = String(decoding: text[..<end], as: UTF8.self)
    return name.allSatisfy { $0 == "." } ? nil : name
  }

  /// Decodes `UTF-8'en'na%C3%AFve`. Nil if it is malformed or has an unknown character set.
  private static func decoded(_ value: String) -> String? {
    let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let bytes = FileName.percentDecoded(parts[2].utf8)
    return text(bytes, in: parts[0])
  }

  /// Nil if the bytes are malformed or the character set is unknown. Some servers leave out its hyphen or its name.
  private static func text(_ bytes: [UInt8], in characterSet: some StringProtocol) -> String? {
    switch characterSet.lowercased() {
    case "utf-8", "utf8", "us-ascii", "": String(validating: bytes, as: UTF8.self)
    case "iso-8859-1", "iso8859-1", "latin1": String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    default: nil
    }
  }

  /// Decodes `=?UTF-8?B?bmHDr3Zl?=` and `=?UTF-8?Q?na=C3=AFve?=` (RFC 2047), one or several in a row. RFC 6266 does not
  /// allow them, but mail programs write them, and browsers read them. Nil if the text is anything else.
  private static func encodedWords(_ text: String) -> String? {
    var words = ""
    for word in text.split(separator: " ") {
      let parts = word.split(separator: "?", omittingEmptySubsequences: false)
      guard parts.count == 5, parts[0] == "=", parts[4] == "=" else { return nil }
      let bytes: [UInt8]?
      switch parts[2].lowercased() {
      case "b": bytes = Data(base64Encoded: String(parts[3])).map { Array($0) }
      case "q":
        bytes = FileName.percentDecoded(
          parts[3].replacing("%", with: "=25").replacing("_", with: " ").replacing("=", with: "%").utf8[...])
      default: bytes = nil
      }
      guard let decoded = bytes.flatMap({ Self.text($0, in: parts[1]) }) else { return nil }
      words += decoded
    }
    return words.isEmpty ? nil : words
  }
}
