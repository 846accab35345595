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
