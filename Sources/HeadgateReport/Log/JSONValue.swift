/// A value of JSON, by RFC 8259. Objects keep the order of their members, and the first of several with one name counts.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])

  package struct Member: Equatable, Sendable {
    package let name: String
    package let value: JSONValue
  }

  /// Nil for what is not one whole value of JSON.
  package init?(_ text: ArraySlice<UInt8>) {
    let value = text.withUnsafeBufferPointer { bytes -> JSONValue? in
      var parser = JSONParser(bytes)
      return parser.whole()
    }
    guard let value else { return nil }
    self = value
  }

  package subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  package var string: String? { if case .string(let text) = self { text } else { nil } }

  package var number: Double? { if case .number(let number) = self { number } else { nil } }

  /// A number without a fraction that fits.
  package var int: Int? { number.flatMap { Int(exactly: $0) } }

  package var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
}
