import DequeModule
import HeadgateThreads

/// Requests that wait for one end-point in one lane and need the same scopes. The next one of it stands in one place: among
/// the lines that may start at its end-point, or at the scope that keeps it.
struct Line: Sendable {
  struct Key: Hashable, Sendable {
    let place: Int32
    let lane: RequestLane
    let scopes: [Int32]
  }

  let key: Key
  var queue = LaneQueue()
  /// The scope that keeps its first one, or -1 where none does.
  var blocker: Int32 = -1
  /// Where it stands there, or -1: nowhere yet.
  var handle: Int32 = -1

  init(_ key: Key) { self.key = key }
}

/// The lines of one end-point whose first one may start as far as its scopes go, the lowest rank first. A scope may have lost
/// its room since: whoever takes the first one looks again.
struct ReadyLines: Sendable {
  private var short = RankHeap()
  private var long = RankHeap()

  subscript(lane: RequestLane) -> RankHeap {
    _read {
      switch lane {
      case .short: yield short
      case .long: yield long
      }
    }
    _modify {
      switch lane {
      case .short: yield &short
      case .long: yield &long
      }
    }
  }
}

/// Starts that were counted with a weight, until their true weight is told or makes no difference any more.
struct WeighedStarts: Sendable {
  private struct Start {
    let charges: [(key: ScopeRecord.Key, reservation: StartReservation)]
    let until: Deadline
  }

  private var starts: [Ticket: Start] = [:]
  private var order = Deque<(ticket: Ticket, until: Deadline)>()

  var count: Int { starts.count }

  mutating func add(
    _ ticket: Ticket, _ charges: [(key: ScopeRecord.Key, reservation: StartReservation)], until: Deadline
  ) {
    starts[ticket] = Start(charges: charges, until: until)
    order.append((ticket, until))
  }

  mutating func take(_ ticket: Ticket) -> [(key: ScopeRecord.Key, reservation: StartReservation)]? {
    starts.isEmpty ? nil : starts.removeValue(forKey: ticket)?.charges
  }

  /// Forgets those that have left their windows. O(1), amortized.
  mutating func forget(at now: Deadline) {
    while let first = order.first {
      // One that started again, elsewhere, stands here once more.
      let isCurrent = starts[first.ticket]?.until == first.until
      guard first.until <= now || !isCurrent else { return }
      if isCurrent { starts[first.ticket] = nil }
      order.removeFirst()
    }
  }
}
