/// What waits in a pool: one ring a priority, the higher served first, first in, first out within each.
struct PoolQueue: ~Copyable {
  // Memory of its own, so that a ring is reached without a copy or a check; freed in deinit.
  private let rings: UnsafeMutablePointer<EntryRing>
  // A bit for each level whose ring has something.
  private var levels: UInt8 = 0
  /// How many entries there are, those included that were cancelled and not yet passed by.
  private(set) var count = 0
  /// How many entries, here or in a worker's hands, belong to jobs that have ended while they waited.
  var dead = 0

  init(start: Int = 0) {
    rings = .allocate(capacity: PoolPriority.levels)
    rings.initialize(repeating: EntryRing(start: start), count: PoolPriority.levels)
  }

  deinit {
    for level in 0..<PoolPriority.levels {
      while rings[level].popFirst() != nil {}
      rings[level].free()
    }
    rings.deallocate()
  }

  mutating func append(_ entry: PoolEntry, level: Int) {
    rings[level].append(entry)
    levels |= 1 << UInt8(truncatingIfNeeded: level)
    count += 1
  }

  /// Puts back what is older than all others of its level.
  mutating func prepend(_ entry: consuming PoolEntry, level: Int) {
    rings[level].prepend(entry)
    levels |= 1 << UInt8(truncatingIfNeeded: level)
    count += 1
  }

  /// Moves the oldest of the highest priority to `destination`, at most `limit`. Their number (0: nothing waits) and level.
  mutating func take(_ limit: Int, to destination: UnsafeMutablePointer<PoolEntry>) -> (count: Int, level: Int) {
    guard levels != 0 else { return (0, 0) }
    let level = 7 - levels.leadingZeroBitCount
    let number = rings[level].moveFirst(limit, to: destination)
    count -= number
    noteEmpty(level)
    return (number, level)
  }

  /// Takes the oldest of the highest priority.
  mutating func popFirst() -> PoolEntry? {
    guard levels != 0 else { return nil }
    let level = 7 - levels.leadingZeroBitCount
    return taken(rings[level].popFirst(), level)
  }

  /// Takes the oldest of the lowest priority, which must not be above `limit`: what gives way to a new task. Pieces of
  /// Swift tasks stay.
  mutating func popOldestOfLowest(notAbove limit: Int) -> PoolEntry? {
    var level = 0
    while level <= limit {
      if levels & (1 << UInt8(level)) != 0 {
        let entry = rings[level].removeFirst { entry in
          switch entry {
          case .closure: true
          // A job that has ended holds no place, so that dropping it would make none.
          case .job(let job): job.isQueued
          case .executorJob: false
          }
        }
        if let entry { return taken(entry, level) }
      }
      level += 1
    }
    return nil
  }

  /// Takes the newest of a level back that `matches`.
  mutating func removeLast(level: Int, where matches: (PoolEntry) -> Bool) -> PoolEntry? {
    taken(rings[level].removeLast(where: matches), level)
  }

  /// Takes out the entries of jobs that have ended, once they are the majority of many; the caller lets go of them.
  mutating func sweep() -> [PoolEntry] {
    guard dead > 64, dead > count / 2 else { return [] }
    var swept: [PoolEntry] = []
    for level in 0..<PoolPriority.levels {
      for _ in 0..<rings[level].count {
        guard let entry = rings[level].popFirst() else { break }
        if case .job(let job) = entry, !job.isQueued {
          swept.append(entry)
        } else {
          rings[level].append(entry)
        }
      }
      noteEmpty(level)
    }
    count -= swept.count
    dead -= swept.count
    return swept
  }

  /// Takes everything out, where all that is left has ended.
  mutating func takeAll() -> [PoolEntry] {
    var entries: [PoolEntry] = []
    while let entry = popFirst() { entries.append(entry) }
    dead -= entries.count
    return entries
  }

  /// Gives the memory back of rings that are empty and large.
  mutating func trim() {
    for level in 0..<PoolPriority.levels where rings[level].isEmpty && rings[level].capacity > 1024 {
      rings[level].free()
    }
  }

  private mutating func taken(_ entry: consuming PoolEntry?, _ level: Int) -> PoolEntry? {
    if entry != nil { count -= 1 }
    noteEmpty(level)
    return entry
  }

  private mutating func noteEmpty(_ level: Int) {
    if rings[level].isEmpty { levels &= ~(1 << UInt8(truncatingIfNeeded: level)) }
  }
}
