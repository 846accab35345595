import HeadgateReport

/// The body of every request.
enum BodyTemplate: Hashable, Sendable {
  case json(JSONTemplate)
  case text(Template)

  /// The body with a row's values.
  func text(_ row: JSONValue) throws(RowProblem) -> String {
    switch self {
    case .json(let template): try template.text(row)
    case .text(let template): try template.text(row)
    }
  }

  /// The Content-Type of a body without a given type, as for curl's options of the same names.
  var contentType: String {
    switch self {
    case .json: "application/json"
    case .text: "application/x-www-form-urlencoded"
    }
  }
}

/// Where the idempotency key of a row comes from.
enum KeySource: Hashable, Sendable {
  /// From the session and the row: see ``RowKey/idempotencyKey``.
  case automatic
  /// From the row alone.
  case template(Template)
}
