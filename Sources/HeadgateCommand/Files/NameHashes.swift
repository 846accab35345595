/// A set of hashes that takes about 8 bytes for each, even while it grows. It keeps 56 of their 64 bits: among ten
/// million hashes, the probability that two are confused is one in a thousand.
///
/// A `Set<Int>` doubles its size when it grows, and holds the old table beside the new one meanwhile: 201 MB at 10^7
/// elements. Here the first bits of a hash choose one of many small tables, and each grows on its own, by an eighth.
struct NameHashes: Sendable {
  /// A table of 48-bit values with linear probing. Zero marks an empty slot.
  private struct Table: Sendable {
    var low: [UInt32]
    var high: [UInt16]
    var count = 0

    init(capacity: Int) {
      low = Array(repeating: 0, count: capacity)
      high = Array(repeating: 0, count: capacity)
    }

    /// Whether another value would fill more than seven eighths.
    var isFull: Bool { (count + 1) * 8 > low.count * 7 }

    /// Adds a nonzero value. Returns whether it was new.
    mutating func insert(_ value: UInt64) -> Bool {
      let (place, isThere) = place(of: value)
      guard !isThere else { return false }
      (low[place], high[place]) = (UInt32(truncatingIfNeeded: value), UInt16(truncatingIfNeeded: value >> 32))
      count += 1
      return true
    }

    /// The place of a nonzero value, or the empty one for it. There is always an empty slot.
    func place(of value: UInt64) -> (place: Int, isThere: Bool) {
      let (low, high) = (UInt32(truncatingIfNeeded: value), UInt16(truncatingIfNeeded: value >> 32))
      // The first bits give the place in the table, for any table size.
      var place = Int((value << 16).multipliedFullWidth(by: UInt64(self.low.count)).high)
      while self.low[place] != 0 || self.high[place] != 0 {
        if self.low[place] == low, self.high[place] == high { return (place, true) }
        place = place + 1 == self.low.count ? 0 : place + 1
      }
      return (place, false)
    }

    /// A larger table with the same values.
    func grown() -> Table {
      var table = Table(capacity: low.count + max(2, low.count / 8))
      for place in low.indices where low[place] != 0 || high[place] != 0 {
        _ = table.insert(UInt64(high[place]) << 32 | UInt64(low[place]))
      }
      return table
    }
  }

  private static let partitions = 256

  // The sizes differ, so that not all of them grow at once.
  private var tables = (0..<NameHashes.partitions).map { Table(capacity: 8 + $0 % 8) }

  /// The number of elements.
  var count: Int { tables.reduce(0) { $0 + $1.count } }

  /// Adds a hash. Returns whether it was new. O(1) on average.
  mutating func insert(_ hash: Int) -> Bool {
    let (partition, value) = Self.parts(hash)
    if tables[partition].isFull { tables[partition] = tables[partition].grown() }
    return tables[partition].insert(value)
  }

  /// Whether it has a hash. O(1) on average.
  func contains(_ hash: Int) -> Bool {
    let (partition, value) = Self.parts(hash)
    return tables[partition].place(of: value).isThere
  }

  private static func parts(_ hash: Int) -> (partition: Int, value: UInt64) {
    let bits = UInt64(bitPattern: Int64(hash))
    return (Int(bits >> 56), max(1, bits >> 8 & 0xFFFF_FFFF_FFFF))
  }
}
