import HeadgateThreads

/// A limit on starts other than a count of running requests: an end-point with a rate or a pause, a scope named by
/// requests, or the sockets of an end-point for requests that share none.
struct ScopeRecord: Sendable {
  enum Key: Hashable, Sendable {
    case endPoint(EndPoint)
    case named(RequestScope)
    case sockets(EndPoint)
  }

  let key: Key
  /// The place of the end-point in its table, or -1.
  var place: Int32 = -1
  /// The number of requests and end-points that refer to it.
  var users = 0

  /// Not for an end-point: the maximum number of running requests, and the number of running ones.
  var most = Int.max
  var running = 0

  /// Nil if no rate, interval or budget is set.
  var pace: Pace?
  var limiter: StartLimiter?
  /// Nil if no pause was ever needed.
  var health: EndPointHealth?
  /// Why its end-point could not be reached last. Nil if that is not known.
  var outage: String?
  /// The learned limits. Empty if nothing is learned, otherwise one element. An array, because the limits are large and
  /// rare.
  var learning: [AdaptiveLimit] = []
  /// The time of the last counted start.
  var lastStart = Deadline.distantPast
  /// The time of the last outcome reported to its health.
  var lastNote = Deadline.distantPast
  /// Since when and until when later processes believe that it is paused or can't be reached. Nil if they don't.
  var told: (since: Deadline, until: Deadline)?

  /// The groups of lines that it blocks, the lowest rank first.
  var blocked = RankHeap()
  /// All lines whose requests name it.
  var lines: Set<Int32> = []
  /// Why they wait.
  var clock = WaitClock()
  /// Something changed that may release a line. Counts as a user.
  var isDirty = false

  /// Answers matter to it, as of the last outcome.
  var isOnGuard = false

  /// Its position among the sleeping scopes, or -1, and the end of its sleep.
  var sleeper: Int32 = -1
  var wakeAt = UInt64.max
  /// The cause of the first request's sleep.
  var cause: StartCause?
  /// Its position among the unused scopes that are forgotten later, or -1.
  var leaving: Int32 = -1

  init(_ key: Key) { self.key = key }

  var scope: RequestScope? { if case .named(let scope) = key { scope } else { nil } }
  var isOfSockets: Bool { if case .sockets = key { true } else { false } }
  var isOfEndPoint: Bool { if case .endPoint = key { true } else { false } }

  // Evaluated here: an outside comparison of `scopes[scope].health` with nil reads the record after the access has
  // ended if the optimizer is off (Swift 6.3.1, found by the address sanitizer).
  var hasHealth: Bool { health != nil }
  var hasLimiter: Bool { limiter != nil }
  var hasCause: Bool { cause != nil }
  /// Whether it may delay a start until a point in time.
  var isTimed: Bool { limiter != nil || health != nil || !learning.isEmpty }

  /// Whether answers matter: it has not recovered from its last trouble, or has a quota that an answer may end, or later
  /// processes believe that it is paused.
  func needsAnswers(at now: Deadline) -> Bool {
    if let limiter, limiter.quota != nil { return true }
    if let told, told.until > now { return true }
    return health.map { $0.calmFrom > now } ?? false
  }

  /// The earliest time at which a request with these weights may start, and what delays it until then.
  func earliest(_ weights: [String: Int], at now: Deadline) -> (moment: Deadline, cause: StartCause?) {
    var (moment, cause) = limiter?.earliest(weights, at: now) ?? (now, nil)
    if let learned = learning.first, learned.notBefore > moment {
      (moment, cause) = (learned.notBefore, .learnedRate(learned.perSecond))
    }
    guard let health, health.earliest > moment else { return (moment, cause) }
    let isPaced = health.notBefore <= now
    return (health.earliest, isPaced ? .recovery(.nanoseconds(health.interval)) : nil)
  }

  /// Whether the concurrency allowed after a pause is reached.
  func isFull(at now: Deadline) -> Bool {
    guard let health, !health.isAsleep(at: now) else { return false }
    return health.room(at: now) <= 0
  }

  /// If the concurrency allowed after a pause is reached: when it will rise, if that depends on time; otherwise `.max`.
  func widens(after now: Deadline) -> UInt64 { health?.widens(after: now)?.nanoseconds ?? .max }

  /// The time until which its history matters.
  var memory: Deadline {
    var last = Deadline.distantPast
    // Consecutive failures and the state of a recovery are remembered for one minute without activity.
    if let health {
      last = min(health.calmFrom, max(health.earliest, lastNote).advanced(byNanoseconds: 60_000_000_000))
    }
    if let pace { last = max(last, lastStart.advanced(byNanoseconds: pace.memory)) }
    if let learned = learning.first {
      last = max(last, learned.lastNews.advanced(byNanoseconds: max(0, learned.policy.memory.wholeNanoseconds)))
    }
    if let quota = limiter?.quota { last = max(last, quota.until) }
    if let told { last = max(last, told.until) }
    return last
  }
}

/// All scopes in which something runs or waits, and those whose history still matters.
struct ScopeTable: Sendable {
  private var records = SlotTable<ScopeRecord>()
  private var slots: [ScopeRecord.Key: Int32] = [:]
  private var sleepers = RankHeap()
  private var leaving = RankHeap()
  /// The number of scopes to which answers matter.
  private(set) var onGuard = 0

  var isEmpty: Bool { slots.isEmpty }
  var all: [Int32] { records.slots }

  subscript(slot: Int32) -> ScopeRecord {
    _read { yield records[slot] }
    _modify { yield &records[slot] }
  }

  func slot(of key: ScopeRecord.Key) -> Int32? { slots[key] }

  /// The place of a scope, and whether it is a new one. Increments its number of users.
  mutating func take(_ key: ScopeRecord.Key) -> (slot: Int32, isNew: Bool) {
    if let slot = slots[key] {
      records[slot].users += 1
      if records[slot].leaving >= 0 { stay(slot) }
      return (slot, false)
    }
    var record = ScopeRecord(key)
    record.users = 1
    let slot = records.insert(record)
    slots[key] = slot
    return (slot, true)
  }

  /// Something was reported to a scope.
  mutating func updateGuard(of slot: Int32, at now: Deadline) {
    let isOnGuard = records[slot].needsAnswers(at: now)
    guard isOnGuard != records[slot].isOnGuard else { return }
    records[slot].isOnGuard = isOnGuard
    onGuard += isOnGuard ? 1 : -1
  }

  /// The policies of a scope have changed. Its history may matter for less time than before.
  mutating func policiesChanged(of slot: Int32, at now: Deadline) {
    updateGuard(of: slot, at: now)
    guard records[slot].leaving >= 0 else { return }
    stay(slot)
    forgetInTime(slot, at: now)
  }

  /// Increments the number of users of a scope in use.
  mutating func retain(_ slot: Int32) { records[slot].users += 1 }

  /// Decrements the number of users. A scope without users is forgotten once its history does not matter. One without a
  /// history stays for a second, because the next request is likely to need it too. O(log n).
  mutating func leave(_ slot: Int32, at now: Deadline) {
    records[slot].users -= 1
    guard records[slot].users == 0 else { return }
    sleep(slot, until: .max)
    guard !records[slot].isTimed else { return forgetInTime(slot, at: now) }
    remember(slot, until: now.advanced(byNanoseconds: 1_000_000_000))
  }

  /// Forgets up to two scopes whose history no longer matters. Over many calls, all of them are forgotten.
  mutating func forget(at now: Deadline) {
    for _ in 0..<2 {
      guard let first = leaving.first, first.rank <= now.nanoseconds else { return }
      stay(first.place)
      // Something may have been reported in the meantime.
      forgetInTime(first.place, at: now)
    }
  }

  private mutating func stay(_ slot: Int32) {
    leaving.remove(records[slot].leaving)
    records[slot].leaving = -1
  }

  /// Forgets an unused scope, now or once its history no longer matters.
  private mutating func forgetInTime(_ slot: Int32, at now: Deadline) {
    let memory = records[slot].memory
    if memory > now {
      remember(slot, until: memory)
    } else {
      slots[records[slot].key] = nil
      if records[slot].isOnGuard { onGuard -= 1 }
      records.remove(slot)
    }
  }

  private mutating func remember(_ slot: Int32, until moment: Deadline) {
    records[slot].leaving = leaving.insert(RankHeap.Key(rank: moment.nanoseconds, tie: 0, place: slot))
  }

  // MARK: Sleep

  /// The first time at which a scope wakes; `.max` if none sleeps.
  var wakeAt: UInt64 { sleepers.first?.rank ?? .max }

  /// Makes a scope sleep until a given time; `.max` for no sleep. O(log n).
  mutating func sleep(_ slot: Int32, until moment: UInt64) {
    guard records[slot].wakeAt != moment else { return }
    if records[slot].sleeper >= 0 { sleepers.remove(records[slot].sleeper) }
    records[slot].wakeAt = moment
    records[slot].sleeper =
      moment == .max ? -1 : sleepers.insert(RankHeap.Key(rank: moment, tie: 0, place: slot))
  }

  /// Removes a scope whose time has come.
  mutating func popAwake(at now: Deadline) -> Int32? {
    guard let first = sleepers.first, first.rank <= now.nanoseconds else { return nil }
    sleep(first.place, until: .max)
    return first.place
  }
}
