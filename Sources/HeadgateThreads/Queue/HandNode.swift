import Synchronization

/// The node of a caller that waits at a rendezvous. The subclass `Hand` adds space for the element.
// Unchecked: links, waiter and element are guarded by the rendezvous's lock while the node is listed. Once it is
// removed and `state` has changed, they belong to the node's owner.
@usableFromInline class HandNode: @unchecked Sendable {
  @usableFromInline enum State: UInt8 {
    case waiting, done, closed
  }

  private let state = AtomicCell<UInt8>(State.waiting.rawValue)
  /// The sleeping waiter; nil while the owner of the node still spins.
  var waiter: Waiter?
  fileprivate(set) var isListed = false
  // The owner retains the node and removes it from its list before releasing it.
  fileprivate unowned(unsafe) var next: HandNode?
  fileprivate unowned(unsafe) var previous: HandNode?

  @usableFromInline init() {}

  @usableFromInline var outcome: State { State(rawValue: state.load(ordering: .acquiring)) ?? .waiting }

  /// After this call only the node's owner may access it.
  func end(_ outcome: State) { state.store(outcome.rawValue, ordering: .releasing) }
}

/// A node with the element that its owner puts, or with space for the one that it takes.
// Unchecked: like its superclass.
@usableFromInline final class Hand<Element: ~Copyable>: HandNode, @unchecked Sendable {
  @usableFromInline var element: Element?

  @usableFromInline init(_ element: consuming Element? = nil) { self.element = element }

  /// Resets the node after it was removed from its list.
  func renew() { end(.waiting) }

  /// Casts the node of a partner at the same queue.
  @inlinable
  static func of(_ node: HandNode) -> Hand<Element> { unsafeDowncast(node, to: Hand<Element>.self) }
}

/// Nodes in order of arrival. Every call is made under the rendezvous's lock and is O(1), except `hasPartner`.
struct HandList {
  private unowned(unsafe) var first: HandNode?
  private unowned(unsafe) var last: HandNode?
  /// The number of nodes.
  private(set) var count = 0

  /// Whether there is a node that belongs to a different wait: a select may stand in both lists of one queue.
  func hasPartner(for waiter: Waiter?) -> Bool {
    var node = first
    while let partner = node {
      guard let waiter, let other = partner.waiter, other.isSameWait(as: waiter) else { return true }
      node = partner.next
    }
    return false
  }

  mutating func append(_ node: HandNode) {
    node.isListed = true
    node.previous = last
    if let last { last.next = node } else { first = node }
    last = node
    count += 1
  }

  /// Removes a node from any position. Has no effect if it was removed before.
  mutating func remove(_ node: HandNode) {
    guard node.isListed else { return }
    node.isListed = false
    let (next, previous) = (node.next, node.previous)
    if let next { next.previous = previous } else { last = previous }
    if let previous { previous.next = next } else { first = next }
    node.next = nil
    node.previous = nil
    count -= 1
  }

  /// Removes and returns the first node whose wait has not ended.
  mutating func claimFirst() -> HandNode? {
    while let node = first {
      remove(node)
      guard let waiter = node.waiter else { return node }
      if waiter.claim(.woken) { return node }
    }
    return nil
  }
}
