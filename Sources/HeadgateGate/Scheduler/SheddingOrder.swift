import HeadgateThreads

/// All waiting requests, in the order in which they are displaced when the queue is full. Maintained only while a
/// policy needs it.
struct SheddingOrder: Sendable {
  enum Rule: Sendable { case oldest, lowest }

  private(set) var rule: Rule?
  private var heap = RankHeap()

  /// The request that is displaced next; -1 if none waits.
  var first: Int32 { rule == nil ? -1 : heap.first?.place ?? -1 }

  mutating func insert<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    guard let rule else { return }
    // The lowest is the one that would start last: the newest of the lowest priority, as `outlook` predicts.
    let (age, rank) = (nodes[slot].age, nodes[slot].rank)
    nodes[slot].shedding = heap.insert(RankHeap.Key(rank: rule == .oldest ? age : ~rank, tie: ~age, place: slot))
  }

  mutating func remove<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    guard nodes[slot].shedding >= 0 else { return }
    heap.remove(nodes[slot].shedding)
    nodes[slot].shedding = -1
  }

  /// Applies another policy. O(n log n) in the waiting requests if the rule changes.
  mutating func adopt<Item: Sendable>(_ rule: Rule?, in nodes: inout NodeTable<Item>) {
    guard rule != self.rule else { return }
    self = SheddingOrder()
    self.rule = rule
    for slot in nodes.nodes.indices.lazy.map({ Int32($0) }) {
      nodes[slot].shedding = -1
      if nodes[slot].state == .waiting { insert(slot, in: &nodes) }
    }
  }
}
