import HTTPTypes
import HeadgateDispatch

/// The body of all requests.
struct SentBody: Sendable {
  static let formType = "application/x-www-form-urlencoded"
  static let jsonType = "application/json"

  let bytes: [UInt8]
  /// The Content-Type, unless a field sets another one.
  let type: String
  /// Identifies the body in journals: 128 bits of its SHA-256.
  let digest: String

  init(_ bytes: [UInt8], type: String) {
    (self.bytes, self.type) = (bytes, type)
    digest = SHA256.digits(of: bytes, 32)
  }
}

/// The method and the body of all requests.
struct SentRequest: Sendable {
  var method = HTTPRequest.Method.get
  var body: SentBody?
  /// Whether requests that must not be sent twice are repeated anyway.
  var repeatsUnsafe = false

  /// Whether ranges and conditions apply to the responses: to those of GET without a body.
  var isPlainGet: Bool { method == .get && body == nil }

  /// Whether the method allows repeating a request, whatever its fields.
  var isIdempotent: Bool {
    var request = try? DispatchRequest("http://a/")
    request?.method = method
    return request?.isIdempotent ?? false
  }

  /// Sets the method and the body of a request.
  func apply(to request: inout DispatchRequest) {
    request.method = method
    guard let body else { return }
    request.body = RequestBody(body.bytes)
    request.setDefault(.contentType, body.type)
    if body.type == SentBody.jsonType { request.setDefault(.accept, body.type) }
  }

  /// Whether a request may be sent again although the server may have processed it.
  func mayRepeat(_ request: DispatchRequest) -> Bool { repeatsUnsafe || request.isIdempotent }

  /// The key of a URL in journals: `POST http://a/ 0f1e…`.
  func key(_ url: String) -> String { "\(method.rawValue) \(url)" + (body.map { " \($0.digest)" } ?? "") }

  /// The URL of a key. Nil for another method or another body.
  func url(ofKey key: String) -> String? {
    let parts = key.split(separator: " ", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), parts[0] == method.rawValue,
      body?.digest == (parts.count > 2 ? String(parts[2]) : nil)
    else { return nil }
    return String(parts[1])
  }
}
