/// The challenges of `WWW-Authenticate` fields: RFC 9110, section 11.6.1. Commas separate both the schemes and the
/// parameters of a scheme, and can also occur inside quoted values. The credentials of an `Authorization` field have
/// the form of one challenge.
struct AuthenticationOffers {
  struct Offer {
    /// In lower case.
    let scheme: String
    /// The values without their quotes, by the name in lower case. Of several with one name the first counts.
    var parameters: [String: String] = [:]
  }

  /// In the server's order.
  let all: [Offer]

  /// Each field is read by itself: a quote that one leaves open does not swallow the next.
  init(_ fields: [String]) { all = fields.flatMap(Self.offers) }

  var schemes: [String] { all.map(\.scheme) }
  var realm: String? { all.lazy.compactMap { $0.parameters["realm"] }.first }

  // Bytes, not characters: an accent after a quote makes another character of it.
  private typealias Text = Substring.UTF8View

  private static func offers(in field: String) -> [Offer] {
    var offers: [Offer] = []
    var rest = Substring(field).utf8
    // The first word of a part is a scheme, unless it is the name of a parameter. Further words are a token, or the
    // name of the scheme's first parameter.
    var isFirst = true
    while let next = rest.first {
      if next == comma || isBlank(next) {
        isFirst = isFirst || next == comma
        rest.removeFirst()
        continue
      }
      let word = rest.prefix { !isBlank($0) && $0 != equals && $0 != comma }
      let name = String(Substring(word)).lowercased()
      rest = rest.dropFirst(word.count).drop(while: isBlank)
      if rest.first == equals {
        let value = takeValue(&rest)
        if let last = offers.indices.last, offers[last].parameters[name] == nil {
          offers[last].parameters[name] = value
        }
      } else if isFirst {
        offers.append(Offer(scheme: name))
      }
      isFirst = false
    }
    return offers
  }

  /// Removes `=` and a value, up to the next comma outside of quotes. Returns the value without its quotes.
  private static func takeValue(_ rest: inout Text) -> String {
    rest = rest.dropFirst().drop(while: isBlank)
    defer { rest = rest.drop { $0 != comma } }
    var value: [UInt8] = []
    guard rest.first == quote else {
      value = Array(rest.prefix { $0 != comma })
      while value.last.map(isBlank) ?? false { value.removeLast() }
      return String(decoding: value, as: UTF8.self)
    }
    var isEscaped = false
    rest.removeFirst()
    while let next = rest.popFirst() {
      if !isEscaped, next == quote { break }
      isEscaped = !isEscaped && next == UInt8(ascii: "\\")
      if !isEscaped { value.append(next) }
    }
    return String(decoding: value, as: UTF8.self)
  }

  private static let comma = UInt8(ascii: ",")
  private static let equals = UInt8(ascii: "=")
  private static let quote = UInt8(ascii: "\"")

  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
