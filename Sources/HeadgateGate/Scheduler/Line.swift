import DequeModule
import HeadgateThreads

/// Requests that wait for one end-point in one lane and need the same scopes.
struct Line: Sendable {
  struct Key: Hashable, Sendable {
    let place: Int32
    let lane: RequestLane
    let scopes: [Int32]
  }

  let key: Key
  var queue = LaneQueue()
  /// Its group, and its position there; -1 before it has one.
  var group: Int32 = -1
  var handle: Int32 = -1
  /// The waits of all that wait here, under its group.
  var meter = WaitMeter()

  init(_ key: Key) { self.key = key }
}

/// The lines of one end-point's lane that were last blocked by the same scope, or by none. They move together between
/// that scope and the end-point, so that ten thousand lines behind one scope move as one.
struct LineGroup: Sendable {
  struct Key: Hashable, Sendable {
    let place: Int32
    let lane: RequestLane
    /// The scope, or -1.
    let scope: Int32
  }

  let key: Key
  /// Its lines, the lowest rank of their first requests first. Never empty.
  var lines = RankHeap()
  /// Whether it is registered at its end-point, where its first line may start as far as its scopes go; otherwise at
  /// its scope, which blocks it.
  var isReady: Bool
  /// Its position there, or -1.
  var handle: Int32 = -1
  /// The waits of all that wait here, under where it is registered.
  var meter = WaitMeter()

  init(_ key: Key) {
    self.key = key
    isReady = key.scope < 0
  }
}

/// Starts charged with a weight, until their actual weight is reported or no longer matters.
struct WeighedStarts: Sendable {
  private struct Start {
    let charges: [(key: ScopeRecord.Key, reservation: StartReservation)]
    let until: Deadline
  }

  /// The starts of one length of windows, in order. Starts of all lengths in one queue would stay as long as the
  /// longest of them.
  private struct Order {
    let memory: Int64
    var starts = Deque<(ticket: Ticket, until: Deadline)>()
  }

  private var starts: [Ticket: Start] = [:]
  private var orders: [Order] = []

  /// How many entries it has.
  var count: Int { starts.count + orders.reduce(0) { $0 + $1.starts.count } }

  /// - Parameter memory: How long the charges matter, in nanoseconds.
  mutating func add(
    _ ticket: Ticket, _ charges: [(key: ScopeRecord.Key, reservation: StartReservation)], at now: Deadline,
    memory: Int64
  ) {
    let until = now.advanced(byNanoseconds: memory)
    starts[ticket] = Start(charges: charges, until: until)
    let place = orders.firstIndex { $0.memory == memory } ?? orders.endIndex
    if place == orders.endIndex { orders.append(Order(memory: memory)) }
    orders[place].starts.append((ticket, until))
  }

  mutating func take(_ ticket: Ticket) -> [(key: ScopeRecord.Key, reservation: StartReservation)]? {
    starts.isEmpty ? nil : starts.removeValue(forKey: ticket)?.charges
  }

  /// Forgets starts that have left their windows. Amortized O(lengths of windows in use).
  mutating func forget(at now: Deadline) {
    guard !orders.isEmpty else { return }
    for place in orders.indices {
      while let first = orders[place].starts.first {
        // A request that was started again elsewhere is listed twice.
        let isCurrent = starts[first.ticket]?.until == first.until
        guard first.until <= now || !isCurrent else { break }
        if isCurrent { starts[first.ticket] = nil }
        orders[place].starts.removeFirst()
      }
    }
    orders.removeAll { $0.starts.isEmpty }
  }
}
