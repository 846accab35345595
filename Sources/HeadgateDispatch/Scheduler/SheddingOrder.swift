import HeadgateThreads

/// All that wait, in the order in which they give way when too many do. Kept only while a policy needs it.
struct SheddingOrder: Sendable {
  enum Rule: Sendable { case oldest, lowest }

  private(set) var rule: Rule?
  private var heap = RankHeap()

  /// The request that gives way next; -1 when none waits.
  var first: Int32 { rule == nil ? -1 : heap.first?.place ?? -1 }

  mutating func insert<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    guard let rule else { return }
    // The lowest is the one whose turn would come last: of the least urgent the youngest, as `outlook` foretells.
    let (age, rank) = (nodes[slot].age, nodes[slot].rank)
    nodes[slot].shedding = heap.insert(RankHeap.Key(rank: rule == .oldest ? age : ~rank, tie: ~age, place: slot))
  }

  mutating func remove<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    guard nodes[slot].shedding >= 0 else { return }
    heap.remove(nodes[slot].shedding)
    nodes[slot].shedding = -1
  }

  /// Another policy is in force. O(n log n) in those that wait, when the rule is another one.
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
