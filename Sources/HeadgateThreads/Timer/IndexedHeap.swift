// A 4-ary min-heap whose entries can be removed by handle. D. B. Johnson, "Priority queues with update and finding
// minimum spanning trees" (1975). Four children per node keep siblings on one cache line and halve the depth of a
// binary heap.

/// A priority queue: `insert` and `remove` in O(log n), `min` in O(1). The order of equal keys is unspecified: add a
/// sequence number to the key where it matters.
package struct IndexedHeap<Key: Comparable> {
  /// Identifies an entry from `insert` until it leaves the heap. Handles are reused afterwards.
  package typealias Handle = Int32

  package struct Entry {
    package var key: Key
    package var handle: Handle
  }

  private(set) var entries: [Entry] = []
  // For a handle in use: the index of its entry. For a free one: -2 minus the next free handle; -1 ends the list.
  private(set) var places: [Int32] = []
  private(set) var firstFree: Int32 = -1

  package init() {}

  package var count: Int { entries.count }
  package var isEmpty: Bool { entries.isEmpty }
  package var min: Entry? { entries.first }

  package mutating func insert(_ key: Key) -> Handle {
    let handle: Handle
    if firstFree >= 0 {
      handle = firstFree
      firstFree = -2 - places[Int(handle)]
    } else {
      handle = Handle(places.count)
      places.append(0)
    }
    entries.append(Entry(key: key, handle: handle))
    siftUp(from: entries.count - 1)
    return handle
  }

  /// Removes an entry. The handle must be in use.
  @discardableResult
  package mutating func remove(_ handle: Handle) -> Key {
    let place = Int(places[Int(handle)])
    let key = entries[place].key
    let last = entries.removeLast()
    if place < entries.count {
      entries[place] = last
      places[Int(last.handle)] = Int32(place)
      if last.key < key { siftUp(from: place) } else { siftDown(from: place) }
    }
    places[Int(handle)] = -2 - firstFree
    firstFree = handle
    if entries.isEmpty { releaseMemory() }
    return key
  }

  private mutating func releaseMemory() {
    // A heap that once held a million entries must not keep their memory forever.
    guard places.count > 1024 else { return }
    entries = []
    places = []
    firstFree = -1
  }

  private mutating func siftUp(from start: Int) {
    var place = start
    let moving = entries[place]
    while place > 0 {
      let parent = (place - 1) / 4
      guard moving.key < entries[parent].key else { break }
      put(entries[parent], at: place)
      place = parent
    }
    put(moving, at: place)
  }

  private mutating func siftDown(from start: Int) {
    var place = start
    let moving = entries[place]
    while true {
      let first = 4 * place + 1
      guard first < entries.count else { break }
      var least = first
      for child in (first + 1)..<Swift.max(first + 1, Swift.min(first + 4, entries.count))
      where entries[child].key < entries[least].key {
        least = child
      }
      guard entries[least].key < moving.key else { break }
      put(entries[least], at: place)
      place = least
    }
    put(moving, at: place)
  }

  private mutating func put(_ entry: Entry, at place: Int) {
    entries[place] = entry
    places[Int(entry.handle)] = Int32(place)
  }
}

extension IndexedHeap: Sendable where Key: Sendable {}
extension IndexedHeap.Entry: Sendable where Key: Sendable {}
