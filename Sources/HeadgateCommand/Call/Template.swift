import HeadgateDispatch
import HeadgateReport

/// A text that contains fields of the row: `{name}`, `{address.city}`, `{items.0}`, `{"First name"}`, and `{name:url}`
/// or `{name:json}` for another form of the value.
///
/// Braces around anything else are literal, so that JSON can be written without escapes. `{{` is a literal brace in
/// front of text that would otherwise be a field.
struct Template: Hashable, Sendable {
  /// How a field is inserted.
  enum Form: String, Sendable {
    /// In the form that suits the place.
    case plain
    /// Percent-encoded.
    case url
    /// As JSON; a string is parsed as JSON text.
    case json
  }

  struct Field: Hashable, Sendable {
    let path: FieldPath
    let form: Form
  }

  enum Part: Hashable, Sendable {
    case text(String)
    case field(Field)
  }

  let parts: [Part]

  /// Whether it contains fields.
  var isVariable: Bool { parts.contains { if case .field = $0 { true } else { false } } }

  init(_ text: String) throws(OptionError) {
    let bytes = Array(text.utf8)
    var (parts, literal, place): ([Part], [UInt8], Int) = ([], [], 0)
    while place < bytes.count {
      if let field = try Self.field(in: bytes, from: &place) {
        if !literal.isEmpty { parts.append(.text(String(decoding: literal, as: UTF8.self))) }
        parts.append(.field(field))
        literal = []
        continue
      }
      literal.append(bytes[place])
      // The second of two braces only marks the first as literal.
      place += bytes[place] == UInt8(ascii: "{") && bytes[(place + 1)...].first == UInt8(ascii: "{") ? 2 : 1
    }
    if !literal.isEmpty { parts.append(.text(String(decoding: literal, as: UTF8.self))) }
    self.parts = parts
  }

  private static func field(in bytes: [UInt8], from place: inout Int) throws(OptionError) -> Field? {
    guard bytes[place] == UInt8(ascii: "{") else { return nil }
    var end = place + 1
    let isQuoted = end < bytes.count && bytes[end] == UInt8(ascii: "\"")
    guard let path = FieldPath(reading: bytes, from: &end), end < bytes.count else { return nil }
    var form = Form.plain
    if bytes[end] == UInt8(ascii: ":") {
      let word = bytes[(end + 1)...].prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
      guard word.endIndex < bytes.count, bytes[word.endIndex] == UInt8(ascii: "}"), !word.isEmpty else { return nil }
      let name = String(decoding: word, as: UTF8.self)
      guard let known = Form(rawValue: name), known != .plain else {
        // {"a":true} is JSON.
        if isQuoted { return nil }
        throw OptionError("there is no form \(name): write {\(path):url} or {\(path):json}; {{ is a literal brace")
      }
      (form, end) = (known, word.endIndex)
    }
    guard bytes[end] == UInt8(ascii: "}") else { return nil }
    place = end + 1
    return Field(path: path, form: form)
  }

  /// The text with the values of a row, for a header field, a body or a key.
  func text(_ row: JSONValue) throws(RowProblem) -> String {
    var text = ""
    for part in parts {
      switch part {
      case .text(let literal): text += literal
      case .field(let field): text += try field.text(in: row)
      }
    }
    return text
  }
}

extension Template.Field {
  /// The field's value. Null is a value.
  func value(in row: JSONValue) throws(RowProblem) -> JSONValue {
    guard let value = path.value(in: row) else { throw .missing(path) }
    guard form == .json, case .string(let text) = value else { return value }
    do throws(JSONError) {
      return try JSONReader.read(Array(text.utf8))
    } catch {
      throw .invalid("the field \(path) is not JSON, which :json requires: \(error)")
    }
  }

  /// The value as text.
  func text(in row: JSONValue) throws(RowProblem) -> String {
    let value = try value(in: row)
    if form == .json { return value.text }
    let text: String
    switch value {
    case .string(let value): text = value
    case .number(let source): text = source
    case .bool(let value): text = value ? "true" : "false"
    case .null: throw .missing(path, because: "null")
    case .array, .object: throw .invalid("the field \(path) is \(value.kind), not text; write {\(path):json}")
    }
    return form == .url ? URLText.escaped(text) : text
  }
}

extension RowProblem {
  fileprivate static func missing(_ field: FieldPath, because kind: String) -> RowProblem {
    RowProblem(code: "missing_field", message: "the field \(field) is \(kind)")
  }
}
