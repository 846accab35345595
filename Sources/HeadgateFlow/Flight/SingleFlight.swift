import HeadgateThreads
import Synchronization

/// Coalesces identical work: callers that request it while it is in progress share its result.
///
///     let profiles = SingleFlight<UserID, Profile>()
///     let profile = try await profiles.run(id) { try await service.profile(of: id) }
///
/// A hundred tasks that request one profile at the same time cause one request. The result is not cached: a request
/// after the work has ended starts it again. The idea and the name come from Go's `golang.org/x/sync/singleflight`. In
/// addition, a cancelled caller leaves at once, and the last one to leave cancels the work.
///
/// Each call is O(1) on average. Any number of threads and tasks may use it concurrently. Keys are hashed and compared
/// under its lock: their `==` and `hash(into:)` must be fast and must not use this object.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let flights = Locked(FlightTable<Key, Value>())
  private let whenJoined: (@Sendable (Key) -> Void)?

  /// Creates an instance without work in progress.
  public convenience init() { self.init(whenJoined: nil) }

  /// - Parameter whenJoined: Called by each caller before it waits.
  init(whenJoined: (@Sendable (Key) -> Void)?) { self.whenJoined = whenJoined }

  /// Returns the result of the work in progress for a key; starts the work if there is none.
  ///
  /// The work runs in a separate task, with the task-local values of the caller that started it, and with the highest
  /// priority of its callers, where the system can raise it. It is cancelled when all of its callers are cancelled. A
  /// later call then starts new work, while the old work may still be ending.
  ///
  /// Work that requests its own key, directly or in tasks and work that it starts, would wait for itself, and is
  /// refused. If two pieces of work wait for each other but neither started the other, this is not detected: a
  /// cancellation or a deadline must end the wait.
  ///
  /// - Parameters:
  ///   - key: Identifies the work.
  ///   - work: The work. It is called only if none is in progress.
  /// - Returns: The value that the work returned, the same for all callers.
  /// - Throws: The error that the work threw, the same for all callers. `CancellationError`, at once, if the task was
  ///   cancelled. ``FlowError`` with `wouldDeadlock` for work that requests its own key.
  public nonisolated(nonsending) func run(
    _ key: Key, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    let waiter = Waiter.ofTask()
    let path = FlightPath.current
    guard let (flight, isNew) = flights.withLock({ $0.join(key, waiter, path: path) }) else {
      throw FlowError(.wouldDeadlock, operation: "SingleFlight")
    }
    if isNew { begin(flight, work, path) } else { raise(flight, to: Task.currentPriority) }
    whenJoined?(key)
    if await waiter.wait(until: .distantFuture) == .cancelled {
      // Without callers the work is no longer needed.
      if flights.withLock({ $0.leave(flight, waiter) }) { flight.task.whenSet { $0.cancel() } }
      throw CancellationError()
    }
    guard let result = flight.result.value else { throw CancellationError() }
    return try result.get()
  }

  /// Lets the work in progress for a key continue for its callers, but makes later callers start new work. Use it after
  /// a change that the work may not have seen.
  ///
  /// - Returns: Whether work was in progress.
  @discardableResult
  public func forget(_ key: Key) -> Bool { flights.withLock { $0.forget(key) } }

  /// The number of pieces of work in progress that have a waiting caller.
  public var count: Int { flights.withLock { $0.count } }

  private func begin(
    _ flight: Flight<Key, Value>, _ work: @escaping @Sendable () async throws -> Value, _ path: [UInt64]
  ) {
    flight.task.set(
      FlightPath.$current.withValue(path + [flight.number]) {
        Task {
          let result: Result<Value, any Error>
          do { result = .success(try await work()) } catch { result = .failure(error) }
          flight.result.set(result)
          for waiter in self.flights.withLock({ $0.end(flight) }) { waiter.wake() }
        }
      })
  }

  /// Raises the work's priority for a new caller.
  private func raise(_ flight: Flight<Key, Value>, to priority: TaskPriority) {
    flight.task.whenSet { task in
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { task.escalatePriority(to: priority) }
    }
  }
}

/// The numbers of the work that the current task belongs to, outermost first.
enum FlightPath {
  @TaskLocal static var current: [UInt64] = []
}

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
