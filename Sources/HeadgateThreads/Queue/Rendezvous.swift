// A queue of capacity 0: a put and a take meet, and the element passes directly from one to the other. R. Cox and
// others, the unbuffered channel of Go (runtime/chan.go): one lock, one list for each side, a direct hand-off.
//
// Rejected: the lock-free dual queue (W. Scherer, D. Lea, M. L. Scott, "Scalable Synchronous Queues", 2006; Java's
// SynchronousQueue). It is faster with dozens of processors that arrive at once. Here two threads meet and one cache
// line moves between them. The nodes of callers that gave up would also remain in a dual queue.

import Synchronization

/// The non-generic part of a rendezvous. The generic callers move elements in and out of the nodes.
// Unchecked: all mutable state is accessed only under `lock`.
@usableFromInline final class Rendezvous: @unchecked Sendable {
  let name: String
  private let memory: UnsafeMutableRawPointer
  private let lock: UnsafeMutablePointer<Lock>
  fileprivate let putSpin: AdaptiveSpin
  fileprivate let takeSpin: AdaptiveSpin
  fileprivate var putters = NodeList<HandNode>()
  fileprivate var takers = NodeList<HandNode>()
  fileprivate var wasClosed = false
  private let isListed = Atomic(false)

  init(name: String) {
    self.name = name
    memory = .allocate(byteCount: 256, alignment: 128)
    lock = memory.initializeMemory(as: Lock.self, to: Lock())
    putSpin = AdaptiveSpin(at: memory + 128)
    takeSpin = AdaptiveSpin(at: memory + 128 + 64)
  }

  deinit {
    putSpin.destroy()
    takeSpin.destroy()
    lock.deinitialize(count: 1)
    memory.deallocate()
  }

  fileprivate func locked<Value>(_ body: () -> Value) -> Value {
    lock.pointee.lock()
    defer { lock.pointee.unlock() }
    return body()
  }

  /// Whether the rendezvous is closed.
  var isClosed: Bool { locked { wasClosed } }

  /// The numbers of waiting takers and putters.
  var waitingCounts: (takers: Int, putters: Int) { locked { (takers.count, putters.count) } }

  var summary: QueueSummary {
    QueueSummary(name: name, capacity: 0, count: 0, waiting: waitingCounts, isClosed: isClosed)
  }

  fileprivate func enterDumps() { QueueRegistry.add(key, isListed, .rendezvous(self)) }

  /// Removes it from dumps, which may hold a reference, before its queue is freed.
  func leaveDumps() { QueueRegistry.remove(key, isListed) }

  private var key: UInt { UInt(bitPattern: memory) }

  /// Looks for a partner for a put or a take. If there is one, the caller moves the element and then calls `handOver`.
  /// If not, the caller's node joins its list under the same hold of the lock. Taking the lock again for it, when the
  /// partner may just have come, cost a third of the rate between two threads.
  @usableFromInline
  func meet(_ operation: QueueWait.Operation, _ own: HandNode? = nil) -> Passage {
    lock.pointee.lock()
    if !wasClosed, let node = operation == .put ? takers.claimFirst() : putters.claimFirst() {
      if node.waiter != nil { (operation == .put ? putSpin : takeSpin).noteProcessor() }
      return .partner(node)
    }
    defer { lock.pointee.unlock() }
    // `close` has already sent the waiting putters away with their elements.
    if wasClosed { return .closed }
    if let own { append(own, operation) }
    return .blocked
  }

  fileprivate func append(_ node: HandNode, _ operation: QueueWait.Operation) {
    if operation == .put { putters.append(node) } else { takers.append(node) }
  }

  /// Completes a hand-off after the element was moved into or out of the partner's node.
  @usableFromInline
  func handOver(_ node: HandNode) {
    let waiter = node.waiter
    // If the node's owner is still spinning, it may free the node right after this.
    node.end()
    lock.pointee.unlock()
    waiter?.wake()
  }

  /// Refuses all current waiters and all later callers.
  func close() {
    lock.pointee.lock()
    wasClosed = true
    var sleepers: [Waiter] = []
    while let node = putters.claimFirst() ?? takers.claimFirst() {
      if let waiter = node.waiter { sleepers.append(waiter) }
      node.end()
    }
    lock.pointee.unlock()
    for waiter in sleepers { waiter.wake() }
  }
}

/// One node and its list.
struct HandLine: QueueLine {
  let rendezvous: Rendezvous
  let node: HandNode
  let operation: QueueWait.Operation

  var name: String { rendezvous.name }

  func enterDumps() { rendezvous.enterDumps() }

  func spin() -> Bool {
    // The node is listed before it spins, so that a partner need not wake it.
    let passage = rendezvous.meet(operation, node)
    guard case .blocked = passage else {
      if case .partner(let partner) = passage { node.partner = partner }
      return true
    }
    let (putSpin, takeSpin) = (rendezvous.putSpin, rendezvous.takeSpin)
    let (own, other) = operation == .put ? (putSpin, takeSpin) : (takeSpin, putSpin)
    return own.spin(for: other) { node.hasEnded }
  }

  func lineUp(_ waiter: Waiter, first: Bool) -> Deadline? {
    rendezvous.locked {
      if !node.isListed {
        let partners = operation == .put ? rendezvous.takers : rendezvous.putters
        // A partner has found the node while it spun, or there is one to meet.
        guard !node.hasEnded, !rendezvous.wasClosed, !partners.contains(where: { $0.isPartner(for: waiter) }) else {
          return nil
        }
        rendezvous.append(node, operation)
      }
      node.waiter = waiter
      return .distantFuture
    }
  }

  func leave(_ waiter: Waiter, _ outcome: Waiter.Outcome) -> Bool {
    // At its deadline a caller may see that it was claimed while the partner is still moving the element. The partner
    // does that under this lock too.
    rendezvous.locked {
      node.waiter = nil
      return operation == .put ? rendezvous.putters.remove(node) : rendezvous.takers.remove(node)
    }
  }

  // A partner hands its element to the node that it wakes, so there is nothing to pass on.
  func passOn() {}
}

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
