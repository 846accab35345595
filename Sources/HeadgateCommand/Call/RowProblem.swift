/// Why a row was not sent.
struct RowProblem: Error, Hashable, Sendable {
  /// A code for the result: `missing_field`, `invalid_row`, `invalid_url`.
  let code: String
  let message: String

  static let missingField = "missing_field"

  static func missing(_ field: FieldPath) -> RowProblem {
    RowProblem(code: missingField, message: "the row has no field \(field)")
  }

  static func invalid(_ message: String) -> RowProblem { RowProblem(code: "invalid_row", message: message) }

  static func url(_ message: String) -> RowProblem { RowProblem(code: "invalid_url", message: message) }
}
