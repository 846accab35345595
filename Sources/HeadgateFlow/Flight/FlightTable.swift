import HeadgateThreads
import Synchronization

/// The work in progress by key, as a value. O(1) on average for each call.
struct FlightTable<Key: Hashable & Sendable, Value: Sendable> {
  /// The work that new callers join.
  private var current: [Key: Flight<Key, Value>] = [:]
  /// The number of pieces of work in progress.
  private(set) var count = 0

  /// Adds a caller. Returns the work that it waits for, and whether it must start it; nil if it is itself a part of the
  /// work.
  ///
  /// - Parameter path: The numbers of the work that the caller is a part of.
  mutating func join(_ key: Key, _ waiter: Waiter, path: [UInt64]) -> (flight: Flight<Key, Value>, isNew: Bool)? {
    let flight = current[key] ?? Flight(key)
    if path.contains(flight.number) { return nil }
    flight.callers.append(waiter)
    let isNew = current.updateValue(flight, forKey: key) == nil
    count += isNew ? 1 : 0
    return (flight, isNew)
  }

  /// Removes a cancelled caller. Returns true if it was the last, so that the work must be cancelled.
  mutating func leave(_ flight: Flight<Key, Value>, _ waiter: Waiter) -> Bool {
    flight.callers.remove(waiter)
    return flight.callers.isEmpty && remove(flight)
  }

  /// Makes later callers of a key start new work. Returns false if no work was in progress.
  mutating func forget(_ key: Key) -> Bool { current.removeValue(forKey: key) != nil }

  /// Ends the work. Returns the callers to wake.
  mutating func end(_ flight: Flight<Key, Value>) -> [Waiter] {
    _ = remove(flight)
    return flight.callers.claimAll()
  }

  private mutating func remove(_ flight: Flight<Key, Value>) -> Bool {
    guard flight.isInProgress else { return false }
    flight.isInProgress = false
    count -= 1
    if current[flight.key] === flight { current[flight.key] = nil }
    return true
  }
}

private let lastNumber = Atomic<UInt64>(0)

/// One piece of work: its waiting callers, its task once it is created, and its result once available.
// Unchecked: `callers` and `isInProgress` are guarded by the lock of the table.
final class Flight<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  let key: Key
  /// Identifies it in the process, even after its end.
  let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  let task = OneShot<Task<Void, Never>>()
  let result = OneShot<Result<Value, any Error>>()
  fileprivate var callers = WaitList()
  fileprivate var isInProgress = true

  init(_ key: Key) { self.key = key }
}
