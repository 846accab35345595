// A queue with a lock at each end, so that putters and takers meet only when it becomes empty or full. Sources: M. M.
// Michael, M. L. Scott, "Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms" (1996), the
// two-lock queue; J. Giacomoni, T. Moseley, M. Vachharajani, "FastForward" (2008) and E. Rigtorp's ring (2020), for the
// cached index of the other end, which is read again only when it is used up.
//
// Rejected: a ring with a stamp in each slot (D. Vyukov; crossbeam's `array`) and blocks with a state in each slot
// (crossbeam's `list`). Both cost as many atomic updates per element as two uncontended locks. They also expose slots
// that are reserved but not yet written: a taker that finds one must spin until the other thread runs again, a known
// weakness of such channels on few processors.

import Synchronization

/// The non-generic state of a queue with its two ends.
///
/// A taker that waits for an element stands in the wait list of the put end. A putter that waits for space stands in
/// that of the take end. Each checks again after it has acquired that end's lock. A caller that changes the queue
/// therefore sees whom to wake under the lock that it already holds, and no wake-up can be lost between a check and a
/// sleep.
// Unchecked: the pointers are constant, and the owner frees their memory in its deinit. QueueEnd says how it is
// guarded.
@usableFromInline struct QueueCore: @unchecked Sendable {
  @usableFromInline let puts: QueueEnd
  @usableFromInline let takes: QueueEnd
  @usableFromInline let capacity: UInt
  let name: String
  private let memory: UnsafeMutableRawPointer
  // In the last unit, which otherwise holds at most the take end's index. Read by callers that are about to wait.
  private let isListed: UnsafeMutablePointer<Atomic<Bool>>
  private let storage: QueueStorage

  // Units of two cache lines, because processors prefetch neighbouring lines: two units for each end, then the indices.
  private static let line = 128
  private static let size = 6 * line

  /// - Parameters:
  ///   - name: The name that errors show.
  ///   - capacity: The maximum number of elements; `UInt.max` for an unbounded queue.
  ///   - stride: The distance between two elements, in bytes.
  ///   - alignment: The alignment of an element, in bytes.
  ///   - firstIndex: The initial index. Only tests choose it.
  init(name: String, capacity: UInt, stride: Int, alignment: Int, firstIndex: UInt) {
    let line = QueueCore.line
    let memory = UnsafeMutableRawPointer.allocate(byteCount: QueueCore.size, alignment: line)
    let storage = QueueStorage(
      capacity: capacity, stride: stride, alignment: alignment,
      room: UnsafeMutableRawBufferPointer(start: memory + 4 * line + 16, count: line - 16))
    self.name = name
    self.capacity = capacity
    self.memory = memory
    self.storage = storage
    isListed = (memory + 5 * line + 64).initializeMemory(as: Atomic<Bool>.self, to: Atomic(false))
    puts = QueueEnd(at: memory, line, index: memory + 4 * line, firstIndex, storage.start)
    takes = QueueEnd(
      at: memory + 2 * line, line, index: memory + (storage.isNear ? 4 * line + 8 : 5 * line), firstIndex, storage.start
    )
  }

  /// Frees the memory. The queue must be empty and not in use.
  func destroy() {
    QueueRegistry.remove(UInt(bitPattern: memory), isListed.pointee)
    isListed.deinitialize(count: 1)
    storage.destroy(limit: puts.state.pointee.limit)
    puts.destroy()
    takes.destroy()
    memory.deallocate()
  }

  /// The number of elements at some moment during the call.
  var count: Int {
    let taken = takes.index.pointee.load(ordering: .acquiring)
    let put = puts.index.pointee.load(ordering: .acquiring)
    // There was no take between the two reads, so both numbers were valid when `put` was read.
    if takes.index.pointee.load(ordering: .acquiring) == taken { return Int(clamping: put &- taken) }
    takes.lock.pointee.lock()
    defer { takes.lock.pointee.unlock() }
    return Int(clamping: puts.index.pointee.load(ordering: .acquiring) &- takes.state.pointee.index)
  }

  var isEmpty: Bool {
    takes.index.pointee.load(ordering: .acquiring) == puts.index.pointee.load(ordering: .acquiring)
  }

  /// Moves the cursor to the next slot when its row of slots is used up. Requires the put lock.
  @usableFromInline
  func turnPuts() { storage.turnPuts(puts.state) }

  /// Moves the cursor to the next slot when its row of slots is used up. Requires the take lock and an element in the
  /// queue.
  @usableFromInline
  func turnTakes() { storage.turnTakes(takes.state) }

  /// Closes the queue and wakes all waiters. Has no effect the second time.
  func close() {
    // Both ends are closed together. If they were closed one after the other, a put could be refused as closed while a
    // later take still found the queue open and empty, and a take between the two would find neither an element nor a
    // reason to wait.
    puts.lock.pointee.lock()
    takes.lock.pointee.lock()
    let waiters = puts.state.pointee.close() + takes.state.pointee.close()
    takes.lock.pointee.unlock()
    puts.lock.pointee.unlock()
    for waiter in waiters { waiter.wake() }
  }

  var isClosed: Bool {
    puts.lock.pointee.lock()
    defer { puts.lock.pointee.unlock() }
    return puts.state.pointee.isClosed
  }

  /// The numbers of waiting takers and putters.
  var waitingCounts: (takers: Int, putters: Int) { (puts.waitingCount, takes.waitingCount) }

  var summary: QueueSummary {
    QueueSummary(
      name: name, capacity: Int(clamping: capacity), count: count, waiting: waitingCounts, isClosed: isClosed)
  }

  func enterDumps() { QueueRegistry.add(UInt(bitPattern: memory), isListed.pointee, .core(self)) }
}

/// The wait list of a queue's takers or putters.
struct CoreLine: QueueLine {
  let core: QueueCore
  let isOfTakers: Bool

  var name: String { core.name }
  private var own: QueueEnd { isOfTakers ? core.takes : core.puts }
  // The wait list belongs to this end, because calls at this end change the awaited condition.
  private var other: QueueEnd { isOfTakers ? core.puts : core.takes }

  // Under the lock of the other end, `true` is reliable: only calls there could make it false.
  private var isBlocked: Bool {
    let taken = core.takes.index.pointee.load(ordering: .acquiring)
    let count = core.puts.index.pointee.load(ordering: .acquiring) &- taken
    return isOfTakers ? count == 0 : count >= core.capacity
  }

  func enterDumps() { core.enterDumps() }

  func spin() -> Bool {
    // A batch of this size distinguishes a stream from single elements.
    let pauses = own.lastBatch.pointee.load(ordering: .relaxed) >= 4 ? SpinBudget.stream : 0
    return own.spin.spin(for: other.spin, after: pauses) { !isBlocked }
  }

  func lineUp(_ waiter: Waiter, first: Bool) -> Deadline? {
    other.lock.pointee.lock()
    defer { other.lock.pointee.unlock() }
    guard isBlocked, !other.state.pointee.isClosed else { return nil }
    if first { other.state.pointee.waiting.prepend(waiter) } else { other.state.pointee.waiting.append(waiter) }
    return .distantFuture
  }

  func leave(_ waiter: Waiter, _ outcome: Waiter.Outcome) -> Bool {
    // The waker has already removed the waiter.
    guard outcome != .woken else { return false }
    other.lock.pointee.lock()
    defer { other.lock.pointee.unlock() }
    return other.state.pointee.waiting.remove(waiter)
  }

  func passOn() {
    guard !isBlocked else { return }
    other.lock.pointee.lock()
    other.unlockAndWake()
  }
}

/// One end of a queue: the addresses of its parts.
// Unchecked: the pointers are constant, `state` is accessed only under `lock`, everything else is atomic, and the
// memory's owner outlives this.
@usableFromInline struct QueueEnd: @unchecked Sendable {
  @usableFromInline let lock: UnsafeMutablePointer<Lock>
  @usableFromInline let state: UnsafeMutablePointer<EndState>
  /// The number of elements that have ever passed this end, readable by the other end. It wraps around.
  @usableFromInline let index: UnsafeMutablePointer<AtomicCell<UInt>>
  /// The number of elements that could pass when a caller last had to read the other end's index. It tells a stream
  /// from single elements.
  @usableFromInline let lastBatch: UnsafeMutablePointer<AtomicCell<UInt>>
  let spin: AdaptiveSpin

  // Space for a lock, including its owner in debug builds.
  private static let lockSize = 16

  /// Uses two units of memory at this address, and eight bytes at the index's address.
  init(
    at memory: UnsafeMutableRawPointer, _ line: Int, index: UnsafeMutableRawPointer, _ first: UInt,
    _ slots: (cursor: UnsafeMutableRawPointer, limit: UnsafeMutableRawPointer)
  ) {
    assert(MemoryLayout<Lock>.size <= QueueEnd.lockSize)
    lock = memory.initializeMemory(as: Lock.self, to: Lock())
    state = (memory + QueueEnd.lockSize).initializeMemory(
      as: EndState.self, to: EndState(index: first, cursor: slots.cursor, limit: slots.limit))
    lastBatch = (memory + line).initializeMemory(as: AtomicCell<UInt>.self, to: AtomicCell(1))
    spin = AdaptiveSpin(at: memory + line + 8)
    self.index = index.initializeMemory(as: AtomicCell<UInt>.self, to: AtomicCell(first))
  }

  /// Deinitializes that memory.
  func destroy() {
    lock.deinitialize(count: 1)
    state.deinitialize(count: 1)
    index.deinitialize(count: 1)
    lastBatch.deinitialize(count: 1)
    spin.destroy()
  }

  /// Unlocks after `count` elements have passed, and wakes that many waiters.
  @usableFromInline
  func unlockAndWake(_ count: Int = 1) {
    let first = state.pointee.waiting.claimFirst()
    var others: [Waiter] = []
    while others.count < count - 1, let waiter = state.pointee.waiting.claimFirst() { others.append(waiter) }
    lock.pointee.unlock()
    spin.noteProcessor()
    first?.wake()
    for waiter in others { waiter.wake() }
  }

  var waitingCount: Int {
    lock.pointee.lock()
    defer { lock.pointee.unlock() }
    return state.pointee.waiting.count
  }
}

/// The state of one end of a queue, guarded by that end's lock.
@usableFromInline
struct EndState {
  /// The numbers of elements that have ever passed this end, and the other end when a caller here last read its index.
  @usableFromInline var index: UInt
  @usableFromInline var otherIndex: UInt
  /// The next slot, and the end of its row of slots.
  @usableFromInline var cursor: UnsafeMutableRawPointer
  @usableFromInline var limit: UnsafeMutableRawPointer
  @usableFromInline var isClosed = false
  /// The callers that wait for a change at this end.
  @usableFromInline var waiting = WaitList()

  init(index: UInt, cursor: UnsafeMutableRawPointer, limit: UnsafeMutableRawPointer) {
    self.index = index
    otherIndex = index
    self.cursor = cursor
    self.limit = limit
  }

  /// Closes this end. Returns the waiters, to be woken without a lock.
  mutating func close() -> [Waiter] {
    isClosed = true
    return waiting.claimAll()
  }
}
