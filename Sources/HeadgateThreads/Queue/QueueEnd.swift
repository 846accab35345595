import Synchronization

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
