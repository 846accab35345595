import HeadgateThreads

/// Those that wait for one end-point in one class, the lowest rank first.
///
/// A rank is the time of the submission plus what the priority puts on top. Most requests come with a rank above all
/// others and join the end of a list. One that is more urgent, or comes back with the age of its first submission (a
/// redirect), may belong anywhere: those stand in a heap beside the list, so that no arrival walks along a queue. The
/// first of the lane is the lower of the two first ones.
struct Lane: Sendable {
  private var list = NodeList()
  private var overtaking = IndexedHeap<RankedSlot>()
  // Counted here, so that a lane where nobody overtakes (nearly all) never looks into the heap.
  private var overtakingCount = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// Whoever is next; -1 when nobody waits.
  func first<Item: Sendable>(in nodes: borrowing NodeTable<Item>) -> Int32 {
    guard overtakingCount > 0, let least = overtaking.min else { return list.first }
    guard list.first >= 0 else { return least.key.slot }
    return least.key.rank < nodes[list.first].rank ? least.key.slot : list.first
  }

  mutating func insert<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count += 1
    let rank = nodes[slot].rank
    if list.last < 0 || nodes[list.last].rank < rank {
      nodes[slot].overtaking = -1
      list.append(slot, in: &nodes)
    } else {
      nodes[slot].overtaking = overtaking.insert(RankedSlot(rank: rank, tie: nodes[slot].age, slot: slot))
      overtakingCount += 1
    }
  }

  mutating func remove<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count -= 1
    if nodes[slot].overtaking >= 0 {
      overtaking.remove(nodes[slot].overtaking)
      nodes[slot].overtaking = -1
      overtakingCount -= 1
    } else {
      list.remove(slot, in: &nodes)
    }
  }
}

/// A request by its rank. A more urgent one that comes later may have the rank of another: then `tie` decides.
struct RankedSlot: Comparable, Sendable {
  var rank: UInt64
  var tie: UInt64
  var slot: Int32

  static func < (left: RankedSlot, right: RankedSlot) -> Bool { (left.rank, left.tie) < (right.rank, right.tie) }
}
