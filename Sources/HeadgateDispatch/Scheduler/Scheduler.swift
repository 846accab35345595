// Who runs, who waits: the pure half of the gate. Events go in as mutating calls, effects come out of `next()`.
//
// Every end-point has a limit and two lanes; all end-points share a total, at which they take turns. The design is
// OkHttp's one funnel with effects, less its scan over all that waits: each event costs O(1); O(log n) for a
// request that comes back or whose priority changes while it waits, where others may have to give way, and at the total.
// No thread, lock or clock is in here: time comes in as events.
//
// The events are in Scheduler+Events.swift, what they decide in Scheduler+Turns.swift, what comes out in
// Scheduler+Effects.swift.

import DequeModule
import HeadgateThreads

/// A limiter over end-points as a value. `Item` is whatever the driver wants back: it is stored and handed out, never
/// called.
package struct Scheduler<Item: Sendable>: Sendable {
  /// What the driver has to do next, with no lock held.
  package enum Effect: Sendable {
    /// The item got its permit: run it, then call `finish` once.
    case start(Item, Ticket)
    /// The item's caller was held because too many waited, and may go on. The item itself still waits.
    case admit(Item)
    /// The gate is closing: the item was taken out of its queue and will never run.
    case end(Item)
    /// Too many wait: the item was taken out of its queue for another one, and will never run.
    case shed(Item)
    /// The gate is closing at once: the item runs, and must be asked to end.
    case abort(Item)
    /// The gate is closed and empty. Comes once.
    case drained
  }

  /// What became of a submission.
  package enum Submission: Sendable {
    /// It runs from here on, as after a `start`. Only if `mayStart`.
    case started(Ticket)
    /// It runs (a `start` follows) or waits.
    case accepted(Ticket)
    /// It waits, and its caller is to be held until `admit` or `start`.
    case held(Ticket)
    /// It was not taken.
    case refused(Refusal)
  }

  package enum Refusal: Hashable, Sendable {
    case queueFull, longLaneFull, shutDown
    // A reason is large, and hardly ever there: what every submission returns must stay small.
    /// It weighs more than this budget has.
    indirect case tooHeavy(WaitReason)
    /// Its deadline lies within a pause.
    indirect case paused(WaitReason)
    /// The end-point can't be reached, and was tried often enough.
    indirect case unreachable(WaitReason)
  }

  /// Whether a submission may wait for its turn.
  package enum Patience: Sendable {
    case waits
    /// A long request that is refused unless the long lane has a place for it. (It may still wait for short requests
    /// to let go of a permit.)
    case needsLongPlace
  }

  /// As what an item comes.
  package enum Admission: Sendable {
    /// It was not known before.
    case new
    /// It was accepted before and has rested since: it has the age of its first submission, and a full queue does not refuse
    /// it.
    case returning(age: UInt64)
    /// It was expected: it has the age of its first submission, and comes also while the scheduler drains. One that was
    /// accepted before is not refused by a full queue.
    case expected(age: UInt64, wasAccepted: Bool = false)
    /// Something expected needs it before it can come, and lends it its age.
    case onBehalf(age: UInt64)
  }

  /// What a withdrawn item was doing.
  package enum Withdrawal: Sendable {
    /// It waited, and is out. The item comes back, to be let go of outside the lock.
    case waiting(Item?)
    /// It runs: it keeps its permit until `finish`.
    case running
    /// It is not here any more, or was withdrawn before.
    case gone
  }

  /// What became of a request that goes on at another end-point.
  package enum Move: Sendable {
    /// It is the same end-point, where nothing but requests under way is counted: the permit stays.
    case stays
    /// The permit was given back; the request waits at the new end-point, or a `start` follows.
    case moved
    /// As of a submission. The permit is still held: call `finish`.
    case refused(Refusal)
  }

  /// How a gate closes. Each mode goes further than the one before it.
  package enum Closing: Comparable, Sendable {
    case open
    /// Nothing new; all that was accepted runs.
    case draining
    /// What waits is ended; what runs may finish.
    case ending
    /// What runs is asked to end as well.
    case aborting
  }

  package internal(set) var limits: GateLimits
  /// Counts the changes of the limits, so that one who has read them can tell whether they are still those.
  package internal(set) var limitsVersion = 0
  package internal(set) var closing = Closing.open
  package internal(set) var running = 0
  package internal(set) var waiting = 0
  /// The most that ran at once at any one end-point, and where.
  package internal(set) var peak: (running: Int, endPoint: EndPoint?) = (0, nil)

  var nodes = NodeTable<Item>()
  var endPoints = EndPointTable()
  // End-points that were stopped by hand, whether anything waits there or not.
  var paused: Set<EndPoint> = []
  var runningLong = 0
  var shortTurns = TurnOrder(.short)
  var longTurns = TurnOrder(.long)
  // How far those have come who had their turn last.
  var virtualTime: UInt64 = 0
  var granted = NodeList()
  var held = HeldList()
  var shedding = SheddingOrder()
  var shed = Deque<Item>()
  // The age of the youngest that was submitted here.
  var lastAge: UInt64 = 0
  var nextStamp: UInt64 = 0
  var sweep: Int32 = 0
  var drainedTold = false

  // What follows is for limits that are more than counts.
  var scopes = ScopeTable()
  var demands = SlotTable<Demand>()
  var lines = SlotTable<Line>()
  var lineSlots: [Line.Key: Int32] = [:]
  var readyLines = SlotTable<ReadyLines>()
  // Named scopes that may have room again.
  var dirtyScopes: [Int32] = []
  // Starts whose true weight may still be told.
  var weighed = WeighedStarts()
  // The latest moment that it was told.
  var now = Deadline.distantPast
  // Changes of learned limits that nobody was told of yet.
  var learnedChanges: [LearnedChange] = []
  // Some limit asks for the time.
  var hasPace: Bool

  package init(limits: GateLimits) {
    self.limits = limits
    hasPace = limits.hasPace
    shedding.adopt(limits.overflow.sheddingRule, in: &nodes)
  }

  /// Requests that run, wait or are ending.
  package var alive: Int { nodes.count }

  /// Items that are elsewhere and will come, or come again. They hold nothing, and keep the scheduler from having drained.
  package internal(set) var expected = 0

  /// Whether nothing runs or waits. Expected items count only before `.ending`.
  var isEmpty: Bool { nodes.count == 0 && (expected == 0 || closing >= .ending) }

  /// End-points that are remembered: those where something runs or waits.
  package var rememberedEndPoints: Int { endPoints.busyCount }

  /// How many end-points were met for the first time, or again after they had been forgotten.
  package var metEndPoints: Int { endPoints.newCount }

  /// Whether anything runs or waits there.
  package func isBusy(_ endPoint: EndPoint) -> Bool {
    endPoints.slot(of: endPoint).map { !endPoints[$0].isResting } ?? false
  }

  /// All that run or wait, those of one end-point or of all. O(n) in them.
  package func items(at endPoint: EndPoint?) -> [Item] {
    let place = endPoint.map { endPoints.slot(of: $0) ?? -1 }
    return nodes.nodes.compactMap { $0.state == .free || place != nil && $0.endPoint != place ? nil : $0.item }
  }
}
