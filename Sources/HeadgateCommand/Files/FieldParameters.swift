/// The parameters of a header field: `a=1; b="x;y"`.
enum FieldParameters {
  /// Takes the parameters in order, with their values without quotes. Other text is skipped.
  ///
  /// - Parameters:
  ///   - rest: The text from the first parameter on. Afterwards it begins with `end`, or is empty.
  ///   - end: What ends the parameters, outside of quotes. Nil: only the end of the text does.
  static func take(_ rest: inout Substring.UTF8View, before end: UInt8? = nil) -> [(name: String, value: String)] {
    var parameters: [(String, String)] = []
    while let next = rest.first, next != end {
      let name = rest.drop(while: isBlank).prefix { $0 != UInt8(ascii: "=") && $0 != semicolon && $0 != end }
      rest = rest[name.endIndex...]
      if rest.first == UInt8(ascii: "=") {
        rest = rest.dropFirst().drop(while: isBlank)
        let value = rest.first == UInt8(ascii: "\"") ? quoted(&rest) : token(&rest, before: end)
        parameters.append((trimmed(name), value))
        rest = rest.drop { $0 != semicolon && $0 != end }
      }
      if rest.first == semicolon { rest.removeFirst() }
    }
    return parameters
  }

  private static let semicolon = UInt8(ascii: ";")

  static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private static func token(_ rest: inout Substring.UTF8View, before end: UInt8?) -> String {
    let token = rest.prefix { $0 != semicolon && $0 != end }
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
    let end = text.lastIndex { !isBlank($0) }
    return end.map { String(decoding: text[...$0], as: UTF8.self) } ?? ""
  }
}
