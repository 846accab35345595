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
