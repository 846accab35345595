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

  private let storage: Storage

  /// A head with parsed fields.
  public init(statusCode: Int, headerFields: HTTPFields = [:], isFromPrivateAddress: Bool? = nil) {
    self.statusCode = statusCode
    self.isFromPrivateAddress = isFromPrivateAddress
    self.storage = .fields(headerFields)
  }

  /// A head as it came over the wire: lines that end in CRLF or LF, the status line among them or not.
  ///
  /// - Parameters:
  ///   - statusCode: The status.
  ///   - block: The lines.
  ///   - isFromPrivateAddress: Whether it came from a private address; nil: not known.
  public init(statusCode: Int, block: [UInt8], isFromPrivateAddress: Bool? = nil) {
    self.statusCode = statusCode
    self.isFromPrivateAddress = isFromPrivateAddress
    self.storage = .block(block)
  }

  /// The status with its code; a code that no status can have becomes 0.
  public var status: HTTPResponse.Status {
    HTTPResponse.Status(code: (0...999).contains(statusCode) ? statusCode : 0)
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
