/// Divides a file into blocks, and links blocks into chains. Each chain is a queue of bytes. The links are kept in
/// memory, 4 bytes a block. The file contains data only, so a failed write leaves no other write to undo.
///
/// Free blocks are reused. The file is therefore never longer than the greatest total length of the chains so far.
struct BlockTable: Sendable {
  static let blockSize = 4096

  /// A queue of bytes in the file.
  struct Chain: Hashable, Sendable {
    /// Its length in bytes.
    fileprivate(set) var count = 0
    fileprivate var first: Int32 = -1
    fileprivate var last: Int32 = -1
    /// The offsets of its start in the first block and of its end in the last one.
    fileprivate var start: Int32 = 0
    fileprivate var end: Int32 = 0
  }

  /// The most blocks.
  let most: Int
  private var next: [Int32] = []
  private var free: Int32 = -1
  /// Blocks in chains.
  private(set) var used = 0

  /// - Parameter most: The most blocks, at most `Int32.max`.
  init(most: Int) { self.most = min(most, Int(Int32.max)) }

  /// The length of the file in blocks.
  var length: Int { next.count }

  /// Extends a chain at its end. Returns the ranges in the file for the new bytes, in order. If there is no room,
  /// returns nil and changes nothing. O(blocks added).
  mutating func extend(_ chain: inout Chain, by count: Int) -> [Range<Int>]? {
    let room = chain.last < 0 ? 0 : Self.blockSize - Int(chain.end)
    let needed = max(0, count - room + Self.blockSize - 1) / Self.blockSize
    guard used + needed <= most else { return nil }
    var places: [Range<Int>] = []
    var left = count
    while left > 0 {
      if chain.last < 0 || Int(chain.end) == Self.blockSize { append(to: &chain) }
      let length = min(left, Self.blockSize - Int(chain.end))
      let place = Int(chain.last) * Self.blockSize + Int(chain.end)
      Self.add(place..<(place + length), to: &places)
      chain.end += Int32(length)
      left -= length
    }
    chain.count += count
    return places
  }

  /// Undoes an extension of a chain. Nothing may have been dropped from the chain since.
  mutating func restore(_ chain: inout Chain, to earlier: Chain) {
    var block = earlier.last < 0 ? chain.first : chain.last == earlier.last ? -1 : next[Int(earlier.last)]
    while block >= 0 {
      let following = block == chain.last ? -1 : next[Int(block)]
      release(block)
      block = following
    }
    chain = earlier
  }

  /// The ranges of a chain's first bytes, at most `count` of them.
  func front(of chain: Chain, atMost count: Int) -> [Range<Int>] {
    var places: [Range<Int>] = []
    var (block, start, left) = (chain.first, Int(chain.start), min(count, chain.count))
    while left > 0 {
      let length = min(left, Self.blockSize - start)
      let place = Int(block) * Self.blockSize + start
      Self.add(place..<(place + length), to: &places)
      left -= length
      start = 0
      if left > 0 { block = next[Int(block)] }
    }
    return places
  }

  /// Removes bytes from a chain's front, at most `count` of them. O(blocks released).
  mutating func drop(_ count: Int, from chain: inout Chain) {
    var left = min(count, chain.count)
    chain.count -= left
    if chain.count == 0 {
      while chain.first >= 0 {
        let block = chain.first
        chain.first = block == chain.last ? -1 : next[Int(block)]
        release(block)
      }
      chain = Chain()
      return
    }
    while left > 0 {
      let length = min(left, Self.blockSize - Int(chain.start))
      chain.start += Int32(length)
      left -= length
      guard Int(chain.start) == Self.blockSize else { break }
      let block = chain.first
      chain.first = next[Int(block)]
      chain.start = 0
      release(block)
    }
  }

  /// Forgets all free blocks, for a file truncated to zero. Only while no chain has a block.
  mutating func reset() {
    guard used == 0 else { return }
    next = []
    free = -1
  }

  private mutating func append(to chain: inout Chain) {
    let block: Int32
    if free >= 0 {
      block = free
      free = next[Int(block)]
    } else {
      block = Int32(next.count)
      next.append(-1)
    }
    used += 1
    if chain.last < 0 { (chain.first, chain.start) = (block, 0) } else { next[Int(chain.last)] = block }
    (chain.last, chain.end) = (block, 0)
  }

  private mutating func release(_ block: Int32) {
    next[Int(block)] = free
    free = block
    used -= 1
  }

  /// Adds a range. It joins adjacent ranges, to save system calls.
  private static func add(_ place: Range<Int>, to places: inout [Range<Int>]) {
    if let last = places.last, last.upperBound == place.lowerBound {
      places[places.count - 1] = last.lowerBound..<place.upperBound
    } else {
      places.append(place)
    }
  }
}
