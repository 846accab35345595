import HTTPTypes
import HeadgateDispatch

// OpenTelemetry's names and rules for HTTP clients: https://opentelemetry.io/docs/specs/semconv/http/

enum HTTPAttributes {
  // Other methods are reported as `_OTHER`, because arbitrary names would make the attribute unbounded.
  private static let knownMethods: Set<String> = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
  ]

  /// The value of `http.request.method`: a known one, or `_OTHER`.
  static func method(_ method: HTTPRequest.Method) -> String {
    knownMethods.contains(method.rawValue) ? method.rawValue : "_OTHER"
  }

  /// The value of `error.type`: the error's code, or a status that is an error for a client; nil if there is neither.
  static func errorType(_ error: DispatchError?, status code: Int?) -> String? {
    if let error { return error.code.description }
    guard let code, code >= 400 else { return nil }
    return status(code).map { "\($0)" } ?? "_OTHER"
  }

  /// The value of `http.response.status_code` for metrics; nil for an invalid status.
  static func status(_ code: Int?) -> Int? { code.flatMap { (100...599).contains($0) ? $0 : nil } }
}
