/// Bytes whose value reveals their position.
enum Pattern {
  private static let period = 1 << 16
  // Two periods, so that every piece up to one period is a slice.
  private static let table = (0..<2 * period).map(byte(at:))

  static func byte(at index: Int) -> UInt8 {
    let place = index & (period - 1)
    return UInt8(truncatingIfNeeded: place ^ place >> 8)
  }

  static func append(_ range: Range<Int>, to output: inout [UInt8]) {
    var position = range.lowerBound
    while position < range.upperBound {
      let start = position & (period - 1)
      let count = min(range.upperBound - position, 2 * period - start)
      output.append(contentsOf: table[start..<start + count])
      position += count
    }
  }
}
