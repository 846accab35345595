import HTTPTypes

/// A server wants to know who asks (status 401), or a proxy does (407).
public struct AuthenticationChallenge: Sendable {
  /// The response that asks. Its body becomes the request's if the answer is ``AuthenticationAnswer/default``.
  public let response: ResponseHead

  /// The schemes that would do, in lower case and in the server's order: `basic`, `bearer`, `digest`. Never empty.
  public let schemes: [String]

  /// What the credentials are for, in the server's words; nil where it says nothing.
  public let realm: String?

  /// How many answers of this request were not accepted before.
  public let previousFailures: Int

  /// Whether a proxy asks, and not the server.
  public var isProxy: Bool { response.statusCode == 407 }

  /// Nil where the response asks for nothing.
  init?(_ response: ResponseHead, previousFailures: Int) {
    let name: HTTPField.Name
    switch response.statusCode {
    case 401: name = .wwwAuthenticate
    case 407: name = .proxyAuthenticate
    default: return nil
    }
    let offers = AuthenticationOffers(response[name] ?? "")
    guard !offers.schemes.isEmpty else { return nil }
    self.response = response
    self.schemes = offers.schemes
    self.realm = offers.realm
    self.previousFailures = previousFailures
  }
}

/// What a field `WWW-Authenticate` offers: RFC 9110 section 11.6.1. Its lists of schemes and of each scheme's parameters
/// are both divided by commas, and a comma may stand in a quoted value.
struct AuthenticationOffers {
  private(set) var schemes: [String] = []
  private(set) var realm: String?

  init(_ field: String) {
    for part in Self.parts(of: field) {
      let head = part.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
      let rest = part.dropFirst(head.count).drop { $0 == " " || $0 == "\t" }
      if rest.first == "=" {
        addParameter(head, rest.dropFirst())
      } else if !head.isEmpty {
        // A new scheme, and perhaps its first parameter.
        schemes.append(head.lowercased())
        let name = rest.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
        let value = rest.dropFirst(name.count).drop { $0 == " " || $0 == "\t" }
        if value.first == "=" { addParameter(name, value.dropFirst()) }
      }
    }
  }

  private mutating func addParameter(_ name: Substring, _ value: Substring) {
    guard realm == nil, name.lowercased() == "realm", !schemes.isEmpty else { return }
    let value = value.drop { $0 == " " || $0 == "\t" }
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

  /// Divides at commas outside of quotes.
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
      var part = part.drop { $0 == " " || $0 == "\t" }
      while part.last == " " || part.last == "\t" { part.removeLast() }
      return part
    }
  }
}
