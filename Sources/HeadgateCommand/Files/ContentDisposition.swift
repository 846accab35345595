/// The file name in a Content-Disposition field (RFC 6266).
enum ContentDisposition {
  /// The name without folders. Nil if there is none. `filename*` (RFC 8187) takes precedence over `filename`.
  static func name(_ field: String) -> String? {
    var (plain, extended): (String?, String?)
    for (name, value) in parameters(field) {
      switch name.lowercased() {
      case "filename": plain = plain ?? value
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

  /// The parameters in order. Other text is skipped.
  private static func parameters(_ field: String) -> [(name: String, value: String)] {
    var parameters: [(String, String)] = []
    var rest = field.utf8[...]
    let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    while !rest.isEmpty {
      let name = rest.drop(while: isSpace).prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
      rest = rest[name.endIndex...]
      guard rest.popFirst() == UInt8(ascii: "=") else { continue }
      rest = rest.drop(while: isSpace)
      let value = rest.first == UInt8(ascii: "\"") ? quoted(&rest) : token(&rest)
      parameters.append((trimmed(name), value))
      rest = rest.drop { $0 != UInt8(ascii: ";") }.dropFirst()
    }
    return parameters
  }

  private static func token(_ rest: inout Substring.UTF8View) -> String {
    let token = rest.prefix { $0 != UInt8(ascii: ";") }
    rest = rest[token.endIndex...]
    return trimmed(token)
  }

  private static func quoted(_ rest: inout Substring.UTF8View) -> String {
    var bytes: [UInt8] = []
    rest.removeFirst()
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      bytes.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func trimmed(_ text: Substring.UTF8View) -> String {
    let end = text.lastIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    return end.map { String(decoding: text[...$0], as: UTF8.self) } ?? ""
  }

  /// Decodes `UTF-8'en'na%C3%AFve`. Nil if it is malformed or has an unknown character set.
  private static func decoded(_ value: String) -> String? {
    let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let bytes = FileName.percentDecoded(parts[2].utf8)
    switch parts[0].lowercased() {
    case "utf-8": return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    default: return nil
    }
  }
}
