import HeadgateThreads
import Synchronization

/// The work in progress by key, and its waiting callers, as a value. O(1) on average for each call.
struct FlightTable<Key: Hashable & Sendable, Handle: Sendable>: ~Copyable {
  private struct Flight {
    let key: Key
    let handle: Handle
    var callers = WaitList()
  }

  /// The role of a new caller.
  enum Role {
    /// It starts the work.
    case began
    /// It joins work in progress.
    case joined
    /// It is itself a part of the work.
    case refused
  }

  private var flights: [FlightNumber: Flight] = [:]
  /// The work that new callers join.
  private var current: [Key: FlightNumber] = [:]

  /// The number of pieces of work in progress.
  var count: Int { flights.count }

  /// Adds a caller.
  ///
  /// - Parameters:
  ///   - path: The work that the caller is a part of.
  ///   - makeHandle: Creates the handle for new work.
  mutating func join(
    _ key: Key, _ waiter: Waiter, path: [FlightNumber], _ makeHandle: () -> Handle
  ) -> (role: Role, number: FlightNumber, handle: Handle) {
    if let number = current[key], let flight = flights[number] {
      if path.contains(number) { return (.refused, number, flight.handle) }
      flights[number]?.callers.append(waiter)
      return (.joined, number, flight.handle)
    }
    let number = FlightNumber.next()
    var flight = Flight(key: key, handle: makeHandle())
    flight.callers.append(waiter)
    current[key] = number
    flights[number] = flight
    return (.began, number, flight.handle)
  }

  /// Removes a cancelled caller. Returns true if it was the last, so that the work must be cancelled.
  mutating func leave(_ number: FlightNumber, _ waiter: Waiter) -> Bool {
    flights[number]?.callers.remove(waiter)
    guard let flight = flights[number], flight.callers.isEmpty else { return false }
    remove(number, flight.key)
    return true
  }

  /// Makes later callers of a key start new work. Returns false if no work was in progress.
  mutating func forget(_ key: Key) -> Bool { current.removeValue(forKey: key) != nil }

  /// Ends the work. Returns the callers to wake.
  mutating func end(_ number: FlightNumber) -> [Waiter] {
    guard let key = flights[number]?.key else { return [] }
    let callers = flights[number]?.callers.claimAll() ?? []
    remove(number, key)
    return callers
  }

  private mutating func remove(_ number: FlightNumber, _ key: Key) {
    flights[number] = nil
    if current[key] == number { current[key] = nil }
  }
}

/// Identifies a piece of work in the process.
struct FlightNumber: Hashable, Sendable {
  private static let last = Atomic<UInt64>(0)
  private let value: UInt64

  static func next() -> FlightNumber {
    FlightNumber(value: last.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  private init(value: UInt64) { self.value = value }
}
