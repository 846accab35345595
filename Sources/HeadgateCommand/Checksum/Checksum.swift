/// The SHA-256 of a body.
struct Checksum: Hashable, Sendable, CustomStringConvertible {
  private let bytes: [UInt8]

  /// Reads 64 hexadecimal digits.
  init?(_ digits: some StringProtocol) {
    let values = digits.utf8.compactMap(Self.value)
    guard values.count == 64, digits.utf8.count == 64 else { return nil }
    bytes = stride(from: 0, to: 64, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }

  /// The checksum of the bytes that were added.
  init(_ hash: SHA256) { bytes = hash.finish() }

  /// The checksum of a file. Blocks.
  init(ofFile path: String) throws(SystemError) {
    let file = try Descriptor.openForReading(path)
    defer { Descriptor.close(file) }
    var hash = SHA256()
    while case let piece = try Descriptor.read(file, atMost: 256 * 1024), !piece.isEmpty { hash.update(piece) }
    self.init(hash)
  }

  /// Throws if the other checksum is different.
  func check(_ found: Checksum) throws(ChecksumMismatch) {
    guard found == self else { throw ChecksumMismatch(expected: self, found: found) }
  }

  /// 64 hexadecimal digits in lower case.
  var description: String {
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

/// A complete body does not have the expected checksum.
struct ChecksumMismatch: Error, Hashable, CustomStringConvertible {
  /// The error code in logs.
  static let code = "checksum_mismatch"

  let expected: Checksum
  let found: Checksum

  var description: String { "its SHA-256 is \(found), and \(expected) was expected; the body is not kept" }
}
