/// What keeps an end-point from starting its next request, beside its counts.
struct StartHolds: OptionSet, Sendable {
  let rawValue: UInt8

  /// Stopped by hand: nothing starts.
  static let stopped = StartHolds(rawValue: 1)
  /// The first of the short lane has to wait for a moment.
  static let shortSleeps = StartHolds(rawValue: 2)
  /// The first of the long lane has to wait for a moment.
  static let longSleeps = StartHolds(rawValue: 4)
  /// As many run as may after a sleep, or as was learned.
  static let recovering = StartHolds(rawValue: 8)
  /// It has a scope record: time, or what its server said, has a say in what starts. Holds nothing back itself.
  static let isWatched = StartHolds(rawValue: 16)
  /// A line with scopes may start its first short one, as far as its scopes go. Holds nothing back.
  static let shortReady = StartHolds(rawValue: 32)
  /// The same for a long one.
  static let longReady = StartHolds(rawValue: 64)

  /// Whether more than counts decides what starts next. Asked of these alone: of the whole record it would be a copy of that.
  var needReview: Bool { !isDisjoint(with: [.isWatched, .shortReady, .longReady]) }

  static let shortHolds: StartHolds = [.stopped, .shortSleeps, .recovering]
  static let longHolds: StartHolds = [.stopped, .longSleeps, .recovering]
}

/// What the scheduler knows of one end-point while something runs or waits there.
struct EndPointRecord: Sendable {
  // Nil marks an empty place of the table.
  var endPoint: EndPoint?
  var limits: EndPointLimits
  var running = 0
  var runningLong = 0
  var short = LaneQueue()
  var long = LaneQueue()
  // Where it stands in the orders of turns at the total, or -1.
  var shortTurn: Int32 = -1
  var longTurn: Int32 = -1
  // How far it has come at the total: see TurnOrder.
  var pass: UInt64 = 0
  // What keeps its next request from starting.
  var holds: StartHolds = []
  // One socket carries several requests, as the transport has seen: HTTP/2.
  var multiplexes = false
  // Nothing runs or waits here.
  var isResting = false
  // It stands in the list of those that became idle, before this one.
  var isListed = false
  var nextIdle: Int32 = -1
  // Its place in the table of scopes, where it is watched, or -1.
  var scope: Int32 = -1
  // Its place in the table of the lines that may start, where requests with scopes wait, or -1.
  var lines: Int32 = -1
  // How many wait in lines with scopes, and how many of those are long.
  var lined: Int32 = 0
  var linedLong: Int32 = 0

  init(endPoint: EndPoint?, limits: EndPointLimits) {
    self.endPoint = endPoint
    self.limits = limits
  }

  var isIdle: Bool { running == 0 && short.isEmpty && long.isEmpty && lined == 0 }

  /// Stopped by hand: nothing starts.
  var isPaused: Bool {
    get { holds.contains(.stopped) }
    set { if newValue { holds.insert(.stopped) } else { holds.remove(.stopped) } }
  }

  /// How many wait in a lane, those in lines with scopes too.
  func waiting(_ lane: RequestLane) -> Int {
    lane == .short ? short.count + Int(lined - linedLong) : long.count + Int(linedLong)
  }

  /// Whether the first of a lane could run as far as this end-point's own limits go.
  // Forced, as `hasRoom`: called, each copies the whole record first.
  @inline(__always)
  func isEligible(_ lane: RequestLane) -> Bool {
    waits(lane) && hasRoom(for: lane)
  }

  /// Whether somebody waits in a lane whose scopes have room.
  func waits(_ lane: RequestLane) -> Bool {
    lane == .short
      ? !short.isEmpty || holds.contains(.shortReady) : !long.isEmpty || holds.contains(.longReady)
  }

  /// How many may run: without HTTP/2 each needs a socket of its own.
  var most: Int { multiplexes ? limits.requests : limits.connections }

  @inline(__always)
  func hasRoom(for lane: RequestLane) -> Bool {
    lane == .short
      ? running < most && holds.isDisjoint(with: .shortHolds)
      : running < most && runningLong < limits.long && holds.isDisjoint(with: .longHolds)
  }

  /// Whether its counts and hands let the first of a lane go, whatever the time is.
  func hasPlace(for lane: RequestLane) -> Bool {
    running < most && !isPaused && (lane == .short || runningLong < limits.long)
  }

  /// Whether the long lane has no place left, counting those that wait for one.
  var isLongLaneFull: Bool { runningLong + waiting(.long) >= limits.long }

  subscript(lane: RequestLane) -> LaneQueue {
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

  subscript(turn lane: RequestLane) -> Int32 {
    get { lane == .short ? shortTurn : longTurn }
    set { if lane == .short { shortTurn = newValue } else { longTurn = newValue } }
  }
}

/// All end-points where something runs or waits, and a few that were left last: a program that asks one end-point after
/// another finds it again with all that belongs to it. All others are forgotten, so that a crawl over millions of hosts
/// needs the memory of those that it is busy with.
struct EndPointTable: Sendable {
  private static let mostIdle = 1024

  private var records: [EndPointRecord] = []
  private var slots: [EndPoint: Int32] = [:]
  private var free: [Int32] = []
  // Those that became idle, the eldest first. One that is busy again stays in its place until it is the eldest: to come
  // and to go, as an end-point does with every single request, touches no list.
  private var firstIdle: Int32 = -1
  private var lastIdle: Int32 = -1
  private var idleCount = 0
  /// How many end-points were new here so far.
  private(set) var newCount = 0

  /// End-points where something runs or waits.
  var busyCount: Int { slots.count - idleCount }
  var busySlots: [Int32] {
    records.indices.lazy.filter { records[$0].endPoint != nil && !records[$0].isResting }.map { Int32($0) }
  }

  subscript(slot: Int32) -> EndPointRecord {
    _read { yield records[Int(slot)] }
    _modify { yield &records[Int(slot)] }
  }

  func slot(of endPoint: EndPoint) -> Int32? { slots[endPoint] }

  /// The end-point's place: where it is, or a new one.
  mutating func take(_ endPoint: EndPoint, _ limits: GateLimits, paused: Set<EndPoint>) -> Int32 {
    if let slot = slot(of: endPoint) {
      if records[Int(slot)].isResting {
        records[Int(slot)].isResting = false
        idleCount -= 1
      }
      return slot
    }
    newCount &+= 1
    var record = EndPointRecord(endPoint: endPoint, limits: limits.of(endPoint))
    record.isPaused = !paused.isEmpty && paused.contains(endPoint)
    let slot: Int32
    if let reused = free.popLast() {
      slot = reused
      records[Int(slot)] = record
    } else {
      slot = Int32(records.count)
      records.append(record)
    }
    slots[endPoint] = slot
    return slot
  }

  /// Nothing runs or waits there any more: it is kept among the last few, and the eldest of those is forgotten. O(1)
  /// over all calls.
  mutating func rest(_ slot: Int32) {
    guard !records[Int(slot)].isResting else { return }
    records[Int(slot)].isResting = true
    idleCount += 1
    if !records[Int(slot)].isListed {
      records[Int(slot)].isListed = true
      records[Int(slot)].nextIdle = -1
      if lastIdle >= 0 { records[Int(lastIdle)].nextIdle = slot } else { firstIdle = slot }
      lastIdle = slot
    }
    while idleCount > Self.mostIdle { dropEldest() }
  }

  /// Forgets all idle ones: their limits may be others by now.
  mutating func forgetIdle() {
    while firstIdle >= 0 { dropEldest() }
  }

  private mutating func dropEldest() {
    let slot = firstIdle
    firstIdle = records[Int(slot)].nextIdle
    if firstIdle < 0 { lastIdle = -1 }
    records[Int(slot)].isListed = false
    guard records[Int(slot)].isResting, let endPoint = records[Int(slot)].endPoint else { return }
    idleCount -= 1
    slots[endPoint] = nil
    records[Int(slot)] = EndPointRecord(endPoint: nil, limits: .standard)
    free.append(slot)
    if slots.count == 0, records.count > 1024 {
      let known = newCount
      self = EndPointTable()
      newCount = known
    }
  }
}
