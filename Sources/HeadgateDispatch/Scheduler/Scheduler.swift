// Who runs, who waits: the pure half of the gate. Events go in as mutating calls, effects come out of `next()`.
//
// Every end-point has a limit and two lanes; all end-points share a total, at which they take turns. The design is
// OkHttp's one funnel with effects, less its scan over all that waits: each event costs O(1), or O(log n) for a
// request that comes back from another end-point. No thread, lock or clock is in here: time comes in as events.

/// A limiter over end-points as a value. `Item` is whatever the driver wants back: it is stored and handed out, never
/// called.
package struct Scheduler<Item: Sendable>: Sendable {
  /// What the driver has to do next, with no lock held.
  package enum Effect: Sendable {
    /// The item got its permit, one of that many at its end-point: run it, then call `finish` once.
    case start(Item, Ticket, limit: Int)
    /// The item's caller was held because too many waited, and may go on. The item itself still waits.
    case admit(Item)
    /// The gate is closing: the item was taken out of its queue and will never run.
    case end(Item)
    /// The gate is closing at once: the item runs, and must be asked to end.
    case abort(Item)
    /// The gate is closed and empty. Comes once.
    case drained
  }

  /// What became of a submission.
  package enum Submission: Sendable {
    /// It runs from here on, one of that many at its end-point, as after a `start`. Only if `mayStart`.
    case started(Ticket, limit: Int)
    /// It runs (a `start` follows) or waits.
    case accepted(Ticket)
    /// It waits, and its caller is to be held until `admit` or `start`.
    case held(Ticket)
    /// It was not taken.
    case refused(Refusal)
  }

  package enum Refusal: Sendable { case queueFull, longLaneFull, shutDown }

  /// Whether a submission may wait for its turn.
  package enum Patience: Sendable {
    case waits
    /// A long request that is refused unless the long lane has a place for it. (It may still wait for short requests
    /// to let go of a permit.)
    case needsLongPlace
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
    /// It is the same end-point: the permit stays.
    case stays
    /// The permit was given back; the request waits at the new end-point, or a `start` follows.
    case moved
    /// The gate is closing. The permit is still held: call `finish`.
    case refused
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
  package private(set) var closing = Closing.open
  package private(set) var running = 0
  package private(set) var waiting = 0
  /// The most that ran at once at any one end-point, and where.
  package private(set) var peak: (running: Int, endPoint: EndPoint?) = (0, nil)

  var nodes = NodeTable<Item>()
  var endPoints = EndPointTable()
  var runningLong = 0
  private(set) var heldCount = 0
  private var shortTurns = TurnRing(.short)
  private var longTurns = TurnRing(.long)
  private var granted = NodeList()
  private var firstHeld: Int32 = -1
  private var lastHeld: Int32 = -1
  private var nextAge: UInt64 = 0
  private var nextStamp: UInt64 = 0
  private var sweep: Int32 = 0
  private var drainedTold = false

  package init(limits: GateLimits) { self.limits = limits }

  /// Requests that run, wait or are ending.
  package var alive: Int { nodes.count }

  /// End-points that are remembered: those where something runs or waits.
  package var rememberedEndPoints: Int { endPoints.busyCount }

  // MARK: Events

  /// A request comes. Runs it, queues it or refuses it. O(1).
  ///
  /// - Parameters:
  ///   - mayBeHeld: Whether its caller can be held when too many wait and the policy says so.
  ///   - mayStart: Whether its caller runs it at once where a permit is free and nobody is before it.
  package mutating func submit(
    _ item: Item, to endPoint: EndPoint, _ requestClass: RequestClass, patience: Patience = .waits,
    mayBeHeld: Bool = false, mayStart: Bool = false
  ) -> Submission {
    defer { checkInvariants() }
    guard closing == .open else { return .refused(.shutDown) }
    if requestClass == .long, patience == .needsLongPlace, isLongLaneFull(at: endPoint) {
      return .refused(.longLaneFull)
    }
    let place = endPoints.take(endPoint, limits)
    let slot = nodes.insert(item, requestClass, endPoint: place, age: nextAge)
    nextAge += 1
    if mayStart, isNext(requestClass, at: place) {
      nodes[slot].state = .running
      count(place, requestClass)
      return .started(nodes.ticket(slot), limit: endPoints[place].limits.requests)
    }
    enqueue(slot)
    pump()
    guard nodes[slot].state == .waiting, waiting > limits.waiting else { return .accepted(nodes.ticket(slot)) }
    if limits.overflow == .refuse || !mayBeHeld {
      dequeue(slot)
      _ = nodes.remove(slot)
      updateTurns(place)
      restIfIdle(place)
      return .refused(.queueFull)
    }
    hold(slot)
    return .held(nodes.ticket(slot))
  }

  /// A request that was started has ended, its exchange too: its permit goes to the next. O(1). Returns the
  /// item, to be let go of outside the lock; nil when the ticket was given back before.
  package mutating func finish(_ ticket: Ticket) -> Item? {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running || nodes[slot].state == .ending else {
      return nil
    }
    release(slot)
    let item = nodes.remove(slot)
    nodes.shrinkIfEmpty()
    return item
  }

  /// A request was cancelled or is out of time. O(1) for one that waits; one that runs keeps its permit until
  /// `finish`.
  package mutating func withdraw(_ ticket: Ticket) -> Withdrawal {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket) else { return .gone }
    switch nodes[slot].state {
    case .waiting:
      let place = nodes[slot].endPoint
      dequeue(slot)
      let item = nodes.remove(slot)
      updateTurns(place)
      pump()
      restIfIdle(place)
      nodes.shrinkIfEmpty()
      return .waiting(item)
    case .granted:
      // Its start was decided and not told yet: it never starts, and the permit goes on to the next.
      granted.remove(slot, in: &nodes)
      release(slot)
      let item = nodes.remove(slot)
      nodes.shrinkIfEmpty()
      return .waiting(item)
    case .running:
      nodes[slot].state = .ending
      return .running
    case .ending, .free:
      return .gone
    }
  }

  /// A running request goes on elsewhere (a redirect). It never holds the old permit while it waits for the new one,
  /// and waits with the age of its first submission. O(log n) in those that came back like it.
  package mutating func move(_ ticket: Ticket, to endPoint: EndPoint) -> Move {
    defer { checkInvariants() }
    guard closing < .ending, let slot = nodes.slot(of: ticket), nodes[slot].state == .running else { return .refused }
    if endPoints[nodes[slot].endPoint].endPoint == endPoint { return .stays }
    let old = nodes[slot].endPoint
    takeBack(slot)
    nodes[slot].endPoint = endPoints.take(endPoint, limits)
    nodes[slot].state = .waiting
    // It joins its lane before the permit goes on: nobody younger at the new end-point may get what it gave up.
    enqueue(slot)
    pump()
    restIfIdle(old)
    return .moved
  }

  /// The limits change. Lower ones end nothing: no more is started until it fits. Higher ones start all that became
  /// eligible. O(end-points) plus what starts.
  package mutating func setLimits(_ limits: GateLimits) {
    defer { checkInvariants() }
    self.limits = limits
    endPoints.forgetIdle()
    for place in endPoints.busySlots {
      guard let endPoint = endPoints[place].endPoint else { continue }
      endPoints[place].limits = limits.of(endPoint)
      updateTurns(place)
    }
    pump()
  }

  /// The gate closes, or closes harder than it does already.
  package mutating func close(_ mode: Closing) {
    defer { checkInvariants() }
    guard mode > closing else { return }
    closing = mode
    sweep = 0
  }

  // MARK: Effects

  /// The next thing to do; nil when there is nothing. O(1), over a whole closing O(1) for each item.
  package mutating func next() -> Effect? {
    defer { checkInvariants() }
    if granted.first >= 0 {
      let slot = granted.first
      granted.remove(slot, in: &nodes)
      nodes[slot].state = .running
      if let item = nodes[slot].item {
        return .start(item, nodes.ticket(slot), limit: endPoints[nodes[slot].endPoint].limits.requests)
      }
    }
    if firstHeld >= 0, waiting - heldCount < limits.waiting {
      let slot = firstHeld
      unhold(slot)
      if let item = nodes[slot].item { return .admit(item) }
    }
    return closing == .open ? nil : nextOfClosing()
  }

  /// Whether `next()` would return something now.
  package var hasEffects: Bool {
    granted.first >= 0 || firstHeld >= 0 && waiting - heldCount < limits.waiting
      || closing >= .ending && sweep < nodes.nodes.count
      || closing != .open && !drainedTold && nodes.count == 0
  }

  private mutating func nextOfClosing() -> Effect? {
    while closing >= .ending, sweep < nodes.nodes.count {
      let slot = sweep
      sweep += 1
      switch nodes[slot].state {
      case .waiting:
        let place = nodes[slot].endPoint
        dequeue(slot)
        let item = nodes.remove(slot)
        updateTurns(place)
        restIfIdle(place)
        if let item { return .end(item) }
      case .running where closing == .aborting:
        nodes[slot].state = .ending
        if let item = nodes[slot].item { return .abort(item) }
      default: break
      }
    }
    guard nodes.count == 0, !drainedTold else { return nil }
    drainedTold = true
    return .drained
  }

  // MARK: Decisions

  func isLongLaneFull(at endPoint: EndPoint) -> Bool {
    if runningLong >= limits.totalLong { return true }
    return endPoints.slot(of: endPoint).map { endPoints[$0].isLongLaneFull } ?? false
  }

  /// Grants permits until none is free or nobody eligible waits.
  private mutating func pump() {
    guard closing < .ending else { return }
    while running < limits.total, let place = nextTurn() {
      // Of the two first ones the elder goes, if its lane may.
      let short = endPoints[place].shortTurn.isIn ? endPoints[place].short.first(in: nodes) : -1
      let longMay = runningLong < limits.totalLong && endPoints[place].longTurn.isIn
      let long = longMay ? endPoints[place].long.first(in: nodes) : -1
      grant(short >= 0 && (long < 0 || nodes[short].age < nodes[long].age) ? short : long)
    }
  }

  /// The end-point whose turn it is. An end-point whose long lane waits for the total's long half takes part with its
  /// short lane only, and stands in nobody's way.
  private func nextTurn() -> Int32? {
    let short = shortTurns.first
    let long = runningLong < limits.totalLong ? longTurns.first : -1
    if short < 0 { return long < 0 ? nil : long }
    if long < 0 { return short }
    return endPoints[short].shortTurn.stamp <= endPoints[long].longTurn.stamp ? short : long
  }

  /// Whether a request that comes now runs now: nobody waits in its lane, whom it would overtake, no turn at the total
  /// is due to anybody, and there is room everywhere.
  private func isNext(_ requestClass: RequestClass, at place: Int32) -> Bool {
    granted.isEmpty && shortTurns.first < 0 && longTurns.first < 0 && running < limits.total
      && !endPoints[place].waits(requestClass) && endPoints[place].hasRoom(for: requestClass)
      && (requestClass == .short || runningLong < limits.totalLong)
  }

  private mutating func grant(_ slot: Int32) {
    let (place, requestClass) = (nodes[slot].endPoint, nodes[slot].requestClass)
    dequeue(slot)
    nodes[slot].state = .granted
    granted.append(slot, in: &nodes)
    count(place, requestClass)
    // Its turn is over: whatever else it has to start goes to the end of the ring.
    if endPoints[place].shortTurn.isIn { shortTurns.remove(place, in: &endPoints) }
    if endPoints[place].longTurn.isIn { longTurns.remove(place, in: &endPoints) }
    updateTurns(place)
  }

  /// One more runs there.
  private mutating func count(_ place: Int32, _ requestClass: RequestClass) {
    running += 1
    endPoints[place].running += 1
    if requestClass == .long {
      runningLong += 1
      endPoints[place].runningLong += 1
    }
    if endPoints[place].running > peak.running { peak = (endPoints[place].running, endPoints[place].endPoint) }
  }

  /// Takes the permit back and gives it on. The node stays in the table.
  private mutating func release(_ slot: Int32) {
    let place = nodes[slot].endPoint
    takeBack(slot)
    pump()
    restIfIdle(place)
  }

  private mutating func takeBack(_ slot: Int32) {
    let (place, requestClass) = (nodes[slot].endPoint, nodes[slot].requestClass)
    running -= 1
    endPoints[place].running -= 1
    if requestClass == .long {
      runningLong -= 1
      endPoints[place].runningLong -= 1
    }
    updateTurns(place)
  }

  private mutating func enqueue(_ slot: Int32) {
    let place = nodes[slot].endPoint
    waiting += 1
    endPoints[place][lane: nodes[slot].requestClass].insert(slot, in: &nodes)
    updateTurns(place)
  }

  /// Takes a waiting node out of its lane; the caller updates the turns.
  private mutating func dequeue(_ slot: Int32) {
    waiting -= 1
    if nodes[slot].isHeld { unhold(slot) }
    endPoints[nodes[slot].endPoint][lane: nodes[slot].requestClass].remove(slot, in: &nodes)
  }

  private mutating func updateTurns(_ place: Int32) {
    let short = endPoints[place].isEligible(.short)
    if short != endPoints[place].shortTurn.isIn {
      if short {
        shortTurns.append(place, stamp: stamp(), in: &endPoints)
      } else {
        shortTurns.remove(place, in: &endPoints)
      }
    }
    let long = endPoints[place].isEligible(.long)
    if long != endPoints[place].longTurn.isIn {
      if long {
        longTurns.append(place, stamp: stamp(), in: &endPoints)
      } else {
        longTurns.remove(place, in: &endPoints)
      }
    }
  }

  private mutating func stamp() -> UInt64 {
    nextStamp += 1
    return nextStamp
  }

  private mutating func restIfIdle(_ place: Int32) {
    if endPoints[place].isIdle { endPoints.rest(place) }
  }

  private mutating func hold(_ slot: Int32) {
    heldCount += 1
    nodes[slot].isHeld = true
    nodes[slot].nextHeld = -1
    nodes[slot].previousHeld = lastHeld
    if lastHeld >= 0 { nodes[lastHeld].nextHeld = slot } else { firstHeld = slot }
    lastHeld = slot
  }

  private mutating func unhold(_ slot: Int32) {
    heldCount -= 1
    nodes[slot].isHeld = false
    let (previous, next) = (nodes[slot].previousHeld, nodes[slot].nextHeld)
    if previous >= 0 { nodes[previous].nextHeld = next } else { firstHeld = next }
    if next >= 0 { nodes[next].previousHeld = previous } else { lastHeld = previous }
  }
}
