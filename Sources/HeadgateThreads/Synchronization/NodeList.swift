/// An object that stands in at most one list.
// Unchecked: its properties are guarded by the lock of the list's owner.
@usableFromInline package class ListNode: @unchecked Sendable {
  fileprivate var next: ListNode?
  fileprivate unowned(unsafe) var previous: ListNode?
  fileprivate(set) var isListed = false

  /// Claims the wait that the node stands for. Returns false if the wait has ended.
  func claim() -> Bool { true }
}

/// The waiters for one event, in order of arrival.
@usableFromInline
package typealias WaitList = NodeList<Waiter>

/// Nodes in order of arrival. Every call is made under the owner's lock, and is O(1) except `claimAll` and `contains`.
@usableFromInline
package struct NodeList<Node: ListNode>: Sendable {
  @usableFromInline private(set) var first: ListNode?
  private unowned(unsafe) var last: ListNode?
  /// The number of nodes.
  package private(set) var count = 0

  package init() {}

  /// Whether there are no nodes.
  @inlinable package var isEmpty: Bool { first == nil }

  /// Adds a node at the end.
  package mutating func append(_ node: Node) {
    node.isListed = true
    node.previous = last
    if let last { last.next = node } else { first = node }
    last = node
    count += 1
  }

  /// Adds a node at the front: that of a waiter that was woken but overtaken, and keeps its place.
  package mutating func prepend(_ node: Node) {
    node.isListed = true
    node.next = first
    first?.previous = node
    if first == nil { last = node }
    first = node
    count += 1
  }

  /// Removes a node from any position. Returns false if it is not in the list.
  @discardableResult
  package mutating func remove(_ node: Node) -> Bool {
    guard node.isListed else { return false }
    node.isListed = false
    let next = node.next.take()
    next?.previous = node.previous
    if last === node { last = node.previous }
    if let previous = node.previous { previous.next = next } else { first = next }
    node.previous = nil
    count -= 1
    return true
  }

  /// Removes and claims the first node whose wait has not ended. The caller wakes it after releasing the lock.
  package mutating func claimFirst() -> Node? {
    while let first {
      // Unchecked: only nodes of this type are added.
      let node = unsafeDowncast(first, to: Node.self)
      remove(node)
      if node.claim() { return node }
    }
    return nil
  }

  /// Removes all nodes and claims those whose waits have not ended. The caller wakes them after releasing the lock.
  package mutating func claimAll() -> [Node] {
    var claimed: [Node] = []
    while let node = claimFirst() { claimed.append(node) }
    return claimed
  }

  /// Whether a node meets the condition. O(n).
  func contains(where condition: (Node) -> Bool) -> Bool {
    var next = first
    while let node = next {
      if condition(unsafeDowncast(node, to: Node.self)) { return true }
      next = node.next
    }
    return false
  }
}
