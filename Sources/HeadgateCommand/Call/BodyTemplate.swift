import HeadgateReport

/// The body of every request.
enum BodyTemplate: Hashable, Sendable {
  case json(JSONTemplate)
  case text(Template)

  /// The body with the values of a row.
  func text(_ row: JSONValue) throws(RowProblem) -> String {
    switch self {
    case .json(let template): try template.text(row)
    case .text(let template): try template.text(row)
    }
  }

  /// The default Content-Type, as for curl's options of the same names.
  var contentType: String {
    switch self {
    case .json: SentBody.jsonType
    case .text: SentBody.formType
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
