/// Parses the offers in a `WWW-Authenticate` field: RFC 9110 section 11.6.1. Commas separate both the schemes and the
/// parameters of a scheme, and can also occur inside quoted values.
struct AuthenticationOffers {
  private(set) var schemes: [String] = []
  private(set) var realm: String?

  init(_ field: String) {
    for part in Self.parts(of: field) {
      let (head, rest) = Self.word(of: part)
      if rest.first == "=" {
        addParameter(head, rest.dropFirst())
      } else if !head.isEmpty {
        // A new scheme, and perhaps its first parameter.
        schemes.append(head.lowercased())
        let (name, value) = Self.word(of: rest)
        if value.first == "=" { addParameter(name, value.dropFirst()) }
      }
    }
  }

  private mutating func addParameter(_ name: Substring, _ value: Substring) {
    guard realm == nil, name.lowercased() == "realm", !schemes.isEmpty else { return }
    let value = value.drop(while: Self.isBlank)
    guard value.first == "\"" else {
      realm = String(value)
      return
    }
    var text = ""
    var isEscaped = false
    for character in value.dropFirst() {
      if !isEscaped, character == "\"" { break }
      isEscaped = !isEscaped && character == "\\"
      if !isEscaped { text.append(character) }
    }
    realm = text
  }

  /// Splits at commas outside of quotes.
  private static func parts(of field: String) -> [Substring] {
    var parts: [Substring] = []
    var start = field.startIndex
    var (isQuoted, isEscaped) = (false, false)
    for index in field.indices {
      let character = field[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        isQuoted.toggle()
      } else if character == ",", !isQuoted {
        parts.append(field[start..<index])
        start = field.index(after: index)
      }
    }
    parts.append(field[start...])
    return parts.map { part in
      var part = part.drop(while: isBlank)
      while part.last.map(isBlank) ?? false { part.removeLast() }
      return part
    }
  }

  /// The first word of a text, and the rest without leading blanks.
  private static func word(of text: Substring) -> (Substring, Substring) {
    let word = text.prefix { !isBlank($0) && $0 != "=" }
    return (word, text.dropFirst(word.count).drop(while: isBlank))
  }

  private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}
