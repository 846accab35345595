import CHeadgate

/// MD5 (RFC 1321), only for Digest authentication.
enum MD5 {
  /// The digest of the bytes, 16 bytes long.
  static func sum(_ bytes: [UInt8]) -> [UInt8] {
    // The call reads as many bytes as the array has, writes 16, and keeps no pointer.
    [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      bytes.withUnsafeBytes { headgate_md5($0.baseAddress, $0.count, buffer.baseAddress) }
      count = 16
    }
  }
}
