// Storage for the actions of timers: a slab of small chunks with one word of bits each. J. Bonwick, "The Slab
// Allocator" (1994), with bit masks as free lists, so that freeing a slot does not touch the slot.

/// The actions of timers, each in a slot that its key and its heap entry refer to. Every call is O(1),
/// except `marks` and `giveBack`, which are O(n).
///
/// A slot is in use from `insert` until its heap entry is removed (`take`). From its cancellation until then it is
/// dead: it has no action, but its number is not reused, so that the entry cannot be mistaken for another timer's.
struct TimerSlots: ~Copyable {
  typealias Action = TimerQueue.Action
  typealias Key = TimerQueue.Key

  private struct Slot {
    let action: Action
    let generation: UInt32
  }

  private struct Chunk {
    // Nil while no slot is used, except in the chunk that is filled next: a single timer set repeatedly does not
    // allocate.
    var slots: UnsafeMutablePointer<Slot>?
    // Slots that have an entry in the heap, and those of them that are dead.
    var used: UInt64 = 0
    var dead: UInt64 = 0
  }

  private var chunks: [Chunk] = []
  // The chunks with free slots. The last one is filled next.
  private var open: [Int] = []
  private var nextGeneration: UInt32

  /// The number of pending timers.
  private(set) var living = 0
  /// The number of cancelled timers whose entry is still in the heap.
  private(set) var dead = 0

  /// - Parameter generation: The generation before the first. Only tests of the wrap-around choose it.
  init(after generation: UInt32 = 0) { nextGeneration = generation }

  deinit {
    for chunk in chunks {
      guard let slots = chunk.slots else { continue }
      var left = chunk.used & ~chunk.dead
      while left != 0 {
        (slots + left.trailingZeroBitCount).deinitialize(count: 1)
        left &= left - 1
      }
      slots.deallocate()
    }
  }

  /// Whether dead slots number more than half of the pending timers (and are enough to be worth a sweep).
  var wantsSweep: Bool { dead > 1024 && dead > living / 2 }

  /// Stores an action in a free slot.
  mutating func insert(_ action: Action) -> Key {
    if open.isEmpty {
      open.append(chunks.count)
      chunks.append(Chunk())
    }
    let place = open[open.count - 1]
    let slots = chunks[place].slots ?? .allocate(capacity: 64)
    let bit = (~chunks[place].used).trailingZeroBitCount
    nextGeneration &+= 1
    living += 1
    (slots + bit).initialize(to: Slot(action: action, generation: nextGeneration))
    chunks[place].slots = slots
    chunks[place].used |= 1 &<< UInt64(bit)
    if chunks[place].used == .max { open.removeLast() }
    return Key(slot: Int32(place) << 6 | Int32(bit), generation: nextGeneration)
  }

  /// Cancels a timer: removes the action and leaves the slot dead. Returns nil if the key's timer is no longer pending.
  mutating func remove(_ key: Key) -> Action? {
    let place = Int(key.slot >> 6)
    guard chunks.indices.contains(place), let slots = chunks[place].slots else { return nil }
    let mask = Self.mask(key.slot)
    let slot = slots + Int(key.slot & 63)
    guard chunks[place].used & ~chunks[place].dead & mask != 0, slot.pointee.generation == key.generation else {
      return nil
    }
    chunks[place].dead |= mask
    living -= 1
    dead += 1
    return slot.move().action
  }

  /// Whether the timer of a heap entry was cancelled.
  func isDead(_ slot: Int32) -> Bool { chunks[Int(slot >> 6)].dead & Self.mask(slot) != 0 }

  /// Frees the slot of an entry that leaves the heap. Returns the action, or nil if it was cancelled.
  mutating func take(_ slot: Int32) -> Action? {
    let place = Int(slot >> 6)
    let mask = Self.mask(slot)
    var action: Action?
    if chunks[place].dead & mask != 0 {
      chunks[place].dead &= ~mask
      dead -= 1
    } else if let slots = chunks[place].slots {
      action = (slots + Int(slot & 63)).move().action
      living -= 1
    }
    free(mask, in: place)
    return action
  }

  // MARK: Sweeping

  /// The slots that were dead at one moment. The sweep of the heap reads this copy, and so needs no lock.
  struct Marks {
    fileprivate let dead: [UInt64]

    func contains(_ slot: Int32) -> Bool {
      let place = Int(slot >> 6)
      return place < dead.count && dead[place] & TimerSlots.mask(slot) != 0
    }
  }

  /// The slots that are dead at this moment.
  var marks: Marks { Marks(dead: chunks.map(\.dead)) }

  /// Frees the marked slots, after their entries were removed.
  mutating func giveBack(_ marks: Marks) {
    for (place, mask) in marks.dead.enumerated() where mask != 0 {
      dead -= mask.nonzeroBitCount
      chunks[place].dead &= ~mask
      free(mask, in: place)
    }
  }

  // MARK: Chunks

  fileprivate static func mask(_ slot: Int32) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: slot & 63) }

  private mutating func free(_ mask: UInt64, in place: Int) {
    if chunks[place].used == .max {
      if let next = open.last { releaseMemory(next) }
      open.append(place)
    }
    chunks[place].used &= ~mask
    if place != open.last { releaseMemory(place) }
  }

  /// Frees a chunk's memory if none of its slots is used.
  private mutating func releaseMemory(_ place: Int) {
    guard chunks[place].used == 0 else { return }
    chunks[place].slots?.deallocate()
    chunks[place].slots = nil
  }

  /// For tests: the number of allocated chunks.
  var chunksInUse: Int { chunks.count { $0.slots != nil } }
}

// The slab owns its memory, a noncopyable value has one owner at a time, and the actions are Sendable.
extension TimerSlots: @unchecked Sendable {}
