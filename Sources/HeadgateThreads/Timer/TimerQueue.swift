/// The pure half of every timer: what is due when, in the order of deadlines and, for equal ones, of scheduling.
///
/// A cancelled timer gives its action back at once, so that whatever the action holds can be let go outside the lock;
/// its place in the heap stays until it comes to the top or the dead outnumber half the living.
package struct TimerQueue: ~Copyable {
  /// What a timer calls. A struct, because a bare function type miscompiles in raw memory in release builds of Swift 6.3,
  /// and pays an allocation wherever it goes through generic code, such as a lock's.
  package struct Action: Sendable {
    let body: @Sendable () -> Void

    package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    package func callAsFunction() { body() }
  }

  /// A timer's name. The generation tells it from a later timer in the same slot.
  package struct Key: Hashable, Sendable {
    package let slot: Int32
    package let generation: UInt32

    package init(slot: Int32, generation: UInt32) {
      self.slot = slot
      self.generation = generation
    }

    /// The name of no timer.
    package static var none: Key { Key(slot: -1, generation: 0) }
  }

  private var slots: TimerSlots
  // Its first entry, if there is one, belongs to a living timer.
  private var heap = TimerHeap()
  private var nextSequence: UInt64 = 0

  /// - Parameter generation: What the generations of keys begin after, for a test of their wrapping.
  package init(after generation: UInt32 = 0) { slots = TimerSlots(after: generation) }

  package var count: Int { slots.living }

  /// When the first timer is due; nil when there is none.
  package var nextDeadline: Deadline? { heap.min.map { Deadline(nanoseconds: $0.deadline) } }

  /// Adds a timer. O(1) on average.
  package mutating func insert(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> Key {
    let key = slots.insert(Action(action))
    heap.push(TimerEntry(deadline: deadline.nanoseconds, sequence: nextSequence, slot: key.slot))
    nextSequence += 1
    return key
  }

  /// Takes a timer out. Returns its action, or nil when it has fired or was cancelled before. O(1) on average.
  package mutating func remove(_ key: Key) -> Action? {
    let action = slots.remove(key)
    if slots.wantsSweep { sweep() } else { dropTheDeadAtTheTop() }
    return action
  }

  /// Takes out the first timer that is due at `now`.
  package mutating func popDue(at now: Deadline) -> Action? {
    guard let first = heap.min, first.deadline <= now.nanoseconds, first.deadline != .max else { return nil }
    heap.popMin()
    let action = slots.take(first.slot)
    dropTheDeadAtTheTop()
    return action
  }

  private mutating func dropTheDeadAtTheTop() {
    while let first = heap.min, slots.isDead(first.slot) {
      heap.popMin()
      _ = slots.take(first.slot)
    }
  }

  private mutating func sweep() {
    var marks = TimerSlots.Marks()
    slots.mark(&marks, chunks: .max)
    heap.sweep(adding: [], dropping: marks)
    slots.giveBack(&marks, chunks: .max)
  }

  /// For tests: entries in the heap, dead ones too.
  package var placeCount: Int { heap.count }
  package var isOrdered: Bool { heap.isOrdered }
  package var chunksInUse: Int { slots.chunksInUse }
}
