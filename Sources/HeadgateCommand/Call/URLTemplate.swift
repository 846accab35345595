import HeadgateDispatch
import HeadgateReport

/// A URL that contains fields of the row. Each value remains part of a host, a path segment or a query: it can't change
/// the host or the path that the template specifies.
struct URLTemplate: Hashable, Sendable {
  /// The part of the URL that contains a field.
  private enum Zone: Hashable, Sendable {
    /// The field is at the beginning and includes scheme and host.
    case beginning
    case host
    case path
    case query
  }

  private struct Piece: Hashable, Sendable {
    let part: Template.Part
    let zone: Zone
  }

  private let pieces: [Piece]

  init(_ text: String) throws(OptionError) {
    let template = try Template(text)
    var (pieces, before): ([Piece], String) = ([], "")
    for (index, part) in template.parts.enumerated() {
      if case .text(let literal) = part {
        guard !literal.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) else {
          throw OptionError(
            "a brace is not part of a field: write {name}, {\"any name\"}, or %7B and %7D for literal braces")
        }
        before += literal
        pieces.append(Piece(part: part, zone: .path))
      } else {
        pieces.append(Piece(part: part, zone: index == 0 ? .beginning : Self.zone(after: before)))
      }
    }
    self.pieces = pieces
  }

  private static func zone(after text: String) -> Zone {
    if text.contains("?") || text.contains("#") { return .query }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    // http: / empty / host / path
    return text.contains("://") && parts.count < 4 ? .host : .path
  }

  /// The URL with sample values for its fields, to check it before the first row. Nil if a field includes the host.
  var sample: String? {
    var text = ""
    for piece in pieces {
      switch (piece.part, piece.zone) {
      case (.text(let literal), _): text += literal
      case (.field, .beginning): return nil
      case (.field, _): text += "1"
      }
    }
    return text
  }

  /// The URL with the values of a row.
  func text(_ row: JSONValue) throws(RowProblem) -> String {
    var text = ""
    for piece in pieces {
      switch piece.part {
      case .text(let literal): text += literal
      case .field(let field): text += try Self.text(field, piece.zone, row)
      }
    }
    return text
  }

  private static func text(_ field: Template.Field, _ zone: Zone, _ row: JSONValue) throws(RowProblem) -> String {
    // Values are always percent-encoded here, with or without :url, and never twice.
    let text = try Template.Field(path: field.path, form: field.form == .url ? .plain : field.form).text(in: row)
    switch zone {
    case .beginning: return text
    case .query: return URLText.escaped(text)
    case .host:
      guard !text.isEmpty, text.utf8.allSatisfy({ URLText.isUnreserved($0) && $0 != UInt8(ascii: "~") }) else {
        throw .url("the field \(field.path) is part of the host and may contain only letters, digits, - and .")
      }
      return text
    case .path:
      // An empty identifier would address a whole collection instead of one item, and two dots another path.
      guard !text.isEmpty else { throw .url("the field \(field.path) is part of the path and must not be empty") }
      guard text != ".", text != ".." else {
        throw .url("the field \(field.path) is \"\(text)\", which would lead to another path")
      }
      return URLText.escaped(text)
    }
  }
}
