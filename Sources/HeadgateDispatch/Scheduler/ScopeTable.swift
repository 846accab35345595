import HeadgateThreads

/// What limits starts by more than a count of those under way: an end-point with a rate or a pause, or a scope that requests
/// name.
struct ScopeRecord: Sendable {
  enum Key: Hashable, Sendable {
    case endPoint(EndPoint)
    case named(RequestScope)
  }

  let key: Key
  /// Where the end-point stands in its table, or -1.
  var place: Int32 = -1
  /// Requests and end-points that refer to it.
  var users = 0

  /// For a scope that requests name: how many may run, and how many do.
  var most = Int.max
  var running = 0

  /// Nil where no rate, interval or budget is set.
  var pace: Pace?
  var limiter: StartLimiter?
  /// Nil where no pause was ever needed.
  var health: EndPointHealth?
  /// What its refusals have taught; empty where nothing is to be learned. One at most: an array, because it is large and
  /// hardly ever there.
  var learning: [AdaptiveLimit] = []
  /// When a start was counted last.
  var lastStart = Deadline.distantPast
  /// When its health was told something last.
  var lastNote = Deadline.distantPast

  /// The lines whose first one it keeps from starting, the lowest rank first.
  var blocked = RankHeap()
  /// Something changed that may let one of those go.
  var isDirty = false

  /// Where it stands among those that sleep, and until when; -1.
  var sleeper: Int32 = -1
  var wakeAt = UInt64.max
  /// What the first in line sleeps for.
  var cause: StartCause?
  /// Where it stands among those that nobody refers to and that are forgotten later; -1.
  var leaving: Int32 = -1

  init(_ key: Key) { self.key = key }

  var scope: RequestScope? { if case .named(let scope) = key { scope } else { nil } }

  // Asked in here: a comparison of `scopes[scope].health` with nil, outside, reads the record after the access has ended
  // where the optimizer is off (Swift 6.3.1, found by the address sanitizer).
  var hasHealth: Bool { health != nil }
  var hasLimiter: Bool { limiter != nil }
  var hasCause: Bool { cause != nil }

  /// When one that weighs so much may start, as far as time goes.
  func earliest(_ weights: [String: Int], at now: Deadline) -> (moment: Deadline, cause: StartCause?) {
    var (moment, cause) = limiter?.earliest(weights, at: now) ?? (now, nil)
    if let learned = learning.first, learned.notBefore > moment {
      (moment, cause) = (learned.notBefore, .learnedRate(learned.perSecond))
    }
    guard let health, health.earliest > moment else { return (moment, cause) }
    let isPaced = health.notBefore <= now
    return (health.earliest, isPaced ? .recovery(.nanoseconds(health.distance)) : nil)
  }

  /// After its sleep, whether as many run as may.
  func isFull(at now: Deadline) -> Bool {
    guard let health, !health.isAsleep(at: now) else { return false }
    return health.room(at: now) <= 0
  }

  /// Where as many run as may after its sleep: when more may, as far as that is a question of time; `.max`.
  func widens(after now: Deadline) -> UInt64 { health?.widens(after: now)?.nanoseconds ?? .max }

  /// Until when what it knows is of any meaning.
  var memory: Deadline {
    var last = Deadline.distantPast
    // Failures in a row, and the way back from a sleep, are remembered for a minute of silence.
    if let health { last = max(health.earliest, lastNote).advanced(byNanoseconds: 60_000_000_000) }
    if let pace { last = max(last, lastStart.advanced(byNanoseconds: pace.memory)) }
    if let learned = learning.first {
      last = max(last, learned.lastNews.advanced(byNanoseconds: max(0, learned.policy.memory.wholeNanoseconds)))
    }
    if let quota = limiter?.quota { last = max(last, quota.until) }
    return last
  }
}

/// All scopes that something runs or waits in, and those whose past still matters.
struct ScopeTable: Sendable {
  private var records = SlotTable<ScopeRecord>()
  private var slots: [ScopeRecord.Key: Int32] = [:]
  private var sleepers = RankHeap()
  private var leaving = RankHeap()

  var isEmpty: Bool { slots.isEmpty }
  var count: Int { slots.count }
  var all: [Int32] { records.slots }

  subscript(slot: Int32) -> ScopeRecord {
    _read { yield records[slot] }
    _modify { yield &records[slot] }
  }

  func slot(of key: ScopeRecord.Key) -> Int32? { slots[key] }

  /// The scope's place, where it is or a new one; one more refers to it.
  mutating func take(_ key: ScopeRecord.Key, make: () -> ScopeRecord) -> Int32 {
    if let slot = slots[key] {
      records[slot].users += 1
      if records[slot].leaving >= 0 {
        leaving.remove(records[slot].leaving)
        records[slot].leaving = -1
      }
      return slot
    }
    var record = make()
    record.users = 1
    let slot = records.insert(record)
    slots[key] = slot
    return slot
  }

  /// One less refers to it. It is forgotten once none does and its past does not matter. O(log n).
  mutating func leave(_ slot: Int32, at now: Deadline) {
    records[slot].users -= 1
    guard records[slot].users == 0 else { return }
    sleep(slot, until: .max)
    let memory = records[slot].memory
    if memory <= now { return drop(slot) }
    records[slot].leaving = leaving.insert(RankHeap.Key(rank: memory.nanoseconds, tie: 0, place: slot))
  }

  /// Forgets up to two whose past does not matter any more: over all calls, all of them.
  mutating func forget(at now: Deadline) {
    for _ in 0..<2 {
      guard let first = leaving.first, first.rank <= now.nanoseconds else { return }
      leaving.remove(records[first.place].leaving)
      records[first.place].leaving = -1
      let memory = records[first.place].memory
      if memory <= now {
        drop(first.place)
      } else {
        // It was told something meanwhile.
        records[first.place].leaving = leaving.insert(
          RankHeap.Key(rank: memory.nanoseconds, tie: 0, place: first.place))
      }
    }
  }

  private mutating func drop(_ slot: Int32) {
    if let record = records.remove(slot) { slots[record.key] = nil }
  }

  // MARK: Sleep

  /// The first moment at which one of them wakes; `.max`: none sleeps.
  var wakeAt: UInt64 { sleepers.first?.rank ?? .max }

  /// Lets one sleep until a moment; `.max`: not at all. O(log n).
  mutating func sleep(_ slot: Int32, until moment: UInt64) {
    guard records[slot].wakeAt != moment else { return }
    if records[slot].sleeper >= 0 { sleepers.remove(records[slot].sleeper) }
    records[slot].wakeAt = moment
    records[slot].sleeper =
      moment == .max ? -1 : sleepers.insert(RankHeap.Key(rank: moment, tie: 0, place: slot))
  }

  /// Takes out one whose time has come.
  mutating func popAwake(at now: Deadline) -> Int32? {
    guard let first = sleepers.first, first.rank <= now.nanoseconds else { return nil }
    sleep(first.place, until: .max)
    return first.place
  }
}
