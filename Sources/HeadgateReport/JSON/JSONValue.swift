/// A JSON value. Numbers keep their text, so that 1.0, 1e400 and integers of twenty digits are reproduced exactly.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// The text of a number, according to RFC 8259.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// The members in order, without duplicate names.
  case object([JSONMember])
}

/// A name and a value of a JSON object.
package struct JSONMember: Equatable, Sendable {
  package let name: String
  package let value: JSONValue

  package init(name: String, value: JSONValue) { (self.name, self.value) = (name, value) }
}

extension JSONValue {
  /// The value of an object's member. Nil if there is none, or if the value is not an object. O(n).
  package subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    // Compares bytes: Swift considers different encodings of one character equal, JSON does not.
    return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  package var string: String? { if case .string(let text) = self { text } else { nil } }

  /// Nil also if the number is too large.
  package var number: Double? {
    if case .number(let text) = self { Double(text).flatMap { $0.isFinite ? $0 : nil } } else { nil }
  }

  /// A number without a fraction, if it fits.
  package var int: Int? { number.flatMap { Int(exactly: $0) } }

  package var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }

  /// The kind of value, for messages.
  package var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
