import HeadgateDispatch
import HeadgateReport

/// The body of every request.
enum BodyTemplate: Hashable, Sendable {
  case json(JSONTemplate)
  case text(Template)
  /// A file, sent as it is.
  case file(FileTemplate)
  case form([FormPartTemplate])

  /// The body with the values of a row. No file is opened.
  ///
  /// - Parameter folder: The folder of files. Nil without `--files-from`.
  func body(_ row: JSONValue, _ folder: FileFolder?) throws(RowProblem) -> RequestBody {
    switch self {
    case .json(let template): return RequestBody(try template.text(row))
    case .text(let template): return RequestBody(try template.text(row))
    case .file(let file):
      let path = try file.path(row)
      guard let folder else { throw .invalid(FormPartTemplate.noFolder) }
      return RequestBody(file: path, below: folder)
    case .form(let parts):
      return RequestBody(multipart: try parts.map { part throws(RowProblem) in try part.part(row, folder) })
    }
  }

  /// The paths of a row's files below the folder.
  func files(_ row: JSONValue) throws(RowProblem) -> [String] {
    switch self {
    case .json, .text: return []
    case .file(let file): return [try file.path(row)]
    case .form(let parts):
      var paths: [String] = []
      for part in parts { if let path = try part.path(row) { paths.append(path) } }
      return paths
    }
  }

  /// Whether rows have files.
  var hasFiles: Bool {
    switch self {
    case .json, .text: false
    case .file: true
    case .form(let parts): parts.contains { $0.isFile }
    }
  }

  /// The default Content-Type, as for curl's options of the same names. Nil for a body that has its own, or none.
  var contentType: String? {
    switch self {
    case .json: SentBody.jsonType
    case .text: SentBody.formType
    case .file, .form: nil
    }
  }
}

/// The source of a row's idempotency key.
enum KeySource: Hashable, Sendable {
  /// Derived from the session and the row; see ``RowKey/idempotencyKey``.
  case automatic
  /// Derived from the row alone.
  case template(Template)
}
