import HeadgateThreads

/// Those that wait for one end-point in one class, the lowest rank first.
///
/// A rank is the time of the submission plus what the priority puts on top. Most requests come with a rank above all
/// others and join the end of a list. One that is more urgent, or comes back with the age of its first submission (a
/// redirect), may belong anywhere: those stand in a heap beside the list, so that no arrival walks along a queue. The
/// first of the lane is the lower of the two first ones.
struct Lane: Sendable {
  private var list = NodeList()
  private var overtaking = RankHeap()
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// Whoever is next; -1 when nobody waits.
  func first<Item: Sendable>(in nodes: borrowing NodeTable<Item>) -> Int32 {
    guard let least = overtaking.first else { return list.first }
    guard list.first >= 0 else { return least.place }
    return least.rank < nodes[list.first].rank ? least.place : list.first
  }

  mutating func insert<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count += 1
    let rank = nodes[slot].rank
    if list.last < 0 || nodes[list.last].rank < rank {
      nodes[slot].overtaking = -1
      list.append(slot, in: &nodes)
    } else {
      nodes[slot].overtaking = overtaking.insert(RankHeap.Key(rank: rank, tie: nodes[slot].age, place: slot))
    }
  }

  mutating func remove<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count -= 1
    if nodes[slot].overtaking >= 0 {
      overtaking.remove(nodes[slot].overtaking)
      nodes[slot].overtaking = -1
    } else {
      list.remove(slot, in: &nodes)
    }
  }
}
