/// Text in the gzip format (RFC 1952), in stored blocks.
enum Packed {
  static func gzip(_ text: String) -> [UInt8] { gzip(Array(text.utf8)) }

  static func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var packed: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    for start in stride(from: 0, to: bytes.count, by: 60_000) {
      let block = bytes[start...].prefix(60_000)
      packed += [0] + little(UInt16(block.count)) + little(~UInt16(block.count)) + block
    }
    return packed + [1, 0, 0, 0xFF, 0xFF] + little(crc(bytes)) + little(UInt32(bytes.count))
  }

  private static func little(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    var crc = UInt32.max
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    return ~crc
  }
}
