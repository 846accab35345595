import CHeadgate

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces, with the processor's instructions where it has them.
package struct SHA256: Sendable {
  private var hash = headgate_sha256_begin()

  package init() {}

  /// The digest of the bytes, 32 bytes long.
  package static func sum(_ message: some Collection<UInt8>) -> [UInt8] {
    var hash = SHA256()
    hash.update(Array(message))
    return hash.finish()
  }

  /// The number of bytes that were added.
  package var count: Int { Int(truncatingIfNeeded: hash.count) }

  /// Adds bytes.
  package mutating func update(_ bytes: [UInt8]) {
    // The call reads as many bytes as the buffer has, and keeps no pointer.
    bytes.withUnsafeBytes { headgate_sha256_add(&hash, $0.baseAddress, $0.count) }
  }

  /// The digest of all bytes that were added.
  package consuming func finish() -> [UInt8] {
    var hash = hash
    // The call writes 32 bytes.
    return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      headgate_sha256_finish(&hash, buffer.baseAddress)
      count = 32
    }
  }
}
