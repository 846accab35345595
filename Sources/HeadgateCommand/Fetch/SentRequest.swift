import HTTPTypes
import HeadgateDispatch

/// The body that every URL gets.
struct SentBody: Sendable {
  static let formType = "application/x-www-form-urlencoded"
  static let jsonType = "application/json"

  let bytes: [UInt8]
  /// Its Content-Type, unless a field says otherwise.
  let type: String
  /// Names it in journals: 128 bits of its SHA-256.
  let digest: String

  init(_ bytes: [UInt8], type: String) {
    (self.bytes, self.type) = (bytes, type)
    digest = SHA256.digits(of: bytes, 32)
  }
}

/// What is sent to every URL: a method, and perhaps a body.
struct SentRequest: Sendable {
  var method = HTTPRequest.Method.get
  var body: SentBody?
  /// Whether what may not be sent twice is sent twice all the same.
  var repeatsUnsafe = false

  /// Whether the rest of a body can be asked for, and only for a newer one: ranges and conditions are for what GET alone
  /// brings.
  var isPlainGet: Bool { method == .get && body == nil }

  /// Gives a request its method and its body.
  func apply(to request: inout DispatchRequest) {
    request.method = method
    guard let body else { return }
    request.body = RequestBody(body.bytes)
    request.setDefault(.contentType, body.type)
    if body.type == SentBody.jsonType { request.setDefault(.accept, body.type) }
  }

  /// Whether a request may be sent again though the server may have done what it asks for.
  func mayRepeat(_ request: DispatchRequest) -> Bool { repeatsUnsafe || request.isIdempotent }

  /// What is asked of a URL, as journals have it: `POST http://a/ 0f1e…`.
  func key(_ url: String) -> String { "\(method.rawValue) \(url)" + (body.map { " \($0.digest)" } ?? "") }

  /// The URL of a key that asks for the same as this; nil for another method or another body.
  func url(ofKey key: String) -> String? {
    let parts = key.split(separator: " ", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), parts[0] == method.rawValue,
      body?.digest == (parts.count > 2 ? String(parts[2]) : nil)
    else { return nil }
    return String(parts[1])
  }
}
