/// A JSON value. Numbers keep the text that they were written with, so that 1.0, 1e400 and integers of twenty digits
/// come out as they came in.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// The number's text, as RFC 8259 has numbers.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// Members in their order, no name twice.
  case object([JSONMember])
}

/// A name and a value of a JSON object.
package struct JSONMember: Equatable, Sendable {
  package let name: String
  package let value: JSONValue

  package init(name: String, value: JSONValue) { (self.name, self.value) = (name, value) }
}

extension JSONValue {
  /// The value of an object's member; nil where there is none, and for what is no object. O(n).
  package subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    // By bytes: Swift takes different spellings of one character for equal, and JSON does not.
    return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  package var string: String? { if case .string(let text) = self { text } else { nil } }

  /// Nil also for a number that is too large.
  package var number: Double? {
    if case .number(let text) = self { Double(text).flatMap { $0.isFinite ? $0 : nil } } else { nil }
  }

  /// A number without a fraction that fits.
  package var int: Int? { number.flatMap { Int(exactly: $0) } }

  package var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }

  /// What it is, in a word for messages.
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
