/// What the scheduler knows of one end-point while something runs or waits there.
struct EndPointRecord: Sendable {
  // Nil marks an empty place of the table.
  var endPoint: EndPoint?
  var limits: EndPointLimits
  var running = 0
  var runningLong = 0
  var short = Lane()
  var long = Lane()
  var shortTurn = TurnLink()
  var longTurn = TurnLink()
  // Its place among the idle ones.
  var nextIdle: Int32 = -1
  var previousIdle: Int32 = -1
  var isResting = false

  var isIdle: Bool { running == 0 && short.isEmpty && long.isEmpty }

  /// Whether the first of a lane could run as far as this end-point's own limits go.
  func isEligible(_ requestClass: RequestClass) -> Bool {
    switch requestClass {
    case .short: !short.isEmpty && running < limits.requests
    case .long: !long.isEmpty && running < limits.requests && runningLong < limits.long
    }
  }

  /// Whether the long lane has no place left, counting those that wait for one.
  var isLongLaneFull: Bool { runningLong + long.count >= limits.long }

  subscript(lane requestClass: RequestClass) -> Lane {
    _read {
      switch requestClass {
      case .short: yield short
      case .long: yield long
      }
    }
    _modify {
      switch requestClass {
      case .short: yield &short
      case .long: yield &long
      }
    }
  }

  subscript(turn requestClass: RequestClass) -> TurnLink {
    get { requestClass == .short ? shortTurn : longTurn }
    set { if requestClass == .short { shortTurn = newValue } else { longTurn = newValue } }
  }
}

/// All end-points where something runs or waits, and a few that were left last: a program that asks one end-point after
/// another finds it again without hashing it anew. All others are forgotten, so that a crawl over millions of hosts
/// needs the memory of those that it is busy with.
struct EndPointTable: Sendable {
  private static let mostIdle = 1024

  private var records: [EndPointRecord] = []
  private var slots: [EndPoint: Int32] = [:]
  private var free: [Int32] = []
  private var firstIdle: Int32 = -1
  private var lastIdle: Int32 = -1
  private var idleCount = 0

  /// End-points where something runs or waits.
  var busyCount: Int { slots.count - idleCount }
  var busySlots: [Int32] { slots.values.filter { !records[Int($0)].isResting }.sorted() }

  subscript(slot: Int32) -> EndPointRecord {
    _read { yield records[Int(slot)] }
    _modify { yield &records[Int(slot)] }
  }

  func slot(of endPoint: EndPoint) -> Int32? { slots[endPoint] }

  /// The end-point's place: where it is, or a new one.
  mutating func take(_ endPoint: EndPoint, _ limits: GateLimits) -> Int32 {
    if let slot = slots[endPoint] {
      if records[Int(slot)].isResting { wake(slot) }
      return slot
    }
    let record = EndPointRecord(endPoint: endPoint, limits: limits.of(endPoint))
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

  /// Nothing runs or waits there any more: it is kept among the last few, and the eldest of those is forgotten.
  mutating func rest(_ slot: Int32) {
    guard !records[Int(slot)].isResting else { return }
    records[Int(slot)].isResting = true
    records[Int(slot)].nextIdle = -1
    records[Int(slot)].previousIdle = lastIdle
    if lastIdle >= 0 { records[Int(lastIdle)].nextIdle = slot } else { firstIdle = slot }
    lastIdle = slot
    idleCount += 1
    if idleCount > Self.mostIdle { forget(firstIdle) }
  }

  /// Forgets all idle ones: their limits may be others by now.
  mutating func forgetIdle() {
    while firstIdle >= 0 { forget(firstIdle) }
  }

  private mutating func wake(_ slot: Int32) {
    let (previous, next) = (records[Int(slot)].previousIdle, records[Int(slot)].nextIdle)
    if previous >= 0 { records[Int(previous)].nextIdle = next } else { firstIdle = next }
    if next >= 0 { records[Int(next)].previousIdle = previous } else { lastIdle = previous }
    records[Int(slot)].isResting = false
    idleCount -= 1
  }

  private mutating func forget(_ slot: Int32) {
    wake(slot)
    guard let endPoint = records[Int(slot)].endPoint else { return }
    slots[endPoint] = nil
    records[Int(slot)] = EndPointRecord(endPoint: nil, limits: .standard)
    free.append(slot)
    if slots.isEmpty, records.count > 1024 { self = EndPointTable() }
  }
}
