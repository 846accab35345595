/// Parses the offers in a `WWW-Authenticate` field: RFC 9110 section 11.6.1. Commas separate both the schemes and the
/// parameters of a scheme, and can also occur inside quoted values.
struct AuthenticationOffers {
  private(set) var schemes: [String] = []
  private(set) var realm: String?

  init(_ field: String) {
    var rest = field[...]
    // The first word of a part is a scheme, unless it is the name of a parameter. Further words are a token, or the
    // name of the scheme's first parameter.
    var isFirst = true
    while let next = rest.first {
      if next == "," || Self.isBlank(next) {
        isFirst = isFirst || next == ","
        rest.removeFirst()
        continue
      }
      let word = rest.prefix { !Self.isBlank($0) && $0 != "=" && $0 != "," }
      rest = rest.dropFirst(word.count).drop(while: Self.isBlank)
      if rest.first == "=" {
        let value = Self.takeValue(&rest)
        if realm == nil, word.lowercased() == "realm", !schemes.isEmpty { realm = value }
      } else if isFirst {
        schemes.append(word.lowercased())
      }
      isFirst = false
    }
  }

  /// Removes `=` and a value, up to the next comma outside of quotes. Returns the value without its quotes.
  private static func takeValue(_ rest: inout Substring) -> String {
    rest = rest.dropFirst().drop(while: isBlank)
    defer { rest = rest.drop { $0 != "," } }
    guard rest.first == "\"" else {
      var value = rest.prefix { $0 != "," }
      while value.last.map(isBlank) ?? false { value.removeLast() }
      return String(value)
    }
    var value = ""
    var isEscaped = false
    rest.removeFirst()
    while let next = rest.popFirst() {
      if !isEscaped, next == "\"" { break }
      isEscaped = !isEscaped && next == "\\"
      if !isEscaped { value.append(next) }
    }
    return value
  }

  private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}
