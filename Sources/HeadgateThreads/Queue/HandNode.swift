import Synchronization

/// The node of a caller that waits at a rendezvous. The subclass `Hand` adds space for the element.
// Unchecked: waiter and element are guarded by the rendezvous's lock while the node is listed. Once it is removed and
// it has ended, they belong to the node's owner.
@usableFromInline class HandNode: ListNode, @unchecked Sendable {
  private let ended = AtomicCell<Bool>(false)
  /// The sleeping waiter; nil while the owner of the node still spins.
  var waiter: Waiter?
  /// The node of the partner that the owner has found, and with which it must complete a hand-off.
  @usableFromInline var partner: HandNode?

  @usableFromInline override init() {}

  override func claim() -> Bool { waiter?.claim(.woken) ?? true }

  /// Whether it belongs to a different wait: a select may stand in both lists of one queue.
  func isPartner(for waiter: Waiter?) -> Bool {
    guard let waiter, let own = self.waiter else { return true }
    return !own.isSameWait(as: waiter)
  }

  /// Whether a partner has found it, or the rendezvous was closed.
  var hasEnded: Bool { ended.load(ordering: .acquiring) }

  /// After this call only the node's owner may access it.
  func end() { ended.store(true, ordering: .releasing) }

  /// Resets the node after it was removed from its list.
  func renew() { ended.store(false, ordering: .relaxed) }
}

/// A node with the element that its owner puts, or with space for the one that it takes.
// Unchecked: like its superclass.
@usableFromInline final class Hand<Element: ~Copyable>: HandNode, @unchecked Sendable {
  @usableFromInline var element: Element?

  @inlinable init(_ element: consuming Element? = nil) { self.element = element }

  /// Casts the node of a partner at the same queue.
  @inlinable
  static func of(_ node: HandNode) -> Hand<Element> { unsafeDowncast(node, to: Hand<Element>.self) }
}
