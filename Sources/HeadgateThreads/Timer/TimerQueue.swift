/// The pure half of every timer: what is due when, in the order of deadlines and, for equal ones, of scheduling.
///
/// A cancelled timer gives its action back at once, so that whatever the action holds can be let go outside the lock.
package struct TimerQueue {
  package typealias Action = @Sendable () -> Void

  /// A timer's name. The generation tells it from a later timer in the same place.
  package struct Key: Hashable, Sendable {
    let handle: Int32
    let generation: UInt32
  }

  private struct Rank: Comparable {
    var deadline: UInt64
    var sequence: UInt64

    static func < (left: Rank, right: Rank) -> Bool {
      left.deadline != right.deadline ? left.deadline < right.deadline : left.sequence < right.sequence
    }
  }

  // The closure stands in a struct of its own: a bare function type in raw memory miscompiles in release builds of
  // Swift 6.3, and an array of functions pays a thunk for each access.
  private struct Slot {
    var action: Action?
    var generation: UInt32
  }

  private var heap = IndexedHeap<Rank>()
  private var slots: [Slot] = []
  private var nextSequence: UInt64 = 0
  private var nextGeneration: UInt32 = 0

  package init() {}

  package var count: Int { heap.count }

  /// When the first timer is due; nil when there is none.
  package var nextDeadline: Deadline? { heap.min.map { Deadline(nanoseconds: $0.key.deadline) } }

  package mutating func insert(at deadline: Deadline, _ action: @escaping Action) -> Key {
    let handle = heap.insert(Rank(deadline: deadline.nanoseconds, sequence: nextSequence))
    nextSequence += 1
    nextGeneration &+= 1
    let slot = Slot(action: action, generation: nextGeneration)
    if Int(handle) < slots.count { slots[Int(handle)] = slot } else { slots.append(slot) }
    return Key(handle: handle, generation: nextGeneration)
  }

  /// Takes a timer out. Returns its action, or nil when it has fired or was cancelled before.
  package mutating func remove(_ key: Key) -> Action? {
    guard key.handle >= 0, Int(key.handle) < slots.count, slots[Int(key.handle)].generation == key.generation,
      let action = slots[Int(key.handle)].action
    else { return nil }
    heap.remove(key.handle)
    slots[Int(key.handle)].action = nil
    shrink()
    return action
  }

  /// Takes out the first timer that is due at `now`.
  package mutating func popDue(at now: Deadline) -> Action? {
    guard let first = heap.min, first.key.deadline <= now.nanoseconds, first.key.deadline != .max else { return nil }
    heap.remove(first.handle)
    let action = slots[Int(first.handle)].action
    slots[Int(first.handle)].action = nil
    shrink()
    return action
  }

  private mutating func shrink() {
    if heap.isEmpty, slots.count > 1024 { slots = [] }
  }
}
