import HTTPTypes
import HeadgateDispatch
import HeadgateReport

/// How a row becomes a request.
///
/// With a URL of the options the options are the request, and rows are only data for it: no row chooses a method, a
/// header field or a body that its user did not write. Without one the row describes its request itself, by its
/// members `url`, `method`, `headers` and `body`; what the options say takes the place of a member.
struct CallTemplate: Sendable {
  var url: URLTemplate?
  var method: HTTPRequest.Method?
  /// Header fields with fields of the row in them.
  var headers: [(name: HTTPField.Name, value: Template)] = []
  var body: BodyTemplate?
  var key: KeySource?

  static let idempotencyKey = HTTPField.Name("Idempotency-Key")

  /// A row's request.
  ///
  /// - Parameters:
  ///   - row: The row.
  ///   - key: Which row it is.
  ///   - options: What holds for all requests.
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
    request.method = method ?? own ?? (request.body == nil ? .get : .post)
    try addKey(row, key, to: &request)
    return request
  }

  private func addBody(_ row: JSONValue, to request: inout DispatchRequest) throws(RowProblem) {
    if let body {
      request.body = RequestBody(try body.text(row))
      request.setDefault(.contentType, body.contentType)
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
    try Self.add(name, text, to: &request, from: "--idempotency-key")
  }

  // MARK: What a row says of its request

  private static func url(of row: JSONValue) throws(RowProblem) -> String {
    guard case .string(let url) = row["url"] else {
      throw RowProblem(
        code: "missing_field", message: "the row has no string \"url\"; give --url for a URL of all rows")
    }
    return url
  }

  private static func method(of row: JSONValue) throws(RowProblem) -> HTTPRequest.Method? {
    switch row["method"] {
    case nil, .null: return nil
    case .string(let word):
      guard let method = HTTPRequest.Method(word) else { throw .invalid("its \"method\" is no method") }
      return method
    case let other?: throw .invalid("its \"method\" is \(other.kind), and should be a string")
    }
  }

  private func addHeaders(of row: JSONValue, to request: inout DispatchRequest) throws(RowProblem) {
    guard let headers = row["headers"] else { return }
    if case .null = headers { return }
    guard case .object(let members) = headers else {
      throw .invalid("its \"headers\" are \(headers.kind), and should be an object of names and strings")
    }
    // What the options say takes the place of what a row says.
    let given = Set(request.headerFields.map(\.name))
    for member in members {
      guard case .string(let value) = member.value, let name = HTTPField.Name(member.name) else {
        throw .invalid("its \"headers\" should be an object of names and strings")
      }
      if !given.contains(name) { try Self.add(name, value, to: &request, from: "its header \(name)") }
    }
  }

  /// Adds a field, if its value can be one: no row ends a field and begins another.
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
  fileprivate mutating func setDefault(_ name: HTTPField.Name, _ value: String) {
    if headerFields[name] == nil { headerFields[name] = value }
  }
}
