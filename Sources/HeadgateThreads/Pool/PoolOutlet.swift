import Synchronization

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
