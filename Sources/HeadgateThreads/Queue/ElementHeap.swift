/// A heap of elements, the least key first, equal keys in the order of their arrival. O(log n); elements never move.
struct ElementHeap<Key: Comparable, Element: ~Copyable>: ~Copyable {
  private struct Rank: Comparable {
    var key: Key
    var sequence: UInt64

    static func < (left: Rank, right: Rank) -> Bool {
      if left.key < right.key { return true }
      if right.key < left.key { return false }
      return left.sequence < right.sequence
    }
  }

  private var heap = IndexedHeap<Rank>()
  private var nextSequence: UInt64 = 0
  // Where an element stands: at its handle's number.
  private var slots: UnsafeMutablePointer<Element>
  private var capacity: Int

  init() {
    capacity = 8
    slots = .allocate(capacity: capacity)
  }

  deinit {
    var rest = heap
    while let first = rest.min {
      rest.remove(first.handle)
      (slots + Int(first.handle)).deinitialize(count: 1)
    }
    slots.deallocate()
  }

  var count: Int { heap.count }
  var least: Key? { heap.min?.key.key }

  mutating func insert(_ element: consuming Element, _ key: Key) {
    let handle = Int(heap.insert(Rank(key: key, sequence: nextSequence)))
    nextSequence += 1
    if handle == capacity { grow(moving: handle) }
    (slots + handle).initialize(to: element)
  }

  /// Takes out the first element.
  mutating func removeFirst() -> Element? {
    guard let first = heap.min else { return nil }
    heap.remove(first.handle)
    let element = (slots + Int(first.handle)).move()
    if heap.isEmpty, capacity > 1024 {
      // A heap that held a million elements once must not hold their memory for ever.
      slots.deallocate()
      capacity = 8
      slots = .allocate(capacity: capacity)
    }
    return element
  }

  private mutating func grow(moving count: Int) {
    // A new handle comes only when all others are in use: every slot has an element.
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: 2 * capacity)
    larger.moveInitialize(from: slots, count: count)
    slots.deallocate()
    slots = larger
    capacity *= 2
  }
}
