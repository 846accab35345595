import DequeModule
import HeadgateThreads

/// What keeps an end-point from starting its next request, besides its counts.
struct StartHolds: OptionSet, Sendable {
  let rawValue: UInt8

  /// Stopped manually: nothing starts.
  static let stopped = StartHolds(rawValue: 1)
  /// The first request of the short lane must wait for a point in time.
  static let shortSleeps = StartHolds(rawValue: 2)
  /// The first request of the long lane must wait for a point in time.
  static let longSleeps = StartHolds(rawValue: 4)
  /// The concurrency allowed after a pause, or learned, is reached.
  static let recovering = StartHolds(rawValue: 8)
  /// It has a scope record, so time or the server's reports affect what starts. Does not hold anything back itself.
  static let isWatched = StartHolds(rawValue: 16)
  /// A line with scopes may start its first short request, as far as its scopes go. Does not hold anything back.
  static let shortReady = StartHolds(rawValue: 32)
  /// The same for a long request.
  static let longReady = StartHolds(rawValue: 64)

  /// Whether more than counts decides what starts next. A property of the holds alone, because a method of the record
  /// would copy the record.
  var needReview: Bool { !isDisjoint(with: [.isWatched, .shortReady, .longReady]) }

  static func ready(_ lane: RequestLane) -> StartHolds { lane == .short ? .shortReady : .longReady }

  static let shortHolds: StartHolds = [.stopped, .shortSleeps, .recovering]
  static let longHolds: StartHolds = [.stopped, .longSleeps, .recovering]
}

/// A value for each lane.
struct ByLane<Value: Sendable>: Sendable {
  private var short: Value
  private var long: Value

  /// The same value for both.
  init(_ value: Value) { (short, long) = (value, value) }

  subscript(lane: RequestLane) -> Value {
    // Not `_read`, which allocates memory for each call; and forced, because a call would copy the value.
    @inline(__always) get {
      switch lane {
      case .short: short
      case .long: long
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

/// How often servers refused, and how often a pause began or was extended.
struct Troubles: Hashable, Sendable {
  var refusals = 0
  var pauses = 0

  mutating func add(_ outcome: ExchangeOutcome, _ pause: EndPointPause?) {
    if outcome.isRefusal || outcome.isUnavailable { refusals += 1 }
    if pause != nil { pauses += 1 }
  }
}

/// The scheduler's data about an end-point while something runs or waits there.
struct EndPointRecord: Sendable {
  let endPoint: EndPoint
  var limits: EndPointLimits
  var running = 0
  var runningLong = 0
  // The requests without scopes that wait.
  var queues = ByLane(LaneQueue())
  // Its position in the turn orders at the total limit, or -1.
  var turns = ByLane<Int32>(-1)
  // Its progress at the total limit; see TurnOrder.
  var pass: UInt64 = 0
  // What keeps its next request from starting.
  var holds: StartHolds = []
  // The transport has observed that one socket carries several requests: HTTP/2.
  var multiplexes = false
  // Nothing runs or waits here, or its place in the table is free.
  var isResting = false
  // It is in the list of idle end-points.
  var isListed = false
  var troubles = Troubles()
  // Its place in the scope table if it is watched, or -1.
  var scope: Int32 = -1
  // The number of requests that wait in lines with scopes.
  var lined = ByLane<Int32>(0)
  // The groups of lines whose first request may start as far as its scopes go, the lowest rank first. A scope may have
  // lost its room since, so it is checked again before a start.
  var ready = ByLane(RankHeap())
  // Its place in the table of books, or -1 if no request has waited here.
  var book: Int32 = -1

  var isIdle: Bool { running == 0 && waiting(.short) == 0 && waiting(.long) == 0 }

  /// Stopped manually: nothing starts.
  var isStopped: Bool {
    get { holds.contains(.stopped) }
    set { if newValue { holds.insert(.stopped) } else { holds.remove(.stopped) } }
  }

  /// The number of requests that wait in a lane, including those in lines with scopes.
  @inline(__always)
  func waiting(_ lane: RequestLane) -> Int { queues[lane].count + Int(lined[lane]) }

  /// Whether the first request of a lane could run as far as this end-point's own limits go.
  // Forced, like `hasRoom`: a call would first copy the whole record.
  @inline(__always)
  func isEligible(_ lane: RequestLane) -> Bool {
    waits(lane) && hasRoom(for: lane)
  }

  /// Whether a request waits in a lane whose scopes have room.
  func waits(_ lane: RequestLane) -> Bool { !queues[lane].isEmpty || holds.contains(.ready(lane)) }

  /// The maximum number of running requests: without HTTP/2 each needs its own socket.
  var most: Int { multiplexes ? limits.requests : limits.connections }

  /// The maximum number of long requests among them.
  @inline(__always)
  var mostLong: Int { multiplexes ? limits.long : limits.longOverSockets }

  /// The maximum number of running requests that have a socket of their own. Where others share a socket, one is left for
  /// them, unless long requests may use every socket.
  var mostWithSocket: Int {
    multiplexes && limits.keepsRoomForShort ? max(1, limits.connections - 1) : limits.connections
  }

  @inline(__always)
  func hasRoom(for lane: RequestLane) -> Bool {
    lane == .short
      ? running < most && holds.isDisjoint(with: .shortHolds)
      : running < most && runningLong < mostLong && holds.isDisjoint(with: .longHolds)
  }

  /// Whether its counts and manual stops let the first request of a lane start, regardless of time.
  func hasPlace(for lane: RequestLane) -> Bool {
    running < most && !isStopped && (lane == .short || runningLong < mostLong)
  }

  /// Whether the long lane has no place left, counting the requests that wait for one.
  var isLongLaneFull: Bool { runningLong + waiting(.long) >= mostLong }
}

/// All end-points where something runs or waits, and some of the most recently idle ones, so that a program that
/// alternates between end-points finds their records again. Others are forgotten, so that a crawl over millions of
/// hosts needs memory only for the busy ones.
struct EndPointTable: Sendable {
  private static let mostIdle = 1024

  private var records: [EndPointRecord] = []
  private var slots: [EndPoint: Int32] = [:]
  private var free: [Int32] = []
  // The end-points that became idle, the oldest first. One that is busy again keeps its place until it is the oldest,
  // so that the change between busy and idle, which happens with every single request, touches no list.
  private var idle: Deque<Int32> = []
  private var idleCount = 0
  /// What the requests of each end-point waited for.
  var books = SlotTable<WaitBook>()
  /// How many end-points were met for the first time, or again after they had been forgotten.
  private(set) var newCount = 0

  /// The number of end-points where something runs or waits.
  var busyCount: Int { slots.count - idleCount }
  var busySlots: [Int32] {
    records.indices.lazy.filter { !records[$0].isResting }.map { Int32($0) }
  }
  /// The end-points where something runs or waits, and the idle ones that have refused requests.
  var toldSlots: [Int32] {
    records.indices.lazy.filter { !records[$0].isResting || records[$0].troubles != Troubles() }.map { Int32($0) }
  }

  subscript(slot: Int32) -> EndPointRecord {
    _read { yield records[Int(slot)] }
    _modify { yield &records[Int(slot)] }
  }

  func slot(of endPoint: EndPoint) -> Int32? { slots[endPoint] }

  /// The place of an end-point that is known, to be used now. Nil for others.
  mutating func wake(_ endPoint: EndPoint) -> Int32? {
    guard let slot = slot(of: endPoint) else { return nil }
    if records[Int(slot)].isResting {
      records[Int(slot)].isResting = false
      idleCount -= 1
    }
    return slot
  }

  /// A new place.
  mutating func add(_ record: EndPointRecord) -> Int32 {
    newCount &+= 1
    let slot: Int32
    if let reused = free.popLast() {
      slot = reused
      records[Int(slot)] = record
    } else {
      slot = Int32(records.count)
      records.append(record)
    }
    slots[record.endPoint] = slot
    return slot
  }

  /// Nothing runs or waits there any more. It is kept among the recently idle ones, and the oldest of those is
  /// forgotten. Amortized O(1).
  mutating func rest(_ slot: Int32) {
    guard !records[Int(slot)].isResting else { return }
    records[Int(slot)].isResting = true
    idleCount += 1
    if !records[Int(slot)].isListed {
      records[Int(slot)].isListed = true
      idle.append(slot)
    }
    while idleCount > Self.mostIdle { dropEldest() }
  }

  /// Gives the idle end-points other limits. Only those are kept of which something is known: that they multiplex, which
  /// the next request would miss, or that they have refused requests.
  mutating func adoptIdle(_ limits: GateLimits) {
    for _ in 0..<idle.count {
      guard let slot = idle.first else { return }
      if records[Int(slot)].isResting, records[Int(slot)].multiplexes || records[Int(slot)].troubles != Troubles() {
        records[Int(slot)].limits = limits.of(records[Int(slot)].endPoint)
        idle.append(idle.removeFirst())
      } else {
        dropEldest()
      }
    }
  }

  private mutating func dropEldest() {
    let slot = idle.removeFirst()
    records[Int(slot)].isListed = false
    guard records[Int(slot)].isResting else { return }
    idleCount -= 1
    slots[records[Int(slot)].endPoint] = nil
    records[Int(slot)].troubles = Troubles()
    closeBook(of: slot)
    free.append(slot)
    if slots.count == 0, records.count > 1024 {
      let known = newCount
      self = EndPointTable()
      newCount = known
    }
  }

  // MARK: Books

  /// The place of an end-point's book: an existing or a new one.
  mutating func book(of slot: Int32) -> Int32 {
    if records[Int(slot)].book < 0 { records[Int(slot)].book = books.insert(WaitBook()) }
    return records[Int(slot)].book
  }

  private mutating func closeBook(of slot: Int32) {
    guard records[Int(slot)].book >= 0 else { return }
    books.remove(records[Int(slot)].book)
    records[Int(slot)].book = -1
  }
}
