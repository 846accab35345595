import HeadgateThreads

extension Scheduler {
  func isLongLaneFull(at endPoint: EndPoint) -> Bool {
    if runningLong >= limits.totalLong { return true }
    return endPoints.slot(of: endPoint).map { endPoints[$0].isLongLaneFull } ?? false
  }

  /// Something changed at an end-point: grants all permits that are now possible.
  mutating func proceed(at place: Int32) {
    // Usually no request waits when a permit is returned. Then nothing else is looked at.
    guard waiting > 0 || !dirtyScopes.isEmpty else { return }
    // Nearly always no turn at the total limit is due. Then the end-point starts what it can, and joins the turns only
    // if the total limit stops it.
    if shortTurns.isEmpty, longTurns.isEmpty, closing < .ending, dirtyScopes.isEmpty {
      while running < limits.total, let slot = next(at: place) { grant(slot) }
    }
    updateTurns(place)
    pump()
  }

  /// Grants permits until none is free or no eligible request waits.
  mutating func pump() {
    guard closing < .ending else { return cleanScopes() }
    repeat {
      if !dirtyScopes.isEmpty, running < limits.total { drainScopes() }
      while running < limits.total, let place = nextTurn() {
        guard let slot = next(at: place) else {
          // Its scopes have lost their room since it joined.
          updateTurns(place)
          continue
        }
        grant(slot)
        // Advance its pass by stride / weight.
        shortTurns.remove(place, in: &endPoints)
        longTurns.remove(place, in: &endPoints)
        virtualTime = max(virtualTime, endPoints[place].pass)
        endPoints[place].pass += TurnOrder.stride / UInt64(endPoints[place].limits.weight)
        updateTurns(place)
      }
    } while !dirtyScopes.isEmpty && running < limits.total
  }

  /// The request that an end-point would start next: the one with the lower rank among the heads of its two lanes, if
  /// its lane has room.
  private mutating func next(at place: Int32) -> Int32? {
    if endPoints[place].holds.needReview { review(place) }
    let short = endPoints[place].isEligible(.short) ? first(of: .short, at: place) : -1
    let longMay = runningLong < limits.totalLong && endPoints[place].isEligible(.long)
    let long = longMay ? first(of: .long, at: place) : -1
    let slot = short >= 0 && (long < 0 || nodes[short].rank < nodes[long].rank) ? short : long
    return slot < 0 ? nil : slot
  }

  /// The end-point that has its turn. An end-point whose long lane waits for the total's long half takes part with its
  /// short lane only, and delays no other.
  private func nextTurn() -> Int32? {
    guard let short = shortTurns.first else {
      return runningLong < limits.totalLong ? longTurns.first?.place : nil
    }
    guard runningLong < limits.totalLong, let long = longTurns.first else { return short.place }
    return (short < long ? short : long).place
  }

  /// Whether an arriving request may start now: it overtakes no request in its lane, no turn at the total limit is due,
  /// and there is room everywhere.
  func isNext(_ lane: RequestLane, at place: Int32) -> Bool {
    granted.isEmpty && shortTurns.isEmpty && longTurns.isEmpty && running < limits.total
      && !endPoints[place].waits(lane) && !endPoints[place].holds.needReview && endPoints[place].hasRoom(for: lane)
      && (lane == .short || runningLong < limits.totalLong)
  }

  private mutating func grant(_ slot: Int32) {
    dequeue(slot)
    nodes[slot].state = .granted
    granted.append(slot, in: &nodes)
    count(nodes[slot].endPoint, nodes[slot].lane)
    if nodes[slot].demand >= 0 || endPoints[nodes[slot].endPoint].scope >= 0 { charge(slot) }
  }

  /// Counts another running request.
  mutating func count(_ place: Int32, _ lane: RequestLane) {
    running += 1
    endPoints[place].running += 1
    if lane == .long {
      runningLong += 1
      endPoints[place].runningLong += 1
    }
    if endPoints[place].running > peak.running { peak = (endPoints[place].running, endPoints[place].endPoint) }
  }

  /// Takes the permit back and passes it on. The node stays in the table.
  mutating func release(_ slot: Int32) {
    let place = nodes[slot].endPoint
    takeBack(slot)
    proceed(at: place)
    restIfIdle(place)
  }

  /// Takes the permit back. The caller updates the turns.
  mutating func takeBack(_ slot: Int32) {
    let (place, lane) = (nodes[slot].endPoint, nodes[slot].lane)
    running -= 1
    endPoints[place].running -= 1
    if lane == .long {
      runningLong -= 1
      endPoints[place].runningLong -= 1
    }
    if nodes[slot].demand >= 0 { leaveScopes(slot) }
  }

  /// Adds a node to its lane. The caller updates the turns.
  mutating func enqueue(_ slot: Int32) {
    waiting += 1
    nodes[slot].meter = meters.insert(WaitMeter())
    joinLane(slot)
  }

  mutating func joinLane(_ slot: Int32) {
    if namesScopes(slot) {
      joinLine(slot)
    } else {
      endPoints[nodes[slot].endPoint].queues[nodes[slot].lane].insert(slot, in: &nodes)
      _ = endPoints.book(of: nodes[slot].endPoint)
    }
    turnMeter(of: slot)
    if shedding.rule != nil { shedding.insert(slot, in: &nodes) }
  }

  mutating func leaveLane(_ slot: Int32) {
    turnMeter(of: slot)
    if shedding.rule != nil { shedding.remove(slot, in: &nodes) }
    if namesScopes(slot) {
      leaveLine(slot)
    } else {
      endPoints[nodes[slot].endPoint].queues[nodes[slot].lane].remove(slot, in: &nodes)
    }
  }

  private func namesScopes(_ slot: Int32) -> Bool {
    nodes[slot].demand >= 0 && !demands[nodes[slot].demand].scopes.isEmpty
  }

  /// The rank of a request of this age and priority. Each step of priority is worth a span of waiting time.
  func rank(of age: UInt64, _ priority: RequestPriority) -> UInt64 {
    let (behind, isFar) = priority.stepsBehind.multipliedReportingOverflow(by: limits.agingNanoseconds)
    let (rank, isFarther) = age.addingReportingOverflow(behind)
    return isFar || isFarther ? .max : rank
  }

  /// Removes a waiting node from its lane. The caller updates the turns.
  mutating func dequeue(_ slot: Int32) {
    waiting -= 1
    if nodes[slot].held >= 0 { release(held: slot) }
    leaveLane(slot)
    endWait(of: slot)
  }

  /// Makes an end-point take part in the turns of exactly those lanes in which it could start a request.
  mutating func updateTurns(_ place: Int32) {
    if endPoints[place].holds.needReview { review(place) }
    shortTurns.update(place, virtualTime: virtualTime, stamp: &nextStamp, in: &endPoints)
    longTurns.update(place, virtualTime: virtualTime, stamp: &nextStamp, in: &endPoints)
    updateCauses(at: place)
  }

  mutating func restIfIdle(_ place: Int32) {
    guard endPoints[place].isIdle else { return }
    if endPoints[place].scope >= 0 { stopWatching(place) }
    endPoints.rest(place)
  }
}
