// Where the actions of timers stand: a slab of small chunks with a word of bits each.
// J. Bonwick, "The Slab Allocator" (1994), with bit masks for its free lists, so that giving a slot back touches no slot.

/// The actions of timers, each in a slot that its key and its heap entry name. Every call is O(1).
///
/// A slot is used from `insert` until the heap's entry for it is gone (`take`). Between its cancellation and that it is
/// dead: without action, and its number not given to others, so that the entry can't be mistaken for another's.
package struct TimerSlots: ~Copyable {
  package typealias Action = TimerQueue.Action
  package typealias Key = TimerQueue.Key

  private struct Slot {
    let action: Action
    let generation: UInt32
  }

  private struct Chunk {
    // Nil while the chunk's place is vacant.
    var slots: UnsafeMutablePointer<Slot>?
    // Slots that have an entry in the heap, and those of them whose action is gone.
    var used: UInt64 = 0
    var dead: UInt64 = 0
    // Neighbours in the list of open chunks; `next` alone in the list of vacant places.
    var next: Int32 = -1
    var previous: Int32 = -1
  }

  private var chunks: UnsafeMutablePointer<Chunk>
  private var chunkCount: Int32 = 0
  private var chunkCapacity: Int32 = 16
  // Chunks with room.
  private var firstOpen: Int32 = -1
  private var firstVacant: Int32 = -1
  // Chunks in which no slot is used. One is kept, so that a single timer set again and again allocates nothing.
  private var emptyChunks = 0
  private var nextGeneration: UInt32

  /// Timers that have an action.
  package private(set) var living = 0
  /// Slots whose timer was cancelled and whose entry still lies in the heap.
  package private(set) var dead = 0

  /// - Parameter generation: What the generations begin after; only a test of their wrapping has a reason to choose it.
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

  /// Whether the dead outnumber half the living (and are enough to be worth a look at all).
  package var wantsSweep: Bool { dead > 1024 && dead > living / 2 }

  /// Puts an action into a free slot.
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

  /// Cancels: takes the action out and leaves the slot dead. Nil when the key's timer is not pending any more.
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

  /// Gives the slot of a heap entry back that leaves the heap. Returns the action, nil when it was cancelled.
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

  /// Which slots were dead at one moment: the sweep of the heap looks here, and so needs no lock.
  package struct Marks {
    fileprivate var dead: [UInt64] = []
    fileprivate var givenBack = 0

    package init() {}

    package func contains(_ slot: Int32) -> Bool {
      let place = Int(slot >> 6)
      return place < dead.count && dead[place] & TimerSlots.mask(slot) != 0
    }
  }

  /// Marks the dead of so many more chunks. True when all chunks were seen.
  ///
  /// In pieces, as `giveBack`, so that no lock is held for long. All entries of marked slots are where the sweep sees
  /// them if it looks for new ones after the last piece.
  @discardableResult
  package func mark(_ marks: inout Marks, chunks limit: Int) -> Bool {
    let seen = marks.dead.count
    for place in seen..<seen + min(limit, Int(chunkCount) - seen) { marks.dead.append(chunks[place].dead) }
    return marks.dead.count == chunkCount
  }

  /// Gives the marked slots of so many more chunks back, whose entries are gone. True when it has seen all marks.
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

  /// For tests: how many chunks have memory.
  package var chunksInUse: Int { (0..<Int(chunkCount)).count { chunks[$0].slots != nil } }
}

// The memory is the slab's own, a value that is not copied has one owner at a time, and the actions are Sendable.
extension TimerSlots: @unchecked Sendable {}
