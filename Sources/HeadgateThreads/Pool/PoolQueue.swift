import Synchronization

/// A pool's queue: the end where tasks are added, under the pool's lock. They are taken at its ``outlet``.
struct PoolQueue: ~Copyable {
  let outlet: PoolOutlet
  /// The number of entries ever added.
  private(set) var appended = 0

  // Separate memory, so that a ring is accessed without a copy or an exclusivity check. Freed in deinit.
  private let rings: UnsafeMutablePointer<PoolRing>
  // A copy of `outlet.levels`, to avoid reading a word that takers use.
  private var levels: UInt8 = 0

  /// - Parameter start: The initial value of the counters, to test their wrap-around.
  init(start: Int = 0) {
    outlet = PoolOutlet(start: start)
    rings = .allocate(capacity: PoolPriority.levels)
    rings.initialize(repeating: PoolRing(head: start, tail: start), count: PoolPriority.levels)
  }

  deinit { rings.deallocate() }

  /// The number of entries, including those of jobs that have ended or started elsewhere. It never undercounts the
  /// queued tasks, whatever is taken or cancelled at the same time, so it decides whether a worker is needed.
  var count: Int { appended &- outlet.taken.load(ordering: .acquiring) }

  /// The number of tasks that wait for a worker. An approximation while others cancel tasks.
  var live: Int { max(0, count - max(0, outlet.stale.load(ordering: .acquiring))) }

  mutating func append(_ entry: PoolEntry, level: Int) {
    let ring = rings + level
    if ring.pointee.tail &- ring.pointee.head > ring.pointee.mask { makeRoom(level) }
    // `makeRoom` has ensured that there is memory.
    (ring.pointee.memory.unsafelyUnwrapped + (ring.pointee.tail & ring.pointee.mask)).initialize(to: entry)
    ring.pointee.tail &+= 1
    outlet.publish(ring.pointee.tail, level: level)
    appended &+= 1
    let bit: UInt8 = 1 << UInt8(truncatingIfNeeded: level)
    if levels & bit == 0 {
      levels |= bit
      outlet.levels.store(levels, ordering: .releasing)
    }
  }

  /// Takes the oldest entry of the highest priority. Returns nil if there is none; then there is none until the next
  /// `append`.
  func take() -> PoolEntry? { outlet.take() }

  /// Called after `take` has found nothing, so that the next `append` sets its level's bit again.
  mutating func rest() {
    guard levels != 0 else { return }
    levels = 0
    outlet.levels.store(0, ordering: .releasing)
  }

  /// Frees the memory of large empty rings.
  func trim() {
    for level in 0..<PoolPriority.levels where rings[level].mask >= 1024 { free(level) }
  }

  /// Takes the oldest entry of the lowest priority that is not above `limit`, to make room for a new task. Jobs of
  /// Swift tasks stay. Jobs that have ended do not count towards the bound, so dropping one would not make room: those
  /// before the entry are removed in passing, so that no later call passes them again.
  func popOldestOfLowest(notAbove limit: Int) -> (oldest: PoolEntry?, ended: [PoolEntry]) {
    var ended: [PoolEntry] = []
    for level in 0...limit {
      var isFound = false
      var found = outlet.remove(level: level) { entry in
        switch entry {
        case .closure: isFound = true
        case .job(let job): isFound = job.isQueued
        case .executorJob: return .keep
        }
        return isFound ? .removeLast : .remove
      }
      let oldest = isFound ? found.popLast() : nil
      ended += found
      if let oldest { return (oldest, ended) }
    }
    return (nil, ended)
  }

  /// Removes an entry of a level.
  func withdraw(_ entry: PoolEntry, level: Int) -> PoolEntry? {
    outlet.remove(level: level) { $0.isSame(as: entry) ? .removeLast : .keep }.first
  }

  /// Removes the entries of jobs that have ended, once there are many of them and they are the majority. The caller
  /// releases them.
  func sweep() -> [PoolEntry] {
    let stale = outlet.stale.load(ordering: .acquiring)
    guard stale > 64, stale > count / 2 else { return [] }
    var swept: [PoolEntry] = []
    for level in 0..<PoolPriority.levels {
      swept += outlet.remove(level: level) { entry in
        if case .job(let job) = entry, !job.isQueued { .remove } else { .keep }
      }
    }
    outlet.stale.subtract(swept.count, ordering: .relaxed)
    return swept
  }

  // Takers may have made room since the last check. If they have made little, the ring doubles, so that checks stay
  // rare.
  @inline(never)
  private mutating func makeRoom(_ level: Int) {
    let ring = rings + level
    outlet.withRing(level) { taking in
      ring.pointee.head = taking.head
      let count = ring.pointee.tail &- taking.head
      let capacity = ring.pointee.mask + 1
      guard count > capacity / 2 || capacity == 0 else { return }
      let larger = max(256, capacity * 2)
      let memory = UnsafeMutablePointer<PoolEntry>.allocate(capacity: larger)
      if let old = taking.memory {
        for offset in 0..<count {
          let index = taking.head &+ offset
          (memory + (index & (larger - 1))).moveInitialize(from: old + (index & taking.mask), count: 1)
        }
        old.deallocate()
      }
      taking.memory = memory
      taking.mask = larger - 1
      ring.pointee.memory = memory
      ring.pointee.mask = larger - 1
    }
  }

  private func free(_ level: Int) {
    let ring = rings + level
    outlet.withRing(level) { taking in
      ring.pointee.head = taking.head
      guard ring.pointee.head == ring.pointee.tail else { return }
      taking.memory?.deallocate()
      taking.memory = nil
      taking.mask = -1
      ring.pointee.memory = nil
      ring.pointee.mask = -1
    }
  }
}

/// The end of a pool's queue where tasks are taken: one ring for each priority. Higher priorities are served first, in
/// FIFO order within each. Tasks are added at ``PoolQueue``.
///
/// Each end has its own lock, so that workers take tasks without the pool's lock. The ends share only how far each ring
/// is filled.
// Unchecked: `rings` points to separate memory that is accessed only under `lock` and in deinit.
final class PoolOutlet: @unchecked Sendable {
  /// One bit for each level that may be non-empty. Zero while a worker that found nothing rests.
  let levels = AtomicCell<UInt8>(0)
  /// The number of entries taken so far.
  let taken = AtomicCell<Int>(0)
  /// The number of entries, in the queue or in the hands of a worker that will skip them, whose jobs have ended or
  /// started elsewhere. It is updated a moment after the job's state, so it may briefly be negative.
  let stale = AtomicCell<Int>(0)

  private let lock = Locked(())
  private let rings: UnsafeMutablePointer<PoolRing>
  private let tails: UnsafeMutablePointer<AtomicCell<Int>>

  init(start: Int) {
    rings = .allocate(capacity: PoolPriority.levels)
    tails = .allocate(capacity: PoolPriority.levels)
    for level in 0..<PoolPriority.levels {
      (rings + level).initialize(to: PoolRing(head: start, tail: start))
      (tails + level).initialize(to: AtomicCell(start))
    }
  }

  deinit {
    while take() != nil {}
    for level in 0..<PoolPriority.levels { rings[level].memory?.deallocate() }
    rings.deallocate()
    tails.deinitialize(count: PoolPriority.levels)
    tails.deallocate()
  }

  /// Takes the oldest entry of the highest priority. Can be called from any thread.
  func take() -> PoolEntry? {
    lock.withLock { _ in
      var waiting = levels.load(ordering: .acquiring)
      while waiting != 0 {
        let level = 7 - waiting.leadingZeroBitCount
        if let entry = pop(level) { return entry }
        waiting &= ~(1 << UInt8(truncatingIfNeeded: level))
      }
      return nil
    }
  }

  /// Tells takers that a ring is filled up to `tail`. Requires the pool's lock.
  func publish(_ tail: Int, level: Int) { tails[level].store(tail, ordering: .releasing) }

  /// Lets the producer's end replace a ring's memory while nothing is taken. Requires the pool's lock.
  func withRing(_ level: Int, _ body: (inout PoolRing) -> Void) { lock.withLock { _ in body(&rings[level]) } }

  /// What `remove` does with an entry.
  enum Removal { case keep, remove, removeLast }

  /// Removes entries of a level, the oldest first, as `decide` tells, up to a `removeLast`; the others keep their places.
  /// The caller releases them after the lock. O(n). Requires the pool's lock.
  func remove(level: Int, _ decide: (PoolEntry) -> Removal) -> [PoolEntry] {
    lock.withLock { _ in
      var (removed, kept): ([PoolEntry], [PoolEntry]) = ([], [])
      var isOver = false
      while !isOver, let entry = pop(level) {
        let removal = decide(entry)
        if removal == .keep { kept.append(entry) } else { removed.append(entry) }
        isOver = removal == .removeLast
      }
      while let entry = kept.popLast() { unpop(entry, level) }
      return removed
    }
  }

  private func pop(_ level: Int) -> PoolEntry? {
    let ring = rings + level
    if ring.pointee.head == ring.pointee.tail {
      ring.pointee.tail = tails[level].load(ordering: .acquiring)
      if ring.pointee.head == ring.pointee.tail { return nil }
    }
    guard let memory = ring.pointee.memory else { return nil }
    let entry = (memory + (ring.pointee.head & ring.pointee.mask)).move()
    ring.pointee.head &+= 1
    taken.store(taken.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    return entry
  }

  // Puts the entry back where it was popped from.
  private func unpop(_ entry: PoolEntry, _ level: Int) {
    let ring = rings + level
    guard let memory = ring.pointee.memory else { return }
    ring.pointee.head &-= 1
    (memory + (ring.pointee.head & ring.pointee.mask)).initialize(to: entry)
    taken.store(taken.load(ordering: .relaxed) &- 1, ordering: .releasing)
  }
}

/// One end's half of a ring. The indices wrap around at the end of Int: only their difference and their low bits are
/// used.
struct PoolRing {
  var memory: UnsafeMutablePointer<PoolEntry>?
  var mask = -1
  // The index of the other end is a copy from its last check, which avoids most reads of the word that the other end
  // writes.
  var head: Int
  var tail: Int
}

/// A unit of work in a pool's queue.
// Unchecked: an entry passes from its submitter to the thread that runs or drops it under a lock of the pool. The
// captures of a closure came in as `sending`, so no other code reaches them.
enum PoolEntry: @unchecked Sendable {
  /// A task without a handle.
  case closure(Closure)
  /// A task with a handle.
  case job(PoolJob)
  /// A job of a Swift task, which must run somewhere.
  case executorJob(UnownedJob, PoolTaskExecutor)

  /// Whether both are the same task. Two submissions of the same closure are interchangeable.
  func isSame(as other: PoolEntry) -> Bool {
    switch (self, other) {
    case (.closure(let one), .closure(let another)): one.identity == another.identity
    case (.job(let one), .job(let another)): one === another
    case (.executorJob(let one, _), .executorJob(let another, _)):
      unsafeBitCast(one, to: UInt.self) == unsafeBitCast(another, to: UInt.self)
    default: false
    }
  }
}

extension Closure {
  // A closure is two words: its code and its context. While it lives, no other closure has the same two.
  fileprivate var identity: SIMD2<UInt> { unsafeBitCast(self, to: SIMD2<UInt>.self) }
}
