import HTTPTypes

/// What an observer sees of a request: where to and what for, and nothing that is secret by its place (header fields,
/// credentials, the body).
///
/// A secret in a URL's path or in a tag can't be told from what is none.
public struct ObservedRequest: Sendable, CustomStringConvertible, CustomReflectable {
  /// A number of its own in this process, the same for all that is told of one request.
  public let id: UInt64
  /// The lane that it was submitted for.
  public let lane: RequestLane
  // Without the body, which would last as long as somebody keeps this. Not shown, by a mirror neither.
  private let request: DispatchRequest

  /// The method.
  public var method: HTTPRequest.Method { request.method }
  /// Where it goes.
  public var endPoint: EndPoint { request.endPoint }
  /// Whether it goes over TLS.
  public var isSecure: Bool { request.isSecure }
  /// The priority that it was submitted with.
  public var priority: RequestPriority { request.priority }
  /// The word to cancel it by, if it has one.
  public var tag: String? { request.tag }

  init(_ request: DispatchRequest, _ lane: RequestLane, id: UInt64) {
    self.id = id
    self.lane = lane
    self.request = request.withoutBody
  }

  /// The URL, without user information and fragment, which never get this far. In its query `REDACTED` stands for each
  /// value, as OpenTelemetry has it, but for those of the parameters that are named. O(length).
  ///
  /// - Parameter names: The parameters whose values may be seen, as they are spelled in the URL.
  public func url(showing names: Set<String> = []) -> String {
    RedactedURL.text(of: request.url, showing: names)
  }

  /// Method and URL, without the query: `GET https://example.com/items`.
  public var description: String { "\(method.rawValue) \(RedactedURL.withoutQuery(request.url))" }

  /// Shows what the description shows, and none of the query.
  public var customMirror: Mirror { Mirror(self, children: ["id": id, "request": description]) }
}

/// URLs for people and logs.
enum RedactedURL {
  /// The URL with the values in its query hidden. A part of the query that has no `=` is taken for a value.
  static func text(of url: String, showing names: Set<String>) -> String {
    // By bytes: whole characters are dear to find, and a mark that others join on to would be none.
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
