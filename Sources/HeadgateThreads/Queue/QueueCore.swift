// A queue with a lock at each end, so that who puts and who takes meet only where it runs empty or full.
// M. M. Michael, M. L. Scott, "Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms"
// (1996), the two-lock queue; indices of the other end that are read again only when the last reading is used up, from
// J. Giacomoni, T. Moseley, M. Vachharajani, "FastForward" (2008) and E. Rigtorp's ring (2020).
//
// Rejected: a ring with a stamp in each slot (D. Vyukov; crossbeam's `array`) and blocks with a state in each slot
// (crossbeam's `list`). Both cost as many atomic updates an element as two uncontended locks do, and leave elements that
// have their place but are not written yet: whoever finds one must spin until the other thread runs again, which is
// what such channels are blamed for on few processors.

import CHeadgate
import Synchronization

/// What the two ends of a queue share, whatever its elements are.
///
/// Those who wait for an element stand in the list of the end where elements are put, those who wait for a place at the
/// other one, and each looks again after it took that end's lock. So who makes a change sees, under the lock that it
/// holds anyway, whom to wake: no wake-up can fall between a look and a sleep.
// Unchecked: the pointers are constant; what stands at `puts` is touched only under `putLock`, at `takes` only under
// `takeLock`, and the indices are atomic. The owner frees the memory in its deinit.
@usableFromInline struct QueueCore: @unchecked Sendable {
  @usableFromInline let putLock: UnsafeMutablePointer<Lock>
  @usableFromInline let puts: UnsafeMutablePointer<QueueEnd>
  @usableFromInline let takeLock: UnsafeMutablePointer<Lock>
  @usableFromInline let takes: UnsafeMutablePointer<QueueEnd>
  /// How many elements were ever put and taken, as the other end may read it. They wrap.
  @usableFromInline let putIndex: UnsafeMutablePointer<AtomicCell<UInt>>
  @usableFromInline let takeIndex: UnsafeMutablePointer<AtomicCell<UInt>>
  /// How many places a putter and how many elements a taker found when it last had to look at the other end: whether a
  /// stream or single elements pass.
  @usableFromInline let lastPlaces: UnsafeMutablePointer<AtomicCell<UInt>>
  @usableFromInline let lastElements: UnsafeMutablePointer<AtomicCell<UInt>>
  @usableFromInline let capacity: UInt
  let putPatience: SpinPatience
  let takePatience: SpinPatience

  let name: String
  private let memory: UnsafeMutableRawPointer
  private let storage: QueueStorage

  // Two cache lines each, because processors fetch neighbouring lines together: the two ends, then their indices.
  private static let line = 128
  private static let size = 6 * line
  // A lock's, and its holder's in debug builds.
  private static let lockSize = 16

  /// - Parameters:
  ///   - name: What the queue is called in errors.
  ///   - capacity: The most elements; `UInt.max` for no limit.
  ///   - stride: The bytes from one element to the next.
  ///   - alignment: What an element's address is a multiple of.
  ///   - firstIndex: What the indices begin with; only a test has a reason to choose it.
  @usableFromInline
  init(name: String, capacity: UInt, stride: Int, alignment: Int, firstIndex: UInt) {
    let line = QueueCore.line
    let memory = UnsafeMutableRawPointer.allocate(byteCount: QueueCore.size, alignment: line)
    func cell(at offset: Int, _ value: UInt) -> UnsafeMutablePointer<AtomicCell<UInt>> {
      (memory + offset).initializeMemory(as: AtomicCell<UInt>.self, to: AtomicCell(value))
    }
    func lock(at offset: Int) -> UnsafeMutablePointer<Lock> {
      assert(MemoryLayout<Lock>.size <= QueueCore.lockSize)
      return (memory + offset).initializeMemory(as: Lock.self, to: Lock())
    }
    let storage = QueueStorage(
      capacity: capacity, stride: stride, alignment: alignment,
      room: UnsafeMutableRawBufferPointer(start: memory + 4 * line + 16, count: line - 16))
    func end(at offset: Int) -> UnsafeMutablePointer<QueueEnd> {
      let (cursor, limit) = storage.start
      let end = QueueEnd(index: firstIndex, otherIndex: firstIndex, cursor: cursor, limit: limit)
      return (memory + offset).initializeMemory(as: QueueEnd.self, to: end)
    }
    self.name = name
    self.capacity = capacity
    self.memory = memory
    self.storage = storage
    putLock = lock(at: 0)
    puts = end(at: QueueCore.lockSize)
    lastPlaces = cell(at: line, 1)
    putPatience = SpinPatience(at: memory + line + 8)
    takeLock = lock(at: 2 * line)
    takes = end(at: 2 * line + QueueCore.lockSize)
    lastElements = cell(at: 3 * line, 1)
    takePatience = SpinPatience(at: memory + 3 * line + 8)
    putIndex = cell(at: 4 * line, firstIndex)
    takeIndex = cell(at: storage.isNear ? 4 * line + 8 : 5 * line, firstIndex)
  }

  /// Frees the memory. No element is left, and nobody uses the queue.
  @usableFromInline
  func destroy() {
    storage.destroy(limit: puts.pointee.limit)
    puts.deinitialize(count: 1)
    takes.deinitialize(count: 1)
    for cell in [putIndex, lastPlaces, takeIndex, lastElements] { cell.deinitialize(count: 1) }
    putPatience.destroy()
    takePatience.destroy()
    putLock.deinitialize(count: 1)
    takeLock.deinitialize(count: 1)
    memory.deallocate()
  }

  /// How many elements stand in the queue at some moment during the call.
  @usableFromInline
  var count: Int {
    // This order: an index of takes that is older than that of puts can only make the difference too large.
    let taken = takeIndex.pointee.load(ordering: .acquiring)
    let put = putIndex.pointee.load(ordering: .acquiring)
    return Int(clamping: min(put &- taken, capacity))
  }

  @usableFromInline
  var isEmpty: Bool {
    takeIndex.pointee.load(ordering: .acquiring) == putIndex.pointee.load(ordering: .acquiring)
  }

  /// Where the next element is put, when the slots at the cursor are used up. Under the lock.
  @usableFromInline
  func turnPuts() { storage.turnPuts(puts) }

  /// Where the next element is taken, when the slots at the cursor are used up. Under the lock, with an element there.
  @usableFromInline
  func turnTakes() { storage.turnTakes(takes) }

  /// Ends a put during which somebody waited for an element.
  @usableFromInline
  func unlockPutsAndWake() {
    let waiter = puts.pointee.claimFirst()
    putLock.pointee.unlock()
    putPatience.noteProcessor()
    waiter?.wake()
  }

  /// Ends a take during which somebody waited for a place.
  @usableFromInline
  func unlockTakesAndWake() {
    let waiter = takes.pointee.claimFirst()
    takeLock.pointee.unlock()
    takePatience.noteProcessor()
    waiter?.wake()
  }

  /// Lets nothing in any more, and wakes all who wait. The second time it does nothing.
  @usableFromInline
  func close() {
    // Both ends at one moment: closed one after the other, a put could be told so before a take that comes later finds
    // the queue open and empty, and a take between the two would find neither an element nor a reason to wait.
    putLock.pointee.lock()
    takeLock.pointee.lock()
    let (takers, putters) = (puts.pointee.close(), takes.pointee.close())
    takeLock.pointee.unlock()
    putLock.pointee.unlock()
    for waiter in takers { waiter.wake() }
    for waiter in putters { waiter.wake() }
  }

  @usableFromInline
  var isClosed: Bool {
    putLock.pointee.lock()
    defer { putLock.pointee.unlock() }
    return puts.pointee.isClosed
  }
}

/// One end of a queue: all of it under that end's lock.
@usableFromInline
struct QueueEnd {
  /// How many elements ever passed here, and how many the other end, when we last looked.
  @usableFromInline var index: UInt
  @usableFromInline var otherIndex: UInt
  /// The next slot, and the end of the slots that stand in a row with it.
  @usableFromInline var cursor: UnsafeMutableRawPointer
  @usableFromInline var limit: UnsafeMutableRawPointer
  @usableFromInline var isClosed = false
  /// Whether `waiting` has anybody: what the fast paths look at.
  @usableFromInline var hasWaiters = false
  /// Those who wait for what happens at this end.
  private var waiting = WaitList()

  init(index: UInt, otherIndex: UInt, cursor: UnsafeMutableRawPointer, limit: UnsafeMutableRawPointer) {
    self.index = index
    self.otherIndex = otherIndex
    self.cursor = cursor
    self.limit = limit
  }

  var waitingCount: Int { waiting.count }

  mutating func claimFirst() -> Waiter? {
    defer { hasWaiters = !waiting.isEmpty }
    return waiting.claimFirst()
  }

  /// Lets nothing through any more. Those who waited here, to be woken with no lock held.
  mutating func close() -> [Waiter] {
    isClosed = true
    var waiters: [Waiter] = []
    while let waiter = claimFirst() { waiters.append(waiter) }
    return waiters
  }

  /// Lines somebody up: at the end, or before all others who was there before.
  mutating func line(up waiter: Waiter, first: Bool) {
    if first { waiting.prepend(waiter) } else { waiting.append(waiter) }
    hasWaiters = true
  }

  mutating func remove(_ waiter: Waiter) {
    waiting.remove(waiter)
    hasWaiters = !waiting.isEmpty
  }
}
