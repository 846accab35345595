// A gzip member (RFC 1952) of any number of zero bytes: about a thousandth of their size, created without
// compressing.
//
// One deflate block (RFC 1951) with its own Huffman codes, chosen so that the most frequent symbol, "repeat the last
// byte 258 times", takes two zero bits. The long middle of the stream therefore consists of zero bytes.

/// The wire form of `count` zero bytes: a start, a run of zero bytes and an end.
struct GzipZeros: Sendable {
  let start: [UInt8]
  let zeros: Int
  let end: [UInt8]

  var wireCount: Int { start.count + zeros + end.count }

  init(count: Int) {
    var bits = BitWriter([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
    bits.write(1, 1)  // the last block
    bits.write(2, 2)  // with dynamic codes
    bits.write(29, 5)  // 286 codes for literals and lengths
    bits.write(0, 5)  // 1 code for distances
    bits.write(14, 4)  // 18 lengths of the codes that the code lengths are written in, in the order of RFC 1951, 3.2.7:
    for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1] {
      bits.write(symbol == 18 ? 1 : symbol == 1 || symbol == 2 ? 2 : 0, 3)
    }
    // In that code: 18 (a run of 11 or more absent codes) is 0, 1 is 10, 2 is 11; the first bit goes first.
    bits.write(0b11, 2)  // literal 0: two bits
    bits.run(138)
    bits.run(117)  // literals 1 to 255: absent
    bits.write(0b11, 2)  // end of block: two bits
    bits.run(28)  // lengths below 258: absent
    bits.write(0b01, 2)  // length 258: one bit
    bits.write(0b01, 2)  // distance 1: one bit

    // Now length 258 is 0, distance 1 is 0, literal 0 is 10 and the end of the block is 11.
    let repeats = max(0, count - 1) / 258
    let literals = count > 0 ? (count - 1) % 258 : 0
    if count > 0 { bits.write(0b01, 2) }
    var zeroBits = 2 * repeats
    let lead = min(zeroBits, bits.freeBits)
    bits.write(0, lead)
    zeroBits -= lead
    // If no bits are left over, the preceding byte is full and the end starts a new byte; otherwise the end continues
    // in that byte.
    start = zeroBits > 0 ? bits.bytes : []
    zeros = zeroBits / 8
    var tail = zeroBits > 0 ? BitWriter() : bits
    tail.write(0, zeroBits % 8)
    for _ in 0..<literals { tail.write(0b01, 2) }
    tail.write(0b11, 2)
    var bytes = tail.bytes
    for word in [Self.checksum(ofZeros: count), UInt32(truncatingIfNeeded: count)] {
      for shift in stride(from: UInt32(0), to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
    }
    end = bytes
  }

  /// The CRC-32 of `count` zero bytes in O(log count) steps: each zero byte multiplies the register by x⁸ modulo the
  /// polynomial.
  static func checksum(ofZeros count: Int) -> UInt32 {
    var power: UInt32 = 1 << 23  // x⁸; the highest bit is x⁰
    var register: UInt32 = .max
    var rest = count
    while rest > 0 {
      if rest & 1 == 1 { register = multiply(register, power) }
      power = multiply(power, power)
      rest >>= 1
    }
    return ~register
  }

  private static func multiply(_ left: UInt32, _ right: UInt32) -> UInt32 {
    var product: UInt32 = 0
    var shifted = right
    for bit in stride(from: UInt32(31), through: 0, by: -1) {
      if left >> bit & 1 == 1 { product ^= shifted }
      shifted = shifted >> 1 ^ (shifted & 1 == 1 ? 0xEDB8_8320 : 0)
    }
    return product
  }
}

/// Writes bits into bytes, lowest first.
private struct BitWriter {
  private(set) var bytes: [UInt8]
  /// The number of unused bits in the last byte.
  private(set) var freeBits = 0

  init(_ bytes: [UInt8] = []) { self.bytes = bytes }

  /// Writes the low `count` bits of `value`, the lowest first.
  mutating func write(_ value: Int, _ count: Int) {
    for index in 0..<count {
      if freeBits == 0 {
        bytes.append(0)
        freeBits = 8
      }
      if value >> index & 1 == 1 { bytes[bytes.count - 1] |= 1 << UInt8(8 - freeBits) }
      freeBits -= 1
    }
  }

  /// Writes a run of 11 to 138 absent codes.
  mutating func run(_ length: Int) {
    write(0, 1)
    write(length - 11, 7)
  }
}
