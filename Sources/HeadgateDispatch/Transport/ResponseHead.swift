import HTTPTypes

/// A response's status and header fields.
///
/// A transport that has the head as bytes passes them on: fields are parsed only when they are accessed, which most
/// callers of bulk requests never do.
public struct ResponseHead: Sendable {
  private enum Storage: Sendable {
    case block([UInt8])
    case fields(HTTPFields)
  }

  /// The status code, such as 200.
  public let statusCode: Int

  /// Whether the response came from a private address (``AddressScope``); nil if the transport does not know.
  public let isFromPrivateAddress: Bool?

  /// Whether its connection had carried an earlier request; nil if the transport does not know.
  public let isConnectionReused: Bool?

  /// The redirects that led here, in order; empty in a head created by a transport.
  public internal(set) var redirects: [FollowedRedirect] = []

  private let storage: Storage
  private let knownVersion: Version?
  // Whether a field may report what is left of a quota, if the transport has looked.
  private var knownQuotas: Bool?

  /// The status with its code; an invalid code becomes 0.
  public var status: HTTPResponse.Status {
    HTTPResponse.Status(code: (0...999).contains(statusCode) ? statusCode : 0)
  }

  /// The version of HTTP; nil if the transport does not report it.
  public var version: Version? {
    switch storage {
    case .fields: knownVersion
    case .block(let bytes): Version(statusLine: bytes)
    }
  }

  /// The header fields in the order received. Parsed on each access: store the result. O(bytes).
  public var headerFields: HTTPFields {
    switch storage {
    case .fields(let fields): fields
    case .block(let bytes): HeaderBlock.fields(in: bytes)
    }
  }

  /// The declared length of the body in bytes; nil if none is declared, or if it is not a number.
  package var declaredLength: Int? { self[.contentLength].flatMap { Int($0) } }

  /// Whether a body follows, judging by status and method. Without a body, a declared length describes another
  /// response.
  package func bringsBody(to method: HTTPRequest.Method) -> Bool {
    method != .head && statusCode != 204 && statusCode != 304
  }

  /// The value of one field, without parsing the others; several of one name are joined by ", ". O(bytes).
  public subscript(name: HTTPField.Name) -> String? {
    switch storage {
    case .fields(let fields): fields[name]
    case .block(let bytes): HeaderBlock.value(of: name.canonicalName, in: bytes)
    }
  }

  /// Whether a field may report what is left of a quota, judging by the beginnings of the names. O(bytes), unless the
  /// transport has looked.
  var mayTellQuotas: Bool {
    if let knownQuotas { return knownQuotas }
    return switch storage {
    case .fields(let fields): QuotaFields.areIn(fields)
    case .block(let bytes): HeaderBlock.mayTellQuotas(bytes)
    }
  }

  /// The `Location` field of a redirect, as written. Bytes that are not UTF-8 are percent-encoded: they have a
  /// meaning for the server and would be lost as text.
  var location: String? {
    let values: [ArraySlice<UInt8>] =
      switch storage {
      case .fields(let fields): fields[fields: .location].map { $0.withUnsafeBytesOfValue { Array($0)[...] } }
      case .block(let block): HeaderBlock.values(of: HTTPField.Name.location.canonicalName, in: block)
      }
    guard values.count == 1, String(validating: values[0], as: UTF8.self) == nil else { return self[.location] }
    return URLText.percentEncoded(values[0]) { $1 < 0x80 }
  }
}

extension ResponseHead {
  /// Creates a head with parsed fields.
  ///
  /// - Parameters:
  ///   - statusCode: The status.
  ///   - headerFields: The fields.
  ///   - version: The version of HTTP; nil if unknown.
  ///   - isFromPrivateAddress: Whether the response came from a private address; nil if unknown.
  ///   - isConnectionReused: Whether its connection had carried an earlier request; nil if unknown.
  public init(
    statusCode: Int, headerFields: HTTPFields = [:], version: Version? = nil, isFromPrivateAddress: Bool? = nil,
    isConnectionReused: Bool? = nil
  ) {
    self.init(
      statusCode: statusCode, isFromPrivateAddress: isFromPrivateAddress, isConnectionReused: isConnectionReused,
      storage: .fields(headerFields), knownVersion: version)
  }

  /// Creates a head from its bytes: lines that end in CRLF or LF, with or without the status line.
  ///
  /// - Parameters:
  ///   - statusCode: The status.
  ///   - block: The lines. The version of HTTP is taken from the status line, if the first line is one.
  ///   - isFromPrivateAddress: Whether the response came from a private address; nil if unknown.
  ///   - isConnectionReused: Whether its connection had carried an earlier request; nil if unknown.
  public init(
    statusCode: Int, block: [UInt8], isFromPrivateAddress: Bool? = nil, isConnectionReused: Bool? = nil
  ) {
    self.init(
      statusCode: statusCode, isFromPrivateAddress: isFromPrivateAddress, isConnectionReused: isConnectionReused,
      storage: .block(block), knownVersion: nil)
  }

  /// The same, from a transport that has looked for quota fields.
  package init(
    statusCode: Int, block: [UInt8], isFromPrivateAddress: Bool?, isConnectionReused: Bool, mayTellQuotas: Bool
  ) {
    self.init(
      statusCode: statusCode, block: block, isFromPrivateAddress: isFromPrivateAddress,
      isConnectionReused: isConnectionReused)
    knownQuotas = mayTellQuotas
  }

  /// A version of HTTP. More may be added: a `switch` needs a `default`.
  public struct Version: Hashable, Sendable, CustomStringConvertible {
    /// The version as in a status line: `HTTP/1.1`, `HTTP/2`.
    public let description: String

    /// HTTP/1.0.
    public static let http10 = Version(description: "HTTP/1.0")
    /// HTTP/1.1.
    public static let http11 = Version(description: "HTTP/1.1")
    /// HTTP/2.
    public static let http2 = Version(description: "HTTP/2")
    /// HTTP/3.
    public static let http3 = Version(description: "HTTP/3")

    /// The version with these numbers; nil for an unknown one.
    public init?(major: Int, minor: Int) {
      switch (major, minor) {
      case (1, 0): self = .http10
      case (1, 1): self = .http11
      case (2, _): self = .http2
      case (3, _): self = .http3
      default: return nil
      }
    }

    private init(description: String) { self.description = description }

    init?(statusLine: [UInt8]) {
      let word = statusLine.prefix { $0 > UInt8(ascii: " ") }
      guard word.starts(with: "HTTP/".utf8) else { return nil }
      let digits = word.dropFirst(5).map { Int($0) - Int(UInt8(ascii: "0")) }
      switch digits.count {
      // HTTP/2 and later have no minor version.
      case 1 where digits[0] > 1: self.init(major: digits[0], minor: 0)
      case 3: self.init(major: digits[0], minor: digits[2])
      default: return nil
      }
    }
  }
}

/// A redirect that was followed.
public struct FollowedRedirect: Hashable, Sendable {
  /// The URL of the request that was redirected.
  public let url: String

  /// The redirect's status: 301, 302, 303, 307 or 308.
  public let statusCode: Int

  /// Whether the server may have processed the request before it redirected. 307 and 308 ask for the same request at
  /// another URL.
  package var isAnswer: Bool { Self.isAnswer(statusCode) }

  package static func isAnswer(_ statusCode: Int) -> Bool { (301...303).contains(statusCode) }
}
