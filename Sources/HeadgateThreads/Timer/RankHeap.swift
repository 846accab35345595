/// Places of a table by rank: an ``IndexedHeap`` with one type of key, for the package's other modules. What is generic is
/// not specialized across modules (6.3, `package`), and not specialized it looks its types up at each step: a removal
/// took three thousand instructions.
package struct RankHeap: Sendable {
  package struct Key: Comparable, Sendable {
    package var rank: UInt64
    /// Decides between equal ranks.
    package var tie: UInt64
    /// What the key stands for.
    package var place: Int32

    package init(rank: UInt64, tie: UInt64, place: Int32) { (self.rank, self.tie, self.place) = (rank, tie, place) }

    package static func < (left: Key, right: Key) -> Bool { (left.rank, left.tie) < (right.rank, right.tie) }
  }

  private var heap = IndexedHeap<Key>()

  package init() {}

  package var isEmpty: Bool { heap.isEmpty }

  /// The key with the lowest rank.
  package var first: Key? { heap.min?.key }

  /// Returns what the entry is known by until it is removed; 0 or more.
  package mutating func insert(_ key: Key) -> Int32 { heap.insert(key) }

  package mutating func remove(_ handle: Int32) { heap.remove(handle) }
}
