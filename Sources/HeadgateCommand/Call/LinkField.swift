/// The links of `Link` fields (RFC 8288): `</items?page=2>; rel="next", </items>; rel="first"`.
enum LinkField {
  /// The target of the first link to the next page, as written. Nil if there is none.
  ///
  /// A link with an `anchor` is about another page than the one that has it, and is ignored.
  ///
  /// - Parameter fields: The values of the fields, in order.
  static func next(in fields: [String]) -> String? {
    for field in fields {
      if let target = next(in: field) { return target }
    }
    return nil
  }

  private static func next(in field: String) -> String? {
    var rest = field.utf8[...]
    while let first = rest.first {
      guard first == UInt8(ascii: "<") else {
        // Between links, or not a link.
        rest = isBetween(first) ? rest.dropFirst() : rest.drop { $0 != comma }
        continue
      }
      let target = rest.dropFirst().prefix { $0 != UInt8(ascii: ">") }
      guard target.endIndex < rest.endIndex else { return nil }
      rest = rest[target.endIndex...].dropFirst()
      let parameters = FieldParameters.take(&rest, before: comma)
      if isNext(parameters) { return String(Substring(target)) }
    }
    return nil
  }

  private static let comma = UInt8(ascii: ",")

  private static func isBetween(_ byte: UInt8) -> Bool { byte == comma || FieldParameters.isBlank(byte) }

  /// Of several relations with this name the first counts. Its value is a list of words.
  private static func isNext(_ parameters: [(name: String, value: String)]) -> Bool {
    func value(_ name: String) -> String? { parameters.first { $0.name.lowercased() == name }?.value }
    guard value("anchor") == nil, let relations = value("rel") else { return false }
    return relations.split(separator: " ").contains { $0.lowercased() == "next" }
  }
}
