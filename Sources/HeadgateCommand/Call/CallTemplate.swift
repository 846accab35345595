import HTTPTypes
import HeadgateDispatch
import HeadgateReport

/// How a row becomes a request.
///
/// With `--url` the options define the request, and rows only provide data: no row can choose a method, header field or
/// body that the user did not write. Without it a row describes its own request with its members `url`, `method`,
/// `headers` and `body`. Options take precedence over members.
struct CallTemplate: Sendable {
  var url: URLTemplate?
  var method: HTTPRequest.Method?
  /// Header fields that contain fields of the row.
  var headers: [(name: HTTPField.Name, value: Template)] = []
  var body: BodyTemplate?
  var key: KeySource?
  /// The folder of rows' files. Nil without `--files-from`.
  var folder: FileFolder?

  static let idempotencyKey = HTTPField.Name("Idempotency-Key")

  /// A row's request.
  ///
  /// - Parameters:
  ///   - row: The row.
  ///   - key: The identity of the row.
  ///   - options: The options shared by all requests.
  func request(_ row: JSONValue, _ key: RowKey, _ options: FetchOptions) throws(RowProblem) -> DispatchRequest {
    let text = if let url { try url.text(row) } else { try Self.url(of: row) }
    var request: DispatchRequest
    do throws(DispatchError) {
      request = try options.request(text)
    } catch {
      throw .url(BadURL.message(text, error.detail))
    }
    for (name, template) in headers { try Self.add(name, try template.text(row), to: &request, from: "-H \(name)") }
    if url == nil { try addHeaders(of: row, to: &request) }
    try addBody(row, to: &request)
    let own = url == nil ? try Self.method(of: row) : nil
    request.method = method ?? own ?? defaultMethod(of: request)
    try addKey(row, key, to: &request)
    return request
  }

  private func defaultMethod(of request: DispatchRequest) -> HTTPRequest.Method {
    if case .file = body { .put } else { request.body == nil ? .get : .post }
  }

  private func addBody(_ row: JSONValue, to request: inout DispatchRequest) throws(RowProblem) {
    if let body {
      request.body = try body.body(row, folder)
      if let type = body.contentType { request.setDefault(.contentType, type) }
      if case .json = body { request.setDefault(.accept, "application/json") }
      return
    }
    guard url == nil, let body = row["body"] else { return }
    switch body {
    case .null: return
    case .string(let text): request.body = RequestBody(text)
    default:
      request.body = RequestBody(body.text)
      request.setDefault(.contentType, "application/json")
    }
  }

  private func addKey(_ row: JSONValue, _ key: RowKey, to request: inout DispatchRequest) throws(RowProblem) {
    guard let source = self.key, let name = Self.idempotencyKey else { return }
    guard case .template(let template) = source else { return request.headerFields[name] = key.idempotencyKey }
    let text = try template.text(row)
    guard !text.isEmpty else { throw .invalid("its idempotency key is empty") }
    request.headerFields[name] = nil
    try Self.add(name, text, to: &request, from: "--idempotency-key")
  }

  // MARK: Rows that describe their requests

  private static func url(of row: JSONValue) throws(RowProblem) -> String {
    guard case .string(let url) = row["url"] else {
      throw RowProblem(
        code: "missing_field", message: "the row has no string \"url\"; give --url to set the URL for all rows")
    }
    return url
  }

  private static func method(of row: JSONValue) throws(RowProblem) -> HTTPRequest.Method? {
    switch row["method"] {
    case nil, .null: return nil
    case .string(let word):
      guard let method = HTTPRequest.Method(word) else { throw .invalid("its \"method\" is not a valid method") }
      return method
    case let other?: throw .invalid("its \"method\" is \(other.kind); it must be a string")
    }
  }

  private func addHeaders(of row: JSONValue, to request: inout DispatchRequest) throws(RowProblem) {
    guard let headers = row["headers"] else { return }
    if case .null = headers { return }
    guard case .object(let members) = headers else {
      throw .invalid("its \"headers\" are \(headers.kind); they must be an object of names and strings")
    }
    // Options take precedence over members of the row.
    let given = Set(request.headerFields.map(\.name))
    for member in members {
      guard case .string(let value) = member.value, let name = HTTPField.Name(member.name) else {
        throw .invalid("its \"headers\" must be an object of names and strings")
      }
      if !given.contains(name) { try Self.add(name, value, to: &request, from: "its header \(name)") }
    }
  }

  /// Adds a field if its value is valid: a row can't end a field and begin another.
  private static func add(
    _ name: HTTPField.Name, _ value: String, to request: inout DispatchRequest, from place: String
  ) throws(RowProblem) {
    do throws(OptionError) {
      request.headerFields.append(try OptionValue.field(name, value))
    } catch {
      throw .invalid("\(place): \(error)")
    }
  }
}

extension DispatchRequest {
  /// Sets a field that is not given.
  mutating func setDefault(_ name: HTTPField.Name, _ value: String) {
    if headerFields[name] == nil { headerFields[name] = value }
  }
}
