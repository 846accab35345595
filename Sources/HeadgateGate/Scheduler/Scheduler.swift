// Decides which requests run and which wait: the pure half of the gate. Events go in as mutating calls, and effects
// come out of `next()`.
//
// Every end-point has a limit and two lanes. All end-points share a total limit, at which they take turns. The design
// is OkHttp's single dispatch method, with effects, and without its scan over all waiting requests. Each event costs
// O(1), with exceptions that cost O(log n): a request that returns, a change of priority while waiting, requests that
// can be displaced, callers that are held, and turns at the total limit. It contains no thread, lock or clock: time is
// an argument of the events.
//
// The events are in Scheduler+Events.swift, their decisions in Scheduler+Turns.swift, and the effects at the end of
// this file.

import DequeModule
import HeadgateThreads

/// A limiter of requests to end-points, as a value. `Item` is chosen by the driver: it is stored and returned, never
/// called.
package struct Scheduler<Item: Sendable>: Sendable {
  /// What the driver must do next, with no lock held.
  package enum Effect: Sendable {
    /// The item got its permit: run it, then call `finish` once.
    case start(Item, Ticket)
    /// The item's caller was held because the queue was full, and may continue. The item itself still waits.
    case admit(Item)
    /// The gate is closing: the item was removed from its queue and will never run.
    case end(Item)
    /// The queue is full: the item was displaced from it and will never run.
    case shed(Item)
    /// The gate is closing at once: the item is running and must be asked to end.
    case abort(Item)
    /// The gate is closed and empty. Occurs once.
    case drained
  }

  package internal(set) var limits: GateLimits
  /// Counts the changes of the limits, so that a reader can tell whether they have changed.
  package internal(set) var limitsVersion = 0
  package internal(set) var closing = Closing.open
  package internal(set) var running = 0
  package internal(set) var waiting = 0
  /// The highest number of requests that ran at a time at one end-point, and that end-point.
  package internal(set) var peak: (running: Int, endPoint: EndPoint?) = (0, nil)

  /// All refusals and pauses so far.
  var troubles = Troubles()
  var nodes = NodeTable<Item>()
  var endPoints = EndPointTable()
  // The end-points that were stopped manually, whether or not a request waits there.
  var stopped: Set<EndPoint> = []
  var runningLong = 0
  var shortTurns = TurnOrder(.short)
  var longTurns = TurnOrder(.long)
  // The progress of the end-points that had their turn last.
  var virtualTime: UInt64 = 0
  var granted = NodeList()
  // The requests whose callers are held because the queue is full, in the order of arrival. They are in their lanes at
  // the same time.
  var held = RankHeap()
  var heldCount = 0
  var shedding = SheddingOrder()
  var shed = Deque<(item: Item, waited: WaitTimes)>()
  /// How long the item of the last effect waited: one that starts, ends or was displaced.
  package internal(set) var waited = WaitTimes()
  /// The meters of the requests that wait, or wait no more and were not told so.
  var meters = SlotTable<WaitMeter>()
  /// Of the requests that wait no more.
  var pastWaits = WaitSums()
  // The age of the newest request submitted here.
  var lastAge: UInt64 = 0
  var nextStamp: UInt64 = 0
  var sweep: Int32 = 0
  var drainedTold = false

  // The following properties are for limits other than counts.
  var scopes = ScopeTable()
  var demands = SlotTable<Demand>()
  var lines = SlotTable<Line>()
  var lineSlots: [Line.Key: Int32] = [:]
  // The lines of each end-point.
  var linesAt: [Int32: Set<Int32>] = [:]
  var groups = SlotTable<LineGroup>()
  var groupSlots: [LineGroup.Key: Int32] = [:]
  // Scopes that may have room again. While the total is full, they wait for it.
  var dirtyScopes: [Int32] = []
  /// How often a line was moved between a scope and an end-point: what an event at a scope costs.
  var offers: UInt64 = 0
  /// How many requests and lines were looked at to find those that wait for something: what a pause costs.
  var visits: UInt64 = 0
  // Starts whose actual weight may still be reported.
  var weighed = WeighedStarts()
  // The latest known time.
  var now = Deadline.distantPast
  // Changes of learned limits that have not been reported yet.
  var learnedChanges: [LearnedChange] = []
  // Whether some limit depends on time.
  var hasPace: Bool
  // Whether limits are learned.
  var learns: Bool

  package init(limits: GateLimits) {
    self.limits = limits
    hasPace = limits.hasPace
    learns = limits.adaptive != nil
    shedding.adopt(limits.overflow.sheddingRule, in: &nodes)
  }

  /// The number of items that are elsewhere and will come or return. They hold nothing, but while there are any the
  /// scheduler has not drained.
  package internal(set) var expected = 0

  /// Whether nothing runs or waits. Expected items count only before `.ending`.
  var isEmpty: Bool { nodes.count == 0 && (expected == 0 || closing >= .ending) }

  /// Whether a request runs or waits there.
  package func isBusy(_ endPoint: EndPoint) -> Bool {
    endPoints.slot(of: endPoint).map { !endPoints[$0].isResting } ?? false
  }

  /// All requests that run or wait, at one end-point or at all of them. O(n) in all requests.
  package func items(at endPoint: EndPoint?) -> [Item] {
    let place = endPoint.map { endPoints.slot(of: $0) ?? -1 }
    return nodes.nodes.compactMap { $0.state == .free || place != nil && $0.endPoint != place ? nil : $0.item }
  }
}

// MARK: - Held callers

extension Scheduler {
  /// Whether the queue has room for the first request whose caller is held because it was full.
  var mayAdmit: Bool { heldCount > 0 && waiting - heldCount < limits.waiting }

  mutating func hold(_ slot: Int32) {
    heldCount += 1
    nextStamp += 1
    nodes[slot].held = held.insert(RankHeap.Key(rank: nextStamp, tie: 0, place: slot))
  }

  mutating func release(held slot: Int32) {
    heldCount -= 1
    held.remove(nodes[slot].held)
    nodes[slot].held = -1
  }
}

// MARK: Effects

extension Scheduler {
  /// The next effect, or nil. O(1), except while the gate closes: then all calls together visit each item once.
  package mutating func next() -> Effect? {
    defer { checkInvariants() }
    if granted.first >= 0 {
      let slot = granted.first
      granted.remove(slot, in: &nodes)
      nodes[slot].state = .running
      waited = takeWaits(of: slot)
      if let item = nodes[slot].item {
        return .start(item, nodes.ticket(slot))
      }
    }
    if let last = shed.popFirst() {
      waited = last.waited
      return .shed(last.item)
    }
    if mayAdmit, let slot = held.first?.place {
      release(held: slot)
      if let item = nodes[slot].item { return .admit(item) }
    }
    return closing == .open ? nil : nextOfClosing()
  }

  /// Whether `next()` would return something now.
  package var hasEffects: Bool {
    granted.first >= 0 || !shed.isEmpty || mayAdmit
      || closing != .open && (mustSweep || !drainedTold && isEmpty)
  }

  /// Whether items remain to be checked because the gate is closing. A draining gate ends only requests that can't run:
  /// those that wait for an end-point that was stopped manually.
  private var mustSweep: Bool {
    sweep < nodes.nodes.count && (closing >= .ending || closing == .draining && !stopped.isEmpty)
  }

  private mutating func nextOfClosing() -> Effect? {
    while mustSweep {
      let slot = sweep
      sweep += 1
      switch nodes[slot].state {
      case .waiting where closing >= .ending || endPoints[nodes[slot].endPoint].isStopped:
        let item = expel(slot)
        if isTimed { pump() }
        if let item { return .end(item) }
      case .running where closing == .aborting:
        nodes[slot].state = .ending
        if let item = nodes[slot].item { return .abort(item) }
      default: break
      }
    }
    guard isEmpty, !drainedTold else { return nil }
    drainedTold = true
    return .drained
  }
}
