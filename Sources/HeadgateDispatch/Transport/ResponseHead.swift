import HTTPTypes

/// A response's status and header fields.
///
/// A transport that has the head as bytes hands it over as it came: its fields are parsed when they are asked for,
/// which most callers of bulk requests never do.
public struct ResponseHead: Sendable {
  private enum Storage: Sendable {
    case block([UInt8])
    case fields(HTTPFields)
  }

  /// The status code, such as 200.
  public let statusCode: Int

  /// Whether it came from a private address (``AddressScope``); nil where the transport does not know.
  public let isFromPrivateAddress: Bool?

  /// Whether it came over a connection that had carried another request before; nil where the transport does not know.
  public let isConnectionReused: Bool?

  /// The redirects that were followed on the way here, in their order; none in the head that a transport makes.
  public internal(set) var redirects: [FollowedRedirect] = []

  private let storage: Storage
  private let knownVersion: Version?

  /// A head with parsed fields.
  ///
  /// - Parameters:
  ///   - statusCode: The status.
  ///   - headerFields: The fields.
  ///   - version: The version of HTTP that it came by; nil: not known.
  ///   - isFromPrivateAddress: Whether it came from a private address; nil: not known.
  ///   - isConnectionReused: Whether its connection had carried another request before; nil: not known.
  public init(
    statusCode: Int, headerFields: HTTPFields = [:], version: Version? = nil, isFromPrivateAddress: Bool? = nil,
    isConnectionReused: Bool? = nil
  ) {
    self.statusCode = statusCode
    self.isFromPrivateAddress = isFromPrivateAddress
    self.isConnectionReused = isConnectionReused
    self.knownVersion = version
    self.storage = .fields(headerFields)
  }

  /// A head as it came over the wire: lines that end in CRLF or LF, the status line among them or not.
  ///
  /// - Parameters:
  ///   - statusCode: The status.
  ///   - block: The lines. The first one tells the version of HTTP, if it is a status line.
  ///   - isFromPrivateAddress: Whether it came from a private address; nil: not known.
  ///   - isConnectionReused: Whether its connection had carried another request before; nil: not known.
  public init(
    statusCode: Int, block: [UInt8], isFromPrivateAddress: Bool? = nil, isConnectionReused: Bool? = nil
  ) {
    self.statusCode = statusCode
    self.isFromPrivateAddress = isFromPrivateAddress
    self.isConnectionReused = isConnectionReused
    self.knownVersion = nil
    self.storage = .block(block)
  }

  /// The status with its code; a code that no status can have becomes 0.
  public var status: HTTPResponse.Status {
    HTTPResponse.Status(code: (0...999).contains(statusCode) ? statusCode : 0)
  }

  /// The version of HTTP that it came by; nil where the transport does not tell.
  public var version: Version? {
    switch storage {
    case .fields: knownVersion
    case .block(let bytes): Version(statusLine: bytes)
    }
  }

  /// The header fields in the order they came in. Parsed at each call: keep the result. O(bytes).
  public var headerFields: HTTPFields {
    switch storage {
    case .fields(let fields): fields
    case .block(let bytes): HeaderBlock.fields(in: bytes)
    }
  }

  /// The length of the body in bytes, as the response declares it; nil where it does not, or says no number.
  package var declaredLength: Int? { self[.contentLength].flatMap { Int($0) } }

  /// Whether a body follows, as far as status and method tell: what is declared without one is the length of another.
  func bringsBody(to method: HTTPRequest.Method) -> Bool { method != .head && statusCode != 204 && statusCode != 304 }

  /// One field's value, without parsing the others; several of one name are joined by ", ". O(bytes).
  public subscript(name: HTTPField.Name) -> String? {
    switch storage {
    case .fields(let fields): fields[name]
    case .block(let bytes): HeaderBlock.value(of: name.canonicalName, in: bytes)
    }
  }

  /// Where a redirect leads, as it is written. Bytes that are no UTF-8 come percent-encoded: a server means itself by
  /// them, and as text they would be lost.
  var location: String? {
    let bytes: [UInt8]?
    switch storage {
    case .fields(let fields):
      let values = fields[fields: .location]
      bytes = values.count == 1 ? values[0].withUnsafeBytesOfValue { Array($0) } : nil
    case .block(let block): bytes = HeaderBlock.bytes(of: HTTPField.Name.location.canonicalName, in: block)
    }
    guard let bytes, String(validating: bytes, as: UTF8.self) == nil else { return self[.location] }
    return URLText.ascii(bytes)
  }
}

extension ResponseHead {
  /// A version of HTTP. More may be added: a `switch` needs a `default`.
  public struct Version: Hashable, Sendable, CustomStringConvertible {
    /// As it stands in a status line: `HTTP/1.1`, `HTTP/2`.
    public let description: String

    /// HTTP/1.0.
    public static let http10 = Version(description: "HTTP/1.0")
    /// HTTP/1.1.
    public static let http11 = Version(description: "HTTP/1.1")
    /// HTTP/2.
    public static let http2 = Version(description: "HTTP/2")
    /// HTTP/3.
    public static let http3 = Version(description: "HTTP/3")

    /// The version by its numbers; nil for one that is not known here.
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
      // From HTTP/2 on there is no minor version.
      case 1 where digits[0] > 1: self.init(major: digits[0], minor: 0)
      case 3: self.init(major: digits[0], minor: digits[2])
      default: return nil
      }
    }
  }
}

/// A redirect that was followed.
public struct FollowedRedirect: Hashable, Sendable {
  /// The URL that was asked and led elsewhere.
  public let url: String

  /// The status that said so: 301, 302, 303, 307 or 308.
  public let statusCode: Int
}
