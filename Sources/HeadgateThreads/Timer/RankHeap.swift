/// The slots of a table ordered by rank: an ``IndexedHeap`` with a concrete key type, for the package's other modules.
/// Generic code is not specialized across modules (Swift 6.3, `package` declarations), and unspecialized code looks up
/// its types at every step, thousands of instructions for one removal.
package struct RankHeap: Sendable {
  package struct Key: Comparable, Sendable {
    package var rank: UInt64
    /// Orders entries of equal rank.
    package var tie: UInt64
    /// The slot that the key stands for.
    package var place: Int32

    package init(rank: UInt64, tie: UInt64, place: Int32) { (self.rank, self.tie, self.place) = (rank, tie, place) }

    package static func < (left: Key, right: Key) -> Bool { (left.rank, left.tie) < (right.rank, right.tie) }
  }

  private var heap = IndexedHeap<Key>()

  package init() {}

  package var isEmpty: Bool { heap.isEmpty }

  /// The key with the lowest rank.
  package var first: Key? { heap.min?.key }

  /// The places of all keys, in no particular order. O(n).
  package var places: [Int32] { heap.entries.map(\.key.place) }

  /// Returns the entry's handle, valid until it is removed; 0 or more.
  package mutating func insert(_ key: Key) -> Int32 { heap.insert(key) }

  package mutating func remove(_ handle: Int32) { heap.remove(handle) }
}

/// A set of numbers whose least one is at hand: places in a line, from which members also leave in the middle. O(log n)
/// for a change, O(1) for a question.
package struct OrderedNumbers: Sendable {
  private var heap = RankHeap()
  private var handles: [Int: Int32] = [:]

  package init() {}

  package var count: Int { handles.count }
  package var isEmpty: Bool { handles.isEmpty }

  /// The least number. Nil if empty.
  package var least: Int? { heap.first.map { Int(truncatingIfNeeded: $0.rank ^ Self.sign) } }

  package func contains(_ number: Int) -> Bool { handles[number] != nil }

  /// Has no effect if the number is in the set.
  package mutating func insert(_ number: Int) {
    guard handles[number] == nil else { return }
    let rank = UInt64(truncatingIfNeeded: number) ^ Self.sign
    handles[number] = heap.insert(RankHeap.Key(rank: rank, tie: 0, place: 0))
  }

  /// Returns whether the number was in the set.
  @discardableResult
  package mutating func remove(_ number: Int) -> Bool {
    guard let handle = handles.removeValue(forKey: number) else { return false }
    heap.remove(handle)
    return true
  }

  // Ranks have no sign: with this bit flipped, negative numbers come before the others.
  private static let sign = UInt64(1) << 63
}
