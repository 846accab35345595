import DequeModule
import HeadgateThreads

/// Requests that wait for one end-point in one lane and need the same scopes. Its next request is registered in one
/// place: among the end-point's ready lines, or at the scope that blocks it.
struct Line: Sendable {
  struct Key: Hashable, Sendable {
    let place: Int32
    let lane: RequestLane
    let scopes: [Int32]
  }

  let key: Key
  var queue = LaneQueue()
  /// The scope that blocks its first request, or -1.
  var blocker: Int32 = -1
  /// Its position there, or -1 before it has one.
  var handle: Int32 = -1

  init(_ key: Key) { self.key = key }
}

/// Starts charged with a weight, until their actual weight is reported or no longer matters.
struct WeighedStarts: Sendable {
  private struct Start {
    let charges: [(key: ScopeRecord.Key, reservation: StartReservation)]
    let until: Deadline
  }

  private var starts: [Ticket: Start] = [:]
  private var order = Deque<(ticket: Ticket, until: Deadline)>()

  mutating func add(
    _ ticket: Ticket, _ charges: [(key: ScopeRecord.Key, reservation: StartReservation)], until: Deadline
  ) {
    starts[ticket] = Start(charges: charges, until: until)
    order.append((ticket, until))
  }

  mutating func take(_ ticket: Ticket) -> [(key: ScopeRecord.Key, reservation: StartReservation)]? {
    starts.isEmpty ? nil : starts.removeValue(forKey: ticket)?.charges
  }

  /// Forgets starts that have left their windows. Amortized O(1).
  mutating func forget(at now: Deadline) {
    while let first = order.first {
      // A request that was started again elsewhere is listed twice.
      let isCurrent = starts[first.ticket]?.until == first.until
      guard first.until <= now || !isCurrent else { return }
      if isCurrent { starts[first.ticket] = nil }
      order.removeFirst()
    }
  }
}
