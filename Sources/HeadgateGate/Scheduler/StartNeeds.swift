import HeadgateThreads

/// What a request needs in order to start, besides a permit of its end-point.
@usableFromInline
package struct StartNeeds: Sendable {
  /// Without duplicates.
  let scopes: [RequestScope]
  let weights: [String: Int]

  @usableFromInline
  package init(scopes: [RequestScope] = [], weights: [String: Int] = [:]) {
    var seen: Set<RequestScope> = []
    self.scopes = scopes.filter { seen.insert($0).inserted }
    self.weights = weights
  }

  /// Nil if there are no needs. Inlinable, because a call from the dispatcher's module copied all fields of a request.
  @inlinable
  package static func of(_ scopes: [RequestScope], _ weights: [String: Int]) -> StartNeeds? {
    scopes.isEmpty && weights.isEmpty ? nil : StartNeeds(scopes: scopes, weights: weights)
  }
}

/// The scheduler's data about a request that needs more than a permit, or that was counted by a limit on starts.
struct Demand: Sendable {
  var weights: [String: Int] = [:]
  // Places in the scope table, in the order of the request's scopes.
  var scopes: [Int32] = []
  // The line in which it waits with requests of the same scopes, or -1.
  var line: Int32 = -1
  // After the start: how each of its scopes has counted it.
  var charges: [Charge] = []
}

/// A start as counted by one scope.
struct Charge: Sendable {
  let scope: Int32
  // Nil if the scope does not limit starts.
  let reservation: StartReservation?
  // Nil if the scope does not track health.
  let mark: UInt32?
  // Nil if nothing is learned, or the response has been reported.
  var start: AdaptiveLimit.Start?
}

/// The outcome of an exchange, for its end-point or for the scope that was refused.
package enum ExchangeOutcome: Sendable {
  /// The response's head has arrived, with the wait that the server requests.
  case answered(status: Int, wait: Duration?)
  /// It reached the server, and failed after the first byte.
  case reached
  /// It did not reach the server: no name, no connection, no handshake or no first byte.
  case failedToReach
  /// The server reported how many more requests it accepts before its window ends.
  case quota(remaining: Int, until: Deadline)
}

/// Entries in reusable places.
struct SlotTable<Entry: Sendable>: Sendable {
  private var entries: [Entry?] = []
  private var free: [Int32] = []

  var isEmpty: Bool { entries.count == free.count }
  var slots: [Int32] { entries.indices.lazy.filter { entries[$0] != nil }.map { Int32($0) } }

  mutating func insert(_ entry: Entry) -> Int32 {
    if let slot = free.popLast() {
      entries[Int(slot)] = entry
      return slot
    }
    entries.append(entry)
    return Int32(entries.count - 1)
  }

  @discardableResult
  mutating func remove(_ slot: Int32) -> Entry? {
    defer {
      if isEmpty { (entries, free) = ([], []) }
    }
    free.append(slot)
    return entries[Int(slot)].take()
  }

  /// The place must be in use.
  subscript(slot: Int32) -> Entry {
    _read {
      // Only the scheduler accesses entries, at places that it was given: a free one is a programming error.
      guard let entry = entries[Int(slot)] else { preconditionFailure("access to a free place") }
      yield entry
    }
    _modify {
      guard var entry = entries[Int(slot)].take() else { preconditionFailure("access to a free place") }
      defer { entries[Int(slot)] = entry }
      yield &entry
    }
  }
}
