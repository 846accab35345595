/// A JSON value. Numbers keep the text that they were written with, so that 1.0, 1e400 and integers of twenty digits
/// come out as they came in.
indirect enum JSONValue: Sendable {
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
struct JSONMember: Sendable {
  let name: String
  let value: JSONValue
}

extension JSONValue {
  /// The value of an object's member; nil where there is none, and for what is no object. O(n).
  subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    // By bytes: Swift takes different spellings of one character for equal, and JSON does not.
    return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// What it is, in a word for messages.
  var kind: String {
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

extension JSONValue {
  /// The value on one line, without white space between its parts. What could command a terminal is escaped in strings.
  var text: String {
    var text = ""
    write(to: &text, sorted: false)
    return text
  }

  /// A text that two values share only if they mean the same: members are sorted, and strings are escaped in one way.
  /// Numbers are compared as they are written: 1 and 1.0 are different.
  var canonicalText: String {
    var text = ""
    write(to: &text, sorted: true)
    return text
  }

  private func write(to text: inout String, sorted: Bool) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let source): text += source
    case .string(let value): text += JSONLine.quoted(value)
    case .array(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        value.write(to: &text, sorted: sorted)
      }
      text += "]"
    case .object(var members):
      if sorted { members.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) } }
      text += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { text += "," }
        text += JSONLine.quoted(member.name) + ":"
        member.value.write(to: &text, sorted: sorted)
      }
      text += "}"
    }
  }
}
