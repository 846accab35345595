import HTTPTypes

/// A request as an observer sees it: its destination and purpose, but no header fields, credentials or body.
///
/// Secrets in a URL's path or in a tag are not recognized.
public struct ObservedRequest: Sendable, CustomStringConvertible, CustomReflectable {
  /// A number unique in this process, the same in all calls for one request.
  public let id: UInt64
  /// The lane that it was submitted to.
  public let lane: RequestLane
  // Without the body, which would otherwise live as long as this value. Hidden from mirrors too.
  let request: DispatchRequest

  /// The method.
  public var method: HTTPRequest.Method { request.method }
  /// The end-point.
  public var endPoint: EndPoint { request.endPoint }
  /// Whether it uses TLS.
  public var isSecure: Bool { request.isSecure }
  /// The priority that it was submitted with.
  public var priority: RequestPriority { request.priority }
  /// The tag for cancelling it, if any.
  public var tag: String? { request.tag }

  init(_ request: DispatchRequest, _ lane: RequestLane, id: UInt64) {
    var request = request
    if request.fields.hasBody { (request.body, request.onUploadProgress) = (nil, nil) }
    (self.id, self.lane, self.request) = (id, lane, request)
  }

  /// The URL, without user information and fragment, which are removed at the submission. Each value in the query is
  /// replaced by `REDACTED`, as OpenTelemetry specifies, except those of the given parameters. O(length).
  ///
  /// - Parameter names: The parameters whose values are shown, as written in the URL.
  public func url(showing names: Set<String> = []) -> String {
    RedactedURL.text(of: request.url, showing: names)
  }

  /// The method and the URL without its query: `GET https://example.com/items`.
  public var description: String { "\(method.rawValue) \(RedactedURL.withoutQuery(request.url))" }

  /// Shows the description, without the query.
  public var customMirror: Mirror { Mirror(self, children: ["id": id, "request": description]) }
}

/// URLs for display and logs.
enum RedactedURL {
  /// The URL with the values in its query hidden. A part of the query without `=` counts as a value.
  static func text(of url: String, showing names: Set<String>) -> String {
    // Compares bytes: grapheme breaking is slow, and would miss a `?` that is followed by a combining mark.
    guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return url }
    let parts = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false).map { part in
      guard let equals = part.firstIndex(of: "=") else { return part.isEmpty ? "" : "REDACTED" }
      let name = part[..<equals]
      return names.contains(String(name)) ? String(part) : "\(name)=REDACTED"
    }
    return url[...mark] + parts.joined(separator: "&")
  }

  /// The URL up to its query.
  static func withoutQuery(_ url: String) -> Substring { Substring(url.utf8.prefix { $0 != UInt8(ascii: "?") }) }
}
