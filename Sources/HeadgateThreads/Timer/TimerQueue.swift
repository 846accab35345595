/// The data structure behind every timer: pending calls in the order of deadlines and, for equal ones, of scheduling.
///
/// Cancelling a timer returns its action at once, so that the action's captures can be released without the lock. Its
/// entry stays in the heap until it reaches the top, or until cancelled entries number more than half of the pending
/// timers.
package struct TimerQueue: ~Copyable {
  /// A timer's call. A struct, because a bare function type in raw memory is miscompiled in release builds of Swift
  /// 6.3, and costs an allocation wherever it passes through generic code, such as a lock's.
  package struct Action: Sendable {
    let body: @Sendable () -> Void

    package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    package func callAsFunction() { body() }
  }

  /// Identifies a timer. The generation distinguishes it from later timers in the same slot.
  package struct Key: Hashable, Sendable {
    package let slot: Int32
    package let generation: UInt32

    package init(slot: Int32, generation: UInt32) {
      self.slot = slot
      self.generation = generation
    }

    /// A key that belongs to no timer.
    package static var none: Key { Key(slot: -1, generation: 0) }
  }

  private var slots: TimerSlots
  // The first entry, if any, belongs to a pending timer.
  private var heap = TimerHeap()
  private var nextSequence: UInt64 = 0

  /// - Parameter generation: The generation before that of the first key, to test the wrap-around.
  package init(after generation: UInt32 = 0) { slots = TimerSlots(after: generation) }

  package var count: Int { slots.living }

  /// The earliest deadline; nil if no timer is pending.
  package var nextDeadline: Deadline? { heap.min.map { Deadline(nanoseconds: $0.deadline) } }

  /// Adds a timer. O(1) on average.
  package mutating func insert(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> Key {
    let key = slots.insert(Action(action))
    heap.push(TimerEntry(deadline: deadline.nanoseconds, sequence: nextSequence, slot: key.slot))
    nextSequence += 1
    return key
  }

  /// Removes a timer. Returns its action, or nil if it has fired or was cancelled before. O(1) on average.
  package mutating func remove(_ key: Key) -> Action? {
    let action = slots.remove(key)
    if slots.wantsSweep { sweep() } else { dropTheDeadAtTheTop() }
    return action
  }

  /// Removes the first timer that is due at `now`, and returns its action.
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
    let marks = slots.marks
    heap.sweep(adding: [], dropping: marks)
    slots.giveBack(marks)
  }

  /// For tests: the number of entries in the heap, including cancelled ones.
  package var placeCount: Int { heap.count }
  package var chunksInUse: Int { slots.chunksInUse }
}
