import HTTPTypes

/// A whole response in memory.
public struct DispatchResponse: Sendable {
  /// Status and header fields, and how it came: the version of HTTP, whether the connection had been in use, the
  /// redirects on the way.
  public let head: ResponseHead

  /// The body, decompressed.
  public let body: [UInt8]

  /// The fields that came after the body; empty when there were none, and from a transport that does not bring them.
  public var trailers: HTTPFields { lastFields ?? [:] }

  /// The URL that answered: after redirects, the last one.
  public let url: String

  /// What took how long.
  public let times: DispatchTimes

  // An empty set of fields is an object too, which nearly every response would have for nothing.
  let lastFields: HTTPFields?

  /// The status code, such as 200. Any status is a response: only what prevents one is an error.
  public var statusCode: Int { head.statusCode }

  /// The header fields. Parsed at each call: keep the result.
  public var headerFields: HTTPFields { head.headerFields }

  /// The body as UTF-8 text; what is no UTF-8 becomes U+FFFD.
  public var text: String { String(decoding: body, as: UTF8.self) }
}

/// A response whose body comes in pieces.
public struct StreamedResponse: Sendable {
  /// Status and header fields, and how it came: the version of HTTP, whether the connection had been in use, the
  /// redirects on the way.
  public let head: ResponseHead

  /// The URL that answered: after redirects, the last one.
  public let url: String

  /// The body. Letting go of it before its end cancels the request.
  public let body: StreamedBody

  /// The status code, such as 200.
  public var statusCode: Int { head.statusCode }

  /// The header fields. Parsed at each call: keep the result.
  public var headerFields: HTTPFields { head.headerFields }
}

/// A response whose body went to a file.
public struct FileResponse: Sendable {
  /// Status and header fields, and how it came: the version of HTTP, whether the connection had been in use, the
  /// redirects on the way.
  public let head: ResponseHead

  /// The URL that answered: after redirects, the last one.
  public let url: String

  /// Where the body is; nil when the status was not one of 200 to 299, whose body was passed over.
  public let path: String?

  /// The length of the body in bytes.
  public let bytes: Int

  /// The fields that came after the body; empty when there were none, and from a transport that does not bring them.
  public let trailers: HTTPFields

  /// What took how long.
  public let times: DispatchTimes

  /// The status code, such as 200.
  public var statusCode: Int { head.statusCode }
}
