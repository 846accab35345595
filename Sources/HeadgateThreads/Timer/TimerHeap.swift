// A 4-ary min-heap of plain entries that are removed only at the top. Cancelled entries remain until a sweep. D. B.
// Johnson, "Priority queues with update and finding minimum spanning trees" (1975). The sweep is that of the timers in
// Go 1.14 and later (runtime/time.go, cleantimers and adjusttimers); the rebuilding is R. W. Floyd's "Algorithm 245:
// Treesort 3" (1964).
//
// Rejected: an index of each entry's position, as in `IndexedHeap`. It makes a cancel O(log n), and every move in the
// heap writes to a second, random place in memory: with a million timers that is most of the cost. Also rejected: the
// heap of swift-collections, which `ElementHeap` uses. It is double-ended, and so takes a third more time per timer.

/// One timer's entry in the order of calls.
package struct TimerEntry: Sendable {
  package var deadline: UInt64
  package var sequence: UInt64
  package var slot: Int32

  package init(deadline: UInt64, sequence: UInt64, slot: Int32) {
    self.deadline = deadline
    self.sequence = sequence
    self.slot = slot
  }

  /// Orders by deadline, then by the order of scheduling. No two entries are equal.
  package func comes(before other: TimerEntry) -> Bool {
    deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence
  }
}

/// The entries by deadline: `push` in O(1) on average and O(log n) in the worst case, `popMin` in O(log n).
package struct TimerHeap: ~Copyable {
  private var entries: UnsafeMutablePointer<TimerEntry>
  private var capacity: Int
  package private(set) var count = 0

  package init() {
    capacity = 16
    entries = .allocate(capacity: capacity)
  }

  deinit { entries.deallocate() }

  /// The first entry; nil if there is none.
  package var min: TimerEntry? { count > 0 ? entries[0] : nil }

  package mutating func push(_ entry: TimerEntry) {
    if count == capacity { resize(to: capacity * 2) }
    count += 1
    siftUp(entry, from: count - 1)
  }

  /// Adds many entries at once, in O(n) if they are at least as many as those present.
  package mutating func push(contentsOf new: [TimerEntry]) {
    if new.count < count {
      for entry in new { push(entry) }
    } else {
      append(new)
      rebuild()
    }
  }

  /// Removes the first entry. The heap must not be empty.
  package mutating func popMin() {
    count -= 1
    if count > 0 { siftDown(entries[count], from: 0) }
    if capacity > 1024, count < capacity / 8 { resize(to: capacity / 4) }
  }

  /// Adds `new`, and removes all entries whose slot is marked. O(n).
  package mutating func sweep(adding new: [TimerEntry], dropping marks: TimerSlots.Marks) {
    append(new)
    var kept = 0
    for place in 0..<count where !marks.contains(entries[place].slot) {
      entries[kept] = entries[place]
      kept += 1
    }
    count = kept
    if capacity > 1024, count < capacity / 8 { resize(to: Swift.max(16, count * 2)) }
    rebuild()
  }

  private mutating func append(_ new: [TimerEntry]) {
    if capacity - count < new.count { resize(to: Swift.max(capacity * 2, count + new.count)) }
    new.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { (entries + count).update(from: base, count: source.count) }
    }
    count += new.count
  }

  private mutating func rebuild() {
    guard count > 1 else { return }
    for place in stride(from: (count - 2) / 4, through: 0, by: -1) { siftDown(entries[place], from: place) }
  }

  private mutating func resize(to new: Int) {
    let larger = UnsafeMutablePointer<TimerEntry>.allocate(capacity: new)
    larger.update(from: entries, count: count)
    entries.deallocate()
    entries = larger
    capacity = new
  }

  private mutating func siftUp(_ moving: TimerEntry, from start: Int) {
    var place = start
    while place > 0 {
      let parent = (place - 1) / 4
      guard moving.comes(before: entries[parent]) else { break }
      entries[place] = entries[parent]
      place = parent
    }
    entries[place] = moving
  }

  private mutating func siftDown(_ moving: TimerEntry, from start: Int) {
    var place = start
    while true {
      let first = 4 * place + 1
      guard first < count else { break }
      var least = first
      let end = Swift.min(first + 4, count)
      var child = first + 1
      while child < end {
        if entries[child].comes(before: entries[least]) { least = child }
        child += 1
      }
      guard entries[least].comes(before: moving) else { break }
      entries[place] = entries[least]
      place = least
    }
    entries[place] = moving
  }

  /// For tests: whether the heap order holds.
  package var isOrdered: Bool {
    for place in 1..<Swift.max(1, count) where entries[place].comes(before: entries[(place - 1) / 4]) { return false }
    return true
  }
}

// The heap owns its memory, and a noncopyable value has one owner at a time.
extension TimerHeap: @unchecked Sendable {}
