import HeadgateThreads

/// The requests that wait for one end-point in one lane, the lowest rank first.
///
/// A rank is the time of submission plus an offset for the priority. Nearly every request has the highest rank of its
/// priority and joins the end of that priority's list. This is a multilevel queue, whose next request is the lowest of
/// the five list heads, without a heap to maintain. A request may belong in the middle if it returns with the age of
/// its first submission (a redirect), if its priority was changed while it waited, or if it arrives after the span that
/// a step of priority is worth was changed. Such requests are in a heap beside the lists, so that no arrival searches a
/// queue.
struct LaneQueue: Sendable {
  private var lists = PriorityLists()
  private var returning = RankHeap()
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The next request; -1 if none waits.
  func first<Item: Sendable>(in nodes: borrowing NodeTable<Item>) -> Int32 {
    let listed = lists.lowest(in: nodes)
    guard let least = returning.first else { return listed }
    guard listed >= 0 else { return least.place }
    return (least.rank, least.tie) < (nodes[listed].rank, nodes[listed].age) ? least.place : listed
  }

  mutating func insert<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count += 1
    let (rank, age, priority) = (nodes[slot].rank, nodes[slot].age, nodes[slot].priority)
    let last = lists[priority].last
    if last < 0 || (nodes[last].rank, nodes[last].age) < (rank, age) {
      nodes[slot].returning = -1
      lists[priority].append(slot, in: &nodes)
    } else {
      nodes[slot].returning = returning.insert(RankHeap.Key(rank: rank, tie: age, place: slot))
    }
  }

  /// All requests, in no particular order. O(n).
  func slots<Item: Sendable>(in nodes: borrowing NodeTable<Item>) -> [Int32] {
    returning.places + lists.slots(in: nodes)
  }

  /// If the reason for the removal is a change of priority, it is called before that change.
  mutating func remove<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count -= 1
    if nodes[slot].returning >= 0 {
      returning.remove(nodes[slot].returning)
      nodes[slot].returning = -1
    } else {
      lists[nodes[slot].priority].remove(slot, in: &nodes)
    }
  }
}

/// A list of nodes for each priority, stored inline: an array would be one more allocation for each lane, and
/// `InlineArray` requires newer Apple systems than the package.
struct PriorityLists: Sendable {
  // Indexed by a priority's steps; -1 for an empty list. There are five.
  private var first = SIMD8<Int32>(repeating: -1)
  private var last = SIMD8<Int32>(repeating: -1)
  // The steps of the non-empty lists, as bits.
  private var filled: UInt8 = 0

  subscript(priority: RequestPriority) -> NodeList {
    get { NodeList(first: first[Int(priority.steps)], last: last[Int(priority.steps)]) }
    set {
      first[Int(priority.steps)] = newValue.first
      last[Int(priority.steps)] = newValue.last
      let bit = 1 as UInt8 &<< priority.steps
      filled = newValue.isEmpty ? filled & ~bit : filled | bit
    }
  }

  /// The nodes of all lists.
  func slots<Item: Sendable>(in nodes: borrowing NodeTable<Item>) -> [Int32] {
    var slots: [Int32] = []
    var left = filled
    while left != 0 {
      var slot = first[left.trailingZeroBitCount]
      left &= left &- 1
      while slot >= 0 {
        slots.append(slot)
        slot = nodes[slot].next
      }
    }
    return slots
  }

  /// The list head with the lowest rank, and among equal ones the oldest; -1 if all lists are empty.
  func lowest<Item: Sendable>(in nodes: borrowing NodeTable<Item>) -> Int32 {
    var lowest: Int32 = -1
    var left = filled
    while left != 0 {
      let slot = first[left.trailingZeroBitCount]
      left &= left &- 1
      if lowest < 0 || (nodes[slot].rank, nodes[slot].age) < (nodes[lowest].rank, nodes[lowest].age) { lowest = slot }
    }
    return lowest
  }
}
