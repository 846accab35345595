// Storage for the actions of timers: a slab of small chunks with one word of bits each. J. Bonwick, "The Slab
// Allocator" (1994), with bit masks as free lists, so that freeing a slot does not touch the slot.

/// The actions of timers, each in a slot that its key and its heap entry refer to. Every call is O(1).
///
/// A slot is in use from `insert` until its heap entry is removed (`take`). From its cancellation until then it is
/// dead: it has no action, but its number is not reused, so that the entry cannot be mistaken for another timer's.
package struct TimerSlots: ~Copyable {
  package typealias Action = TimerQueue.Action
  package typealias Key = TimerQueue.Key

  private struct Slot {
    let action: Action
    let generation: UInt32
  }

  private struct Chunk {
    // Nil while the chunk is not allocated.
    var slots: UnsafeMutablePointer<Slot>?
    // Slots that have an entry in the heap, and those of them that are dead.
    var used: UInt64 = 0
    var dead: UInt64 = 0
    // Neighbours in the list of open chunks; only `next` is used in the list of unallocated chunks.
    var next: Int32 = -1
    var previous: Int32 = -1
  }

  private var chunks: UnsafeMutablePointer<Chunk>
  private var chunkCount: Int32 = 0
  private var chunkCapacity: Int32 = 16
  // Chunks with free slots.
  private var firstOpen: Int32 = -1
  private var firstVacant: Int32 = -1
  // Chunks without a used slot. One is kept, so that a single timer set repeatedly does not allocate.
  private var emptyChunks = 0
  private var nextGeneration: UInt32

  /// The number of pending timers.
  package private(set) var living = 0
  /// The number of cancelled timers whose entry is still in the heap.
  package private(set) var dead = 0

  /// - Parameter generation: The generation before the first. Only tests of the wrap-around choose it.
  package init(after generation: UInt32 = 0) {
    nextGeneration = generation
    chunks = .allocate(capacity: Int(chunkCapacity))
  }

  deinit {
    for place in 0..<Int(chunkCount) {
      guard let slots = chunks[place].slots else { continue }
      var left = chunks[place].used & ~chunks[place].dead
      while left != 0 {
        (slots + left.trailingZeroBitCount).deinitialize(count: 1)
        left &= left - 1
      }
      slots.deallocate()
    }
    chunks.deallocate()
  }

  /// Whether dead slots number more than half of the pending timers (and are enough to be worth a sweep).
  package var wantsSweep: Bool { dead > 1024 && dead > living / 2 }

  /// Stores an action in a free slot.
  package mutating func insert(_ action: Action) -> Key {
    if firstOpen < 0 { openChunk() }
    let place = firstOpen
    let chunk = chunks + Int(place)
    let bit = (~chunk.pointee.used).trailingZeroBitCount
    if chunk.pointee.used == 0 { emptyChunks -= 1 }
    chunk.pointee.used |= 1 &<< UInt64(bit)
    if chunk.pointee.used == .max { unlink(place) }
    nextGeneration &+= 1
    living += 1
    if let slots = chunk.pointee.slots {
      (slots + bit).initialize(to: Slot(action: action, generation: nextGeneration))
    }
    return Key(slot: place << 6 | Int32(bit), generation: nextGeneration)
  }

  /// Cancels a timer: removes the action and leaves the slot dead. Returns nil if the key's timer is no longer pending.
  package mutating func remove(_ key: Key) -> Action? {
    guard key.slot >= 0, key.slot >> 6 < chunkCount else { return nil }
    let chunk = chunks + Int(key.slot >> 6)
    let mask = Self.mask(key.slot)
    guard chunk.pointee.used & ~chunk.pointee.dead & mask != 0, let slots = chunk.pointee.slots else { return nil }
    let slot = slots + Int(key.slot & 63)
    guard slot.pointee.generation == key.generation else { return nil }
    chunk.pointee.dead |= mask
    living -= 1
    dead += 1
    return slot.move().action
  }

  /// Whether the timer of a heap entry was cancelled.
  package func isDead(_ slot: Int32) -> Bool {
    chunks[Int(slot >> 6)].dead & Self.mask(slot) != 0
  }

  /// Frees the slot of an entry that leaves the heap. Returns the action, or nil if it was cancelled.
  package mutating func take(_ slot: Int32) -> Action? {
    let place = slot >> 6
    let chunk = chunks + Int(place)
    let mask = Self.mask(slot)
    var action: Action?
    if chunk.pointee.dead & mask != 0 {
      chunk.pointee.dead &= ~mask
      dead -= 1
    } else if let slots = chunk.pointee.slots {
      action = (slots + Int(slot & 63)).move().action
      living -= 1
    }
    free(mask, in: place)
    return action
  }

  // MARK: Sweeping

  /// The slots that were dead at one moment. The sweep of the heap reads this copy, and so needs no lock.
  package struct Marks {
    fileprivate var dead: [UInt64] = []
    fileprivate var givenBack = 0

    package init() {}

    package func contains(_ slot: Int32) -> Bool {
      let place = Int(slot >> 6)
      return place < dead.count && dead[place] & TimerSlots.mask(slot) != 0
    }
  }

  /// Marks the dead slots of up to `limit` more chunks. Returns true once all chunks were visited.
  ///
  /// It works in pieces, like `giveBack`, so that the lock is never held for long. If the sweep takes over the arrivals
  /// right after the last piece, it sees the entries of all marked slots.
  @discardableResult
  package func mark(_ marks: inout Marks, chunks limit: Int) -> Bool {
    let seen = marks.dead.count
    for place in seen..<seen + min(limit, Int(chunkCount) - seen) { marks.dead.append(chunks[place].dead) }
    return marks.dead.count == chunkCount
  }

  /// Frees the marked slots of up to `limit` more chunks, after their entries were removed. Returns true once all marks
  /// were processed.
  @discardableResult
  package mutating func giveBack(_ marks: inout Marks, chunks limit: Int) -> Bool {
    let seen = marks.givenBack
    let end = seen + min(limit, marks.dead.count - seen)
    for place in seen..<end where marks.dead[place] != 0 {
      dead -= marks.dead[place].nonzeroBitCount
      chunks[place].dead &= ~marks.dead[place]
      free(marks.dead[place], in: Int32(place))
    }
    marks.givenBack = end
    return end == marks.dead.count
  }

  // MARK: Chunks

  private mutating func free(_ mask: UInt64, in place: Int32) {
    let chunk = chunks + Int(place)
    if chunk.pointee.used == .max { link(place) }
    chunk.pointee.used &= ~mask
    if chunk.pointee.used == 0 { chunkIsEmpty(place) }
  }

  fileprivate static func mask(_ slot: Int32) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: slot & 63) }

  private mutating func openChunk() {
    let place: Int32
    if firstVacant >= 0 {
      place = firstVacant
      firstVacant = chunks[Int(place)].next
    } else {
      if chunkCount == chunkCapacity { growTable() }
      place = chunkCount
      chunkCount += 1
    }
    (chunks + Int(place)).initialize(to: Chunk(slots: .allocate(capacity: 64)))
    emptyChunks += 1
    link(place)
  }

  private mutating func growTable() {
    let larger = UnsafeMutablePointer<Chunk>.allocate(capacity: Int(chunkCapacity) * 2)
    larger.moveInitialize(from: chunks, count: Int(chunkCount))
    chunks.deallocate()
    chunks = larger
    chunkCapacity *= 2
  }

  private mutating func chunkIsEmpty(_ place: Int32) {
    guard emptyChunks > 0 else {
      emptyChunks += 1
      return
    }
    unlink(place)
    chunks[Int(place)].slots?.deallocate()
    chunks[Int(place)].slots = nil
    chunks[Int(place)].next = firstVacant
    firstVacant = place
  }

  private mutating func link(_ place: Int32) {
    chunks[Int(place)].previous = -1
    chunks[Int(place)].next = firstOpen
    if firstOpen >= 0 { chunks[Int(firstOpen)].previous = place }
    firstOpen = place
  }

  private mutating func unlink(_ place: Int32) {
    let (previous, next) = (chunks[Int(place)].previous, chunks[Int(place)].next)
    if previous >= 0 { chunks[Int(previous)].next = next } else { firstOpen = next }
    if next >= 0 { chunks[Int(next)].previous = previous }
  }

  /// For tests: the number of allocated chunks.
  package var chunksInUse: Int { (0..<Int(chunkCount)).count { chunks[$0].slots != nil } }
}

// The slab owns its memory, a noncopyable value has one owner at a time, and the actions are Sendable.
extension TimerSlots: @unchecked Sendable {}
