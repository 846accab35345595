/// A doubly linked list of nodes in a table, in the order of their arrival. All operations are O(1).
struct NodeList: Sendable {
  private(set) var first: Int32 = -1
  private(set) var last: Int32 = -1

  var isEmpty: Bool { first < 0 }

  mutating func append<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    nodes[slot].next = -1
    nodes[slot].previous = last
    if last >= 0 { nodes[last].next = slot } else { first = slot }
    last = slot
  }

  mutating func remove<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    let (previous, next) = (nodes[slot].previous, nodes[slot].next)
    if previous >= 0 { nodes[previous].next = next } else { first = next }
    if next >= 0 { nodes[next].previous = previous } else { last = previous }
  }
}
