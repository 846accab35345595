import HeadgateReport

/// JSON text that contains fields of the row. In place of a value, a field is inserted as its JSON value; within a
/// string, as escaped text. The result is always valid JSON, whatever the row contains.
struct JSONTemplate: Hashable, Sendable {
  private enum Part: Hashable, Sendable {
    case text(String)
    case value(Template.Field)
    case inString(Template.Field)
  }

  private let parts: [Part]

  /// - Throws: ``OptionError`` if the text is not JSON when its fields are replaced by values.
  init(_ text: String) throws(OptionError) {
    var (parts, sample, isInString): ([Part], String, Bool) = ([], "", false)
    for part in try Template(text).parts {
      switch part {
      case .text(let literal):
        parts.append(.text(literal))
        sample += literal
        Self.follow(literal, &isInString)
      case .field(let field):
        parts.append(isInString ? .inString(field) : .value(field))
        sample += isInString ? "x" : "null"
      }
    }
    do throws(JSONError) {
      _ = try JSONReader.read(Array(sample.utf8))
    } catch {
      throw OptionError(
        "it is not JSON: \(error.reason); fields are written {name} or {\"any name\"}, and {{ is a literal brace")
    }
    self.parts = parts
  }

  private static func follow(_ literal: String, _ isInString: inout Bool) {
    var isEscaped = false
    for byte in literal.utf8 {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = isInString
      } else if byte == UInt8(ascii: "\"") {
        isInString.toggle()
      }
    }
  }

  /// The JSON with the values of a row.
  func text(_ row: JSONValue) throws(RowProblem) -> String {
    var text = ""
    for part in parts {
      switch part {
      case .text(let literal): text += literal
      case .value(let field) where field.form == .url: text += JSONLine.quoted(try field.text(in: row))
      case .value(let field): text += try field.value(in: row).text
      case .inString(let field):
        // By bytes: a quotation mark and a combining mark after it are one character.
        text += String(decoding: JSONLine.quoted(try field.text(in: row)).utf8.dropFirst().dropLast(), as: UTF8.self)
      }
    }
    return text
  }
}
