import Testing

@testable import HeadgateOrigin

@Suite struct GzipZerosTests {
  @Test(arguments: [0, 1, 2, 257, 258, 259, 260, 517, 775, 1_033, 1_034, 4_129, 65_537, 1_000_000])
  func `Decompresses to the requested number of zero bytes`(count: Int) throws {
    let zeros = GzipZeros(count: count)
    let wire = zeros.start + [UInt8](repeating: 0, count: zeros.zeros) + zeros.end
    #expect(wire.count == zeros.wireCount)
    #expect(Array(wire[..<4]) == [0x1f, 0x8b, 8, 0])
    var bits = Bits(bytes: Array(wire[10...]))
    try bits.readTables()
    var inflated = 0
    while let run = try bits.run() { inflated += run }
    #expect(inflated == count)
    let trailer = Array(bits.bytes[((bits.position + 7) / 8)...])
    #expect(trailer.count == 8)
    #expect(word(trailer[0..<4]) == checksum(zeros: count))
    #expect(word(trailer[4..<8]) == UInt32(count))
  }

  @Test func `A gigabyte is small on the wire`() {
    #expect(GzipZeros(count: 1 << 30).wireCount < 1_100_000)
  }

  private func word(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } }

  /// CRC-32 bit by bit.
  private func checksum(zeros count: Int) -> UInt32 {
    var register = UInt32.max
    for _ in 0..<8 * count { register = register >> 1 ^ (register & 1 == 1 ? 0xEDB8_8320 : 0) }
    return ~register
  }
}

/// The part of inflate that this table needs.
private struct Bits {
  struct Malformed: Error {}

  let bytes: [UInt8]
  var position = 0

  mutating func read(_ count: Int) throws -> Int {
    var value = 0
    for index in 0..<count {
      guard position / 8 < bytes.count else { throw Malformed() }
      value |= Int(bytes[position / 8] >> UInt8(position % 8) & 1) << index
      position += 1
    }
    return value
  }

  /// Reads the head of a dynamic block and checks that its codes are those that `run` uses.
  mutating func readTables() throws {
    guard try read(1) == 1, try read(2) == 2 else { throw Malformed() }
    let literals = try read(5) + 257
    let distances = try read(5) + 1
    let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    var lengths = [Int](repeating: 0, count: 19)
    for symbol in order.prefix(try read(4) + 4) { lengths[symbol] = try read(3) }
    guard lengths[18] == 1, lengths[1] == 2, lengths[2] == 2, lengths.reduce(0, +) == 5 else { throw Malformed() }
    var codes: [Int] = []
    while codes.count < literals + distances {
      if try read(1) == 0 {
        codes += [Int](repeating: 0, count: try read(7) + 11)
      } else {
        codes.append(try read(1) + 1)
      }
    }
    var expected = [Int](repeating: 0, count: 287)
    (expected[0], expected[256], expected[285], expected[286]) = (2, 2, 1, 1)
    guard codes == expected, literals == 286, distances == 1 else { throw Malformed() }
  }

  /// The number of bytes that the next code stands for; nil for the end of the block.
  mutating func run() throws -> Int? {
    if try read(1) == 0 { return try read(1) == 0 ? 258 : { throw Malformed() }() }
    return try read(1) == 0 ? 1 : nil
  }
}
