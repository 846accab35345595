import HeapModule

/// A min-heap of elements; equal keys leave in FIFO order. O(log n).
struct ElementHeap<Key: Comparable, Element: ~Copyable> {
  // `Heap` does not support noncopyable elements, so each is boxed in an object.
  private final class Box {
    var element: Element?
    init(_ element: consuming Element) { self.element = consume element }
  }

  private struct Entry: Comparable {
    let key: Key
    let sequence: UInt64
    let box: Box

    static func < (left: Entry, right: Entry) -> Bool {
      if left.key < right.key { return true }
      if right.key < left.key { return false }
      return left.sequence < right.sequence
    }

    static func == (left: Entry, right: Entry) -> Bool { left.sequence == right.sequence }
  }

  private var heap = Heap<Entry>()
  private var nextSequence: UInt64 = 0

  var count: Int { heap.count }
  var least: Key? { heap.min?.key }

  mutating func insert(_ element: consuming Element, _ key: Key) {
    heap.insert(Entry(key: key, sequence: nextSequence, box: Box(element)))
    nextSequence += 1
  }

  /// Removes and returns the first element.
  mutating func removeFirst() -> Element? {
    defer { if heap.isEmpty { heap = Heap() } }
    return heap.popMin()?.box.element.take()
  }
}
