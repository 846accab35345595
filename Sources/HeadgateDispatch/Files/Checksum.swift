import HeadgateThreads

/// The checksum of a body, for ``FileDestination/checksum``.
///
///     let file = try await dispatcher.download(
///       for: url, to: .replacing("debian.iso"), checksum: .sha256(digits))
public struct Checksum: Hashable, Sendable, CustomStringConvertible {
  private let bytes: [UInt8]

  /// A SHA-256 checksum (FIPS 180-4).
  ///
  /// - Parameter digits: 64 hexadecimal digits, in upper or lower case.
  /// - Throws: ``ChecksumError`` if `digits` is anything else.
  public static func sha256(_ digits: some StringProtocol) throws(ChecksumError) -> Checksum {
    guard let checksum = Checksum(digits) else { throw ChecksumError(invalid: String(digits)) }
    return checksum
  }

  /// Reads 64 hexadecimal digits.
  package init?(_ digits: some StringProtocol) {
    let values = digits.utf8.compactMap(Self.value)
    guard values.count == 64, digits.utf8.count == 64 else { return nil }
    bytes = stride(from: 0, to: 64, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }

  /// The checksum of the bytes that were added.
  package init(_ hash: SHA256) { bytes = hash.finish() }

  /// Throws if the other checksum is different.
  package func check(_ found: Checksum) throws(ChecksumError) {
    guard found == self else { throw ChecksumError(expected: self, found: found) }
  }

  /// 64 hexadecimal digits in lower case.
  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46, 0x61...0x66: (digit | 0x20) - 0x61 + 10
    default: nil
    }
  }
}

/// A complete body does not have the expected checksum (the `DispatchError.underlyingError` of a `badResponse`), or a
/// text is no checksum.
public struct ChecksumError: HeadgateError, Hashable {
  /// `checksum_mismatch` or `invalid_checksum`.
  public let codeName: String

  /// The expected checksum. Nil for an invalid text.
  public let expected: Checksum?

  /// The checksum of the body that arrived. Nil for an invalid text.
  public let found: Checksum?

  /// The checksums, or what a checksum must look like.
  public let description: String

  package init(expected: Checksum, found: Checksum) {
    (codeName, self.expected, self.found) = ("checksum_mismatch", expected, found)
    description = "its SHA-256 is \(found), and \(expected) was expected; the body is not kept"
  }

  init(invalid text: String) {
    (codeName, expected, found) = ("invalid_checksum", nil, nil)
    description = "\"\(ShownText.of(text))\" is no SHA-256 checksum: give 64 hexadecimal digits"
  }
}
