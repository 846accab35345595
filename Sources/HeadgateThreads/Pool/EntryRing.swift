/// A first-in, first-out queue of entries in a ring that doubles when it is full.
///
/// Rejected: an Array with a moving start, which copies as much again, and linked blocks, which cost an allocation for
/// every few dozen tasks. A ring that has grown large is given back when its pool falls idle.
struct EntryRing {
  private var memory: UnsafeMutablePointer<PoolEntry>?
  private var mask = -1
  // They count on past the end of Int and wrap there: only their difference and their low bits are used.
  private var head: Int
  private var tail: Int

  /// An empty ring, whose counters start where a test wants them to.
  init(start: Int = 0) {
    head = start
    tail = start
  }

  var count: Int { tail &- head }
  var isEmpty: Bool { tail == head }
  var capacity: Int { mask + 1 }

  mutating func append(_ entry: PoolEntry) {
    if count > mask { grow() }
    // `grow` has made room.
    memory.unsafelyUnwrapped.advanced(by: tail & mask).initialize(to: entry)
    tail &+= 1
  }

  mutating func prepend(_ entry: consuming PoolEntry) {
    if count > mask { grow() }
    head &-= 1
    memory.unsafelyUnwrapped.advanced(by: head & mask).initialize(to: entry)
  }

  mutating func popFirst() -> PoolEntry? {
    guard head != tail, let memory else { return nil }
    defer { head &+= 1 }
    return memory.advanced(by: head & mask).move()
  }

  /// Moves the oldest to `destination`, at most `limit` of them, and returns how many.
  mutating func moveFirst(_ limit: Int, to destination: UnsafeMutablePointer<PoolEntry>) -> Int {
    guard let memory else { return 0 }
    let number = min(limit, count)
    let start = head & mask
    let beforeEnd = min(number, capacity - start)
    destination.moveInitialize(from: memory + start, count: beforeEnd)
    (destination + beforeEnd).moveInitialize(from: memory, count: number - beforeEnd)
    head &+= number
    return number
  }

  /// Takes out the newest entry that `matches`, and closes the gap. O(n).
  mutating func removeLast(where matches: (PoolEntry) -> Bool) -> PoolEntry? {
    var kept: [PoolEntry] = []
    defer { while let entry = kept.popLast() { append(entry) } }
    while let entry = popLast() {
      if matches(entry) { return entry }
      kept.append(entry)
    }
    return nil
  }

  /// Takes out the oldest entry that `matches`, and closes the gap. O(n), O(1) when it is the first.
  mutating func removeFirst(where matches: (PoolEntry) -> Bool) -> PoolEntry? {
    var kept: [PoolEntry] = []
    defer { while let entry = kept.popLast() { prepend(entry) } }
    while let entry = popFirst() {
      if matches(entry) { return entry }
      kept.append(entry)
    }
    return nil
  }

  private mutating func popLast() -> PoolEntry? {
    guard head != tail, let memory else { return nil }
    tail &-= 1
    return memory.advanced(by: tail & mask).move()
  }

  @inline(never)
  private mutating func grow() {
    let larger = max(64, capacity * 2)
    let target = UnsafeMutablePointer<PoolEntry>.allocate(capacity: larger)
    let number = moveFirst(count, to: target)
    memory?.deallocate()
    memory = target
    mask = larger - 1
    head = 0
    tail = number
  }

  /// Gives the memory back. The ring must be empty.
  mutating func free() {
    memory?.deallocate()
    memory = nil
    mask = -1
    head = 0
    tail = 0
  }
}
