import HeadgateThreads

/// Those that wait for one end-point in one class, the lowest rank first.
///
/// A rank is the time of the submission plus what the priority puts on top. Nearly every request comes with a rank above all
/// others of its priority and joins the end of that priority's list: a multilevel queue, whose next one is the lowest of
/// the five that stand first, with no heap to keep in order. One that comes back with the age of its first submission (a
/// redirect), or whose priority was changed while it waited, may belong anywhere, and so may one that comes after the
/// worth of priorities was changed: those stand in a heap beside the lists, so that no arrival walks along a queue.
struct LaneQueue: Sendable {
  private var lists = PriorityLists()
  private var returning = RankHeap()
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The next request; -1 when none waits.
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

  /// Before its priority changes, if that is what it is taken out for.
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
