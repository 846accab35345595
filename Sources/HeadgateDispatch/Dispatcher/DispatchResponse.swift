import HTTPTypes
import HeadgateThreads

/// A whole response in memory.
public struct DispatchResponse: Sendable {
  /// Status, header fields, HTTP version, whether the connection was reused, and the redirects that led here.
  public let head: ResponseHead

  /// The body, decompressed.
  public let body: [UInt8]

  /// The trailer fields. Empty if the server sent none, or if the transport does not support them.
  public var trailers: HTTPFields { lastFields ?? [:] }

  /// The URL of the response: after redirects, the last one.
  public let url: String

  /// The time spent in each phase.
  public let times: DispatchTimes

  // Optional, because an empty `HTTPFields` also allocates, and almost no response has trailers.
  let lastFields: HTTPFields?
  // Nil for nearly every response: its request had no weight.
  let weight: SentWeight?

  /// Corrects the weights that the request was charged, in units by budget name, if the response reports the real ones.
  /// Same rules as ``URLDispatchOperation/settle(_:)``: call it once, before the windows of the budgets have passed.
  /// Returns whether the weights were corrected.
  @discardableResult
  public func settle(_ weights: [String: Int]) -> Bool { weight?.settle(weights) ?? false }

  /// The status code, such as 200. A response with any status is a success: an error means that there is no response.
  public var statusCode: Int { head.statusCode }

  /// This response, if its status is 200 to 299.
  ///
  ///     let order = try await dispatcher.data(for: url).successful().decode(Order.self)
  ///
  /// - Throws: ``StatusError`` for any other status.
  public func successful() throws(StatusError) -> DispatchResponse {
    try StatusError.check(head, url)
    return self
  }

  /// The header fields. Parsed on each access: store the result.
  public var headerFields: HTTPFields { head.headerFields }

  /// The body as UTF-8 text. Invalid bytes become U+FFFD.
  public var text: String { String(decoding: body, as: UTF8.self) }
}

/// A response whose body arrives in pieces.
public struct StreamedResponse: Sendable {
  /// Status, header fields, HTTP version, whether the connection was reused, and the redirects that led here.
  public let head: ResponseHead

  /// The URL of the response: after redirects, the last one.
  public let url: String

  /// The body. Releasing it before its end cancels the request.
  public let body: StreamedBody

  /// The status code, such as 200.
  public var statusCode: Int { head.statusCode }

  /// This response, if its status is 200 to 299, like ``DispatchResponse/successful()``.
  public func successful() throws(StatusError) -> StreamedResponse {
    try StatusError.check(head, url)
    return self
  }

  /// Corrects the weights that the request was charged, like ``DispatchResponse/settle(_:)``. Also works after the body
  /// has been read.
  @discardableResult
  public func settle(_ weights: [String: Int]) -> Bool { body.operation.settle(weights) }

  /// The header fields. Parsed on each access: store the result.
  public var headerFields: HTTPFields { head.headerFields }
}

/// A response whose body was written to a file.
public struct FileResponse: Sendable {
  /// Status, header fields, HTTP version, whether the connection was reused, and the redirects that led here.
  public let head: ResponseHead

  /// The URL of the response: after redirects, the last one.
  public let url: String

  /// The path of the file. Nil if the response has no whole body to store, which is then discarded: if the status is not
  /// 200 to 299, or if the server has sent only a part of the body unasked.
  public let path: String?

  /// The length of the whole body in bytes; without a ``path``, what has arrived of it. Of a body that is not stored, no
  /// more than about 64 KB are read.
  public let bytes: Int

  /// How many of its bytes an earlier download had stored already; see ``FileDestination/resuming(_:)``.
  public let continuedFrom: Int

  /// The trailer fields. Empty if the server sent none, or if the transport does not support them.
  public let trailers: HTTPFields

  /// The time spent in each phase.
  public let times: DispatchTimes

  let weight: SentWeight?

  /// The first 64 KB of a body that is not stored, if its ``FileDestination`` keeps them.
  package let refusal: [UInt8]

  /// Corrects the weights that the request was charged, like ``DispatchResponse/settle(_:)``.
  @discardableResult
  public func settle(_ weights: [String: Int]) -> Bool { weight?.settle(weights) ?? false }

  /// The status code, such as 200.
  public var statusCode: Int { head.statusCode }

  /// This response, if its body is stored: ``path`` is not nil then.
  public func successful() throws(StatusError) -> FileResponse {
    guard path != nil else { throw StatusError(head: head, url: url) }
    return self
  }
}

/// A response whose status is not 200 to 299. Thrown by ``DispatchResponse/successful()`` and its siblings, and by nothing
/// else: to a dispatcher, a response with any status is a success.
public struct StatusError: HeadgateError {
  /// `unsuccessful_status`.
  public var codeName: String { "unsuccessful_status" }
  /// Status and header fields.
  public let head: ResponseHead
  /// The URL of the response: after redirects, the last one.
  public let url: String
  /// The status code, such as 404.
  public var statusCode: Int { head.statusCode }

  /// Such as `404 from https://example.com/orders/7`. Invisible characters are escaped.
  public var description: String { "\(statusCode) from \(ShownText.of(url))" }

  static func check(_ head: ResponseHead, _ url: String) throws(StatusError) {
    guard (200..<300).contains(head.statusCode) else { throw StatusError(head: head, url: url) }
  }
}
