import HeadgateThreads

/// What a request needs to start beside a permit of its end-point.
package struct StartNeeds: Sendable {
  /// Without repetitions.
  let scopes: [RequestScope]
  let weights: [String: Int]

  package init(scopes: [RequestScope] = [], weights: [String: Int] = [:]) {
    var seen: Set<RequestScope> = []
    self.scopes = scopes.filter { seen.insert($0).inserted }
    self.weights = weights
  }

  /// Nil where there is nothing.
  static func of(_ scopes: [RequestScope], _ weights: [String: Int]) -> StartNeeds? {
    scopes.isEmpty && weights.isEmpty ? nil : StartNeeds(scopes: scopes, weights: weights)
  }
}

/// What the scheduler keeps of a request that needs more than a permit, or that was counted by a limit on starts.
struct Demand: Sendable {
  var weights: [String: Int] = [:]
  // Places of the scope table, in the order in which the request names them.
  var scopes: [Int32] = []
  // While it waits with others of the same scopes: their line, or -1.
  var line: Int32 = -1
  // Since it started: how each of its scopes has counted it.
  var charges: [Charge] = []
}

/// A start as one scope has counted it.
struct Charge: Sendable {
  let scope: Int32
  // Nil where the scope limits no starts.
  let reservation: StartReservation?
  // Nil where the scope looks after no health.
  let mark: UInt32?
  // Nil where nothing is learned, or the answer has been told.
  var start: AdaptiveLimit.Start?
}

/// What an exchange tells of its end-point, or of the scope that was refused.
package enum ExchangeOutcome: Sendable {
  /// The response's head has come, with the wait that the server asks for.
  case answered(status: Int, wait: Duration?)
  /// It was reached, and failed later than its first byte.
  case reached
  /// It was not reached: no name, no connection, no handshake or no first byte.
  case failedToReach
  /// The server has said how many more it takes before its window ends.
  case quota(remaining: Int, until: Deadline)
}

/// Entries in places that are used again.
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
      // Only the scheduler asks, for places that it was given: an empty one is a fault of its own.
      guard let entry = entries[Int(slot)] else { preconditionFailure("an empty place is asked for") }
      yield entry
    }
    _modify {
      guard var entry = entries[Int(slot)].take() else { preconditionFailure("an empty place is asked for") }
      defer { entries[Int(slot)] = entry }
      yield &entry
    }
  }
}
