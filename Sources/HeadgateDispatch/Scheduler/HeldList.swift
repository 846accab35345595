/// The requests whose callers are held because the queue is full, in the order of arrival. They are in their lanes at
/// the same time. All operations are O(1).
struct HeldList: Sendable {
  private(set) var first: Int32 = -1
  private var last: Int32 = -1
  private(set) var count = 0

  mutating func append<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count += 1
    nodes[slot].isHeld = true
    nodes[slot].nextHeld = -1
    nodes[slot].previousHeld = last
    if last >= 0 { nodes[last].nextHeld = slot } else { first = slot }
    last = slot
  }

  mutating func remove<Item: Sendable>(_ slot: Int32, in nodes: inout NodeTable<Item>) {
    count -= 1
    nodes[slot].isHeld = false
    let (previous, next) = (nodes[slot].previousHeld, nodes[slot].nextHeld)
    if previous >= 0 { nodes[previous].nextHeld = next } else { first = next }
    if next >= 0 { nodes[next].previousHeld = previous } else { last = previous }
  }
}
