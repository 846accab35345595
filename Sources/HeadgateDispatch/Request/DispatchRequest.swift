import HTTPTypes
import HeadgateThreads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request: where to, what with, and how long it may take.
///
///     var request = try DispatchRequest("https://example.com/items")
///     request.headerFields[.accept] = "application/json"
///     request.timeout = .seconds(10)
public struct DispatchRequest: Sendable {
  /// The URL as it goes to the transport: canonical host and port, no user information, no fragment.
  public let url: String

  /// Where it goes, and whose permit it needs.
  public let endPoint: EndPoint

  /// Whether it goes over TLS.
  public let isSecure: Bool

  /// `GET` unless set.
  public var method: HTTPRequest.Method

  /// The header fields. `Host`, `Content-Length` and `Connection` are the transport's.
  public var headerFields: HTTPFields

  /// The body; none unless set.
  public var body: RequestBody?

  /// How long it may run, from the moment its permit is granted; waiting never counts, neither for the first permit
  /// nor for that of a redirect. A long request's ends when the response's head has come. 60 s unless set; nil: no
  /// limit. Zero or less ends it at once.
  public var timeout: Duration? = .seconds(60)

  /// How long it may take from its submission, waiting included. Nil, which it is unless set: no limit. Zero or less
  /// ends it at once.
  public var deadline: Duration?

  /// How long the name look-up, the connection and the TLS handshake may take together. 30 s unless set; nil: no limit
  /// but `timeout`.
  public var connectTimeout: Duration? = .seconds(30)

  /// How long the body may pause. Rests while the consumer itself holds the transfer. Nil, which it is unless set: no
  /// limit.
  public var idleTimeout: Duration?

  /// The largest whole body that is taken, in bytes, after decompression: 64 MiB unless set. Streams and files have no
  /// such cap.
  public var maxBodyBytes = 64 << 20

  /// How many redirects are followed: 20 unless set; 0 hands the redirect itself to the caller.
  public var maxRedirects = 20

  /// A request to an absolute http or https URL.
  ///
  /// User information in the URL becomes a Basic `Authorization` field. Characters that a URL can't hold are
  /// percent-encoded.
  ///
  /// - Throws: ``DispatchError`` with the code `invalidURL`.
  public init(
    _ url: String, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: RequestBody? = nil
  ) throws(DispatchError) {
    let address = try RequestAddress(url)
    self.init(address, method, headerFields, body)
    if let credentials = address.credentials, self.headerFields[.authorization] == nil {
      self.headerFields[.authorization] = "Basic " + Data(credentials.utf8).base64EncodedString()
    }
  }

  /// A request to an absolute http or https URL.
  ///
  /// - Throws: ``DispatchError`` with the code `invalidURL`.
  public init(
    _ url: URL, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: RequestBody? = nil
  ) throws(DispatchError) {
    try self.init(url.absoluteString, method: method, headerFields: headerFields, body: body)
  }

  init(
    _ address: RequestAddress, _ method: HTTPRequest.Method, _ headerFields: HTTPFields, _ body: RequestBody?
  ) {
    self.url = address.url
    self.endPoint = address.endPoint
    self.isSecure = address.isSecure
    self.method = method
    self.headerFields = headerFields
    self.body = body
  }
}

/// What a request carries.
public struct RequestBody: Sendable {
  /// The bytes.
  public let bytes: [UInt8]

  /// Whether it may be sent a second time, to where a 307 or 308 points. True unless said otherwise.
  public let canBeSentAgain: Bool

  /// A body from memory.
  public init(_ bytes: [UInt8], canBeSentAgain: Bool = true) {
    self.bytes = bytes
    self.canBeSentAgain = canBeSentAgain
  }

  /// A body of UTF-8 text.
  public init(_ text: String) { self.init(Array(text.utf8)) }
}
