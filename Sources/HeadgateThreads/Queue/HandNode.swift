import Synchronization

/// One who waits at a rendezvous, with room for the element that is handed over: what a putter brought, or where a
/// taker wants it.
///
/// The links, the waiter and the element belong to the lock of the rendezvous as long as the node is listed. Once it was
/// taken out and `state` has changed, they belong to who made the node.
@usableFromInline
struct HandNode: ~Copyable {
  @usableFromInline enum State: UInt8 {
    case waiting, done, closed
  }

  private let state = AtomicCell<UInt8>(State.waiting.rawValue)
  /// Where the element stands: behind the node.
  @usableFromInline let element: UnsafeMutableRawPointer
  /// Who sleeps; nil while the maker of the node still looks at `state`.
  var waiter: Waiter?
  fileprivate(set) var isListed = false
  fileprivate var next: UnsafeMutablePointer<HandNode>?
  fileprivate var previous: UnsafeMutablePointer<HandNode>?

  private init(element: UnsafeMutableRawPointer) { self.element = element }

  static func make(stride: Int, alignment: Int) -> UnsafeMutablePointer<HandNode> {
    let alignment = max(MemoryLayout<HandNode>.alignment, alignment)
    let offset = (MemoryLayout<HandNode>.size + alignment - 1) / alignment * alignment
    let memory = UnsafeMutableRawPointer.allocate(byteCount: offset + stride, alignment: alignment)
    return memory.initializeMemory(as: HandNode.self, to: HandNode(element: memory + offset))
  }

  /// Ends a node whose element was moved out, or never came.
  @usableFromInline
  static func free(_ node: UnsafeMutablePointer<HandNode>) {
    node.deinitialize(count: 1)
    UnsafeMutableRawPointer(node).deallocate()
  }

  var outcome: State { State(rawValue: state.load(ordering: .acquiring)) ?? .waiting }

  /// The last touch by anybody but its maker.
  func end(_ outcome: State) { state.store(outcome.rawValue, ordering: .releasing) }
}

/// Nodes in the order of their arrival. Every call is O(1) and made under the lock of the rendezvous.
struct HandList {
  private var first: UnsafeMutablePointer<HandNode>?
  private var last: UnsafeMutablePointer<HandNode>?
  /// How many wait.
  private(set) var count = 0

  var isEmpty: Bool { first == nil }

  mutating func append(_ node: UnsafeMutablePointer<HandNode>) {
    node.pointee.isListed = true
    node.pointee.previous = last
    if let last { last.pointee.next = node } else { first = node }
    last = node
    count += 1
  }

  /// Takes one out, wherever it stands; nothing happens if it was taken out before.
  mutating func remove(_ node: UnsafeMutablePointer<HandNode>) {
    guard node.pointee.isListed else { return }
    node.pointee.isListed = false
    let (next, previous) = (node.pointee.next, node.pointee.previous)
    if let next { next.pointee.previous = previous } else { last = previous }
    if let previous { previous.pointee.next = next } else { first = next }
    node.pointee.next = nil
    node.pointee.previous = nil
    count -= 1
  }

  /// Takes out the first that has not given up.
  mutating func claimFirst() -> UnsafeMutablePointer<HandNode>? {
    while let node = first {
      remove(node)
      guard let waiter = node.pointee.waiter else { return node }
      if waiter.claim(.woken) { return node }
    }
    return nil
  }
}
