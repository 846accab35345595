import HeadgateThreads

/// Those that wait for one end-point in one class: first come, first served.
///
/// Most come with an age above all others and join the end of a list. A request that was redirected comes with the age
/// of its first submission, which may lie anywhere: those stand in a heap beside the list, so that no arrival walks
/// along a queue. The first of the lane is the older of the two first ones.
struct Lane: Sendable {
  private struct Rank: Comparable {
    var age: UInt64
    var slot: Int32

    static func < (left: Rank, right: Rank) -> Bool { left.age < right.age }
  }

  private var list = NodeList()
  private var returned = IndexedHeap<Rank>()
  // Counted here, so that a lane that nobody came back to (nearly all) never looks into the heap.
  private var returnedCount = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// Whoever came first; -1 when nobody waits.
  func first<Item: Sendable>(in nodes: borrowing NodeTable<Item>) -> Int32 {
    guard returnedCount > 0, let elder = returned.min else { return list.first }
    guard list.first >= 0 else { return elder.key.slot }
    return elder.key.age < nodes[list.first].age ? elder.key.slot : list.first
  }

  mutating func insert<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count += 1
    let age = nodes[slot].age
    if list.last < 0 || nodes[list.last].age < age {
      nodes[slot].returned = -1
      list.append(slot, in: &nodes)
    } else {
      nodes[slot].returned = returned.insert(Rank(age: age, slot: slot))
      returnedCount += 1
    }
  }

  mutating func remove<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count -= 1
    if nodes[slot].returned >= 0 {
      returned.remove(nodes[slot].returned)
      nodes[slot].returned = -1
      returnedCount -= 1
    } else {
      list.remove(slot, in: &nodes)
    }
  }
}
