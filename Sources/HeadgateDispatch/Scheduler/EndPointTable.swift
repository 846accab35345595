/// What the scheduler knows of one end-point while something runs or waits there.
struct EndPointRecord {
  // Nil marks an empty place of the table.
  var endPoint: EndPoint?
  var limits: EndPointLimits
  var running = 0
  var runningLong = 0
  var short = Lane()
  var long = Lane()
  var shortTurn = TurnLink()
  var longTurn = TurnLink()

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

/// All end-points where something runs or waits. An idle one is forgotten at once, so that a crawl over millions of
/// hosts needs the memory of those that it is busy with.
struct EndPointTable {
  private var records: [EndPointRecord] = []
  private var slots: [EndPoint: Int32] = [:]
  private var free: [Int32] = []

  var count: Int { slots.count }
  var liveSlots: [Int32] { slots.values.sorted() }

  subscript(slot: Int32) -> EndPointRecord {
    _read { yield records[Int(slot)] }
    _modify { yield &records[Int(slot)] }
  }

  func slot(of endPoint: EndPoint) -> Int32? { slots[endPoint] }

  mutating func insert(_ endPoint: EndPoint, _ limits: EndPointLimits) -> Int32 {
    let record = EndPointRecord(endPoint: endPoint, limits: limits)
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

  mutating func remove(_ slot: Int32) {
    guard let endPoint = records[Int(slot)].endPoint else { return }
    slots[endPoint] = nil
    records[Int(slot)] = EndPointRecord(endPoint: nil, limits: .standard)
    free.append(slot)
    if slots.isEmpty, records.count > 1024 { self = EndPointTable() }
  }
}
