import HeadgateReport

extension JSONValue {
  /// The value on one line, without white space between tokens. Control characters in strings are escaped.
  var text: String {
    var text = ""
    write(to: &text, sorted: false)
    return text
  }

  /// A text that is equal for two values only if they mean the same: members are sorted, and strings have one form of
  /// escapes. Numbers are compared as they are written, so 1 and 1.0 differ.
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
