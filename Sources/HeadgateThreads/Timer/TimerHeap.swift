import HeapModule

/// One timer's entry in the order of calls.
struct TimerEntry: Comparable, Sendable {
  var deadline: UInt64
  var sequence: UInt64
  var slot: Int32

  /// Orders by deadline, then by the order of scheduling. No two entries are equal.
  static func < (left: TimerEntry, right: TimerEntry) -> Bool {
    left.deadline != right.deadline ? left.deadline < right.deadline : left.sequence < right.sequence
  }
}

/// The entries by deadline, in the heap of swift-collections. Entries are removed only at the top: cancelled ones remain
/// until a sweep, like those of the timers in Go 1.14 and later (runtime/time.go, cleantimers and adjusttimers).
///
/// Rejected: an index of each entry's position, as in `IndexedHeap`. It makes a cancel O(log n), and every move in the
/// heap writes to a second, random place in memory: with a million timers that is most of the cost.
struct TimerHeap: Sendable {
  private var heap = Heap<TimerEntry>()
  // The most entries since memory was last freed.
  private var most = 0

  var count: Int { heap.count }

  /// The first entry; nil if there is none.
  var min: TimerEntry? { heap.min }

  /// Adds an entry. O(1) on average.
  mutating func push(_ entry: TimerEntry) { heap.insert(entry) }

  /// Adds many entries at once, in O(n) if they are at least as many as those present.
  mutating func push(contentsOf new: [TimerEntry]) { heap.insert(contentsOf: new) }

  /// Removes the first entry. The heap must not be empty. O(log n).
  mutating func popMin() {
    most = max(most, heap.count)
    heap.removeMin()
    // A heap that once held a million entries must not keep their memory forever.
    if most > 1024, heap.count < most / 8 { rebuild(from: heap.unordered) }
  }

  /// Adds `new`, and removes all entries whose slot is marked. O(n).
  mutating func sweep(adding new: [TimerEntry], dropping marks: TimerSlots.Marks) {
    rebuild(from: (heap.unordered + new).filter { !marks.contains($0.slot) })
  }

  private mutating func rebuild(from entries: [TimerEntry]) {
    heap = Heap(entries)
    most = entries.count
  }
}
