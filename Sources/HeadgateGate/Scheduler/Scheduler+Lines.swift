// Requests with scopes wait in separate lines, one for each set of scopes, so that a request whose scope is full
// delays no other. A line is blocked by the first scope without room for its next request, and by that one only.
//
// Room at a scope is offered to the blocked line with the lowest rank. Lines that can't use it, because their end-point
// is full, wait at their end-point from then on, and the room is offered to the next. As soon as one can start, no other
// line moves until it has, so each place that is freed moves one line, however many are blocked.

import HeadgateThreads

extension Scheduler {
  // MARK: Joining and leaving

  /// Adds a node to the line of its scopes. The caller updates the turns.
  mutating func joinLine(_ slot: Int32) {
    let (place, lane, demand) = (nodes[slot].endPoint, nodes[slot].lane, nodes[slot].demand)
    let key = Line.Key(place: place, lane: lane, scopes: demands[demand].scopes)
    let line: Int32
    if let known = lineSlots[key] {
      line = known
    } else {
      line = lines.insert(Line(key))
      lineSlots[key] = line
      linesAt[place, default: []].insert(line)
      for scope in key.scopes { scopes[scope].lines.insert(line) }
    }
    demands[demand].line = line
    lines[line].queue.insert(slot, in: &nodes)
    endPoints[place].lined[lane] += 1
    if lines[line].queue.first(in: nodes) == slot { settle(line) }
  }

  /// Removes a node from its line. The caller updates the turns.
  mutating func leaveLine(_ slot: Int32) {
    let (place, lane, demand) = (nodes[slot].endPoint, nodes[slot].lane, nodes[slot].demand)
    let line = demands[demand].line
    let wasFirst = lines[line].queue.first(in: nodes) == slot
    demands[demand].line = -1
    lines[line].queue.remove(slot, in: &nodes)
    endPoints[place].lined[lane] -= 1
    if lines[line].queue.isEmpty {
      displace(line)
      lineSlots[lines[line].key] = nil
      linesAt[place]?.remove(line)
      if linesAt[place]?.isEmpty == true { linesAt[place] = nil }
      for scope in lines[line].key.scopes { scopes[scope].lines.remove(line) }
      lines.remove(line)
    } else if wasFirst {
      settle(line)
    }
  }

  // MARK: The place of a line

  /// Puts a line where its next request belongs: with the lines blocked by the same scope, or with those that none
  /// blocks. O(scopes of the request, log n).
  mutating func settle(_ line: Int32) {
    displace(line)
    let (place, lane) = (lines[line].key.place, lines[line].key.lane)
    let first = lines[line].queue.first(in: nodes)
    let key = LineGroup.Key(place: place, lane: lane, scope: blocker(of: first) ?? -1)
    let group: Int32
    if let known = groupSlots[key] {
      group = known
    } else {
      group = groups.insert(LineGroup(key))
      groupSlots[key] = group
    }
    lines[line].group = group
    lines[line].handle = groups[group].lines.insert(
      RankHeap.Key(rank: nodes[first].rank, tie: nodes[first].age, place: line))
    if groups[group].lines.first?.place == line { register(group) }
    turnMeter(ofLine: line)
  }

  private mutating func displace(_ line: Int32) {
    let (group, handle) = (lines[line].group, lines[line].handle)
    guard handle >= 0 else { return }
    turnMeter(ofLine: line)
    let wasFirst = groups[group].lines.first?.place == line
    groups[group].lines.remove(handle)
    lines[line].handle = -1
    guard wasFirst else { return }
    if groups[group].lines.isEmpty {
      unregister(group)
      groupSlots[groups[group].key] = nil
      groups.remove(group)
    } else {
      register(group)
      // The request that is first now may need less than the one before. Not left to `unregister`, which sees a scope
      // that blocks nothing if this was its only group.
      if !groups[group].isReady { markDirty(groups[group].key.scope) }
    }
  }

  /// Registers a group by the rank of its first line, at its scope or its end-point. O(log n).
  private mutating func register(_ group: Int32) {
    unregister(group)
    guard let first = groups[group].lines.first else { return }
    let key = RankHeap.Key(rank: first.rank, tie: first.tie, place: group)
    let (place, lane, scope) = (groups[group].key.place, groups[group].key.lane, groups[group].key.scope)
    if groups[group].isReady {
      groups[group].handle = endPoints[place].ready[lane].insert(key)
      endPoints[place].holds.insert(.ready(lane))
      _ = endPoints.book(of: place)
    } else {
      groups[group].handle = scopes[scope].blocked.insert(key)
      // It may be the first there, with another time to wake at.
      if scopes[scope].blocked.first?.place == group { sleepUntilNext(scope) }
    }
    turnMeter(ofGroup: group)
  }

  private mutating func unregister(_ group: Int32) {
    let handle = groups[group].handle
    guard handle >= 0 else { return }
    turnMeter(ofGroup: group)
    groups[group].handle = -1
    let (place, lane, scope) = (groups[group].key.place, groups[group].key.lane, groups[group].key.scope)
    if groups[group].isReady {
      endPoints[place].ready[lane].remove(handle)
      if endPoints[place].ready[lane].isEmpty { endPoints[place].holds.remove(.ready(lane)) }
    } else {
      let wasFirst = scopes[scope].blocked.first?.place == group
      scopes[scope].blocked.remove(handle)
      // The lines behind it may be able to continue.
      if wasFirst { markDirty(scope) }
    }
  }

  /// Moves a group to its end-point, or back to its scope.
  private mutating func move(_ group: Int32, toEndPoint isReady: Bool) {
    unregister(group)
    groups[group].isReady = isReady
    register(group)
  }

  /// The next request of a group.
  func first(ofGroup group: Int32) -> Int32 {
    groups[group].lines.first.map { lines[$0.place].queue.first(in: nodes) } ?? -1
  }

  /// The first of a request's scopes without room for it. Nil if all have room.
  func blocker(of slot: Int32) -> Int32? {
    let demand = nodes[slot].demand
    for scope in demands[demand].scopes where !hasRoom(in: scope, for: slot) { return scope }
    return nil
  }

  /// Whether a scope has room for a request, and no earlier request waits for that room.
  func hasRoom(in scope: Int32, for slot: Int32) -> Bool {
    guard scopes[scope].running < scopes[scope].most else { return false }
    if let first = scopes[scope].blocked.first, (first.rank, first.tie) < (nodes[slot].rank, nodes[slot].age) {
      return false
    }
    guard scopes[scope].isTimed else { return true }
    return !scopes[scope].isFull(at: now)
      && scopes[scope].earliest(demands[nodes[slot].demand].weights, at: now).moment <= now
  }

  /// Whether the scopes of an arriving request have room for it, and no other request is about to get that room.
  func haveRoom(for slot: Int32) -> Bool { dirtyScopes.isEmpty && blocker(of: slot) == nil }

  // MARK: Events at scopes

  /// Room may be free at a scope. It has one more user until the room is offered.
  mutating func markDirty(_ scope: Int32) {
    updateCause(ofScope: scope)
    guard !scopes[scope].isDirty, !scopes[scope].blocked.isEmpty else { return }
    scopes[scope].isDirty = true
    scopes.retain(scope)
    dirtyScopes.append(scope)
  }

  private mutating func clean(_ scope: Int32) {
    scopes[scope].isDirty = false
    scopes.leave(scope, at: now)
  }

  /// The gate is closed, so nothing more is offered.
  mutating func cleanScopes() {
    while let scope = dirtyScopes.popLast() { clean(scope) }
  }

  /// Offers the room of each scope where some may be free to the lines that it blocks. Afterwards the turns of their
  /// end-points are up to date. A scope stays in the list if its offer was taken, and may have room for more.
  mutating func drainScopes() {
    var taken: [Int32] = []
    while let scope = dirtyScopes.popLast() {
      if offer(scope) {
        taken.append(scope)
      } else {
        sleepUntilNext(scope)
        clean(scope)
      }
    }
    dirtyScopes = taken
  }

  /// Offers a scope's room to the lines that it blocks, the lowest rank first, until one may start. Returns whether one
  /// may.
  private mutating func offer(_ scope: Int32) -> Bool {
    while let best = scopes[scope].blocked.first {
      let first = first(ofGroup: best.place)
      guard hasRoom(in: scope, for: first) else { return false }
      offers &+= 1
      let (place, lane) = (groups[best.place].key.place, groups[best.place].key.lane)
      if blocker(of: first) != nil {
        // Another of its scopes has no room.
        settle(demands[nodes[first].demand].line)
      } else {
        move(best.place, toEndPoint: true)
        updateTurns(place)
        if endPoints[place].turns[lane] >= 0 { return true }
      }
    }
    return false
  }

  /// Schedules the wake-up of a scope for the first line that it blocks, if that depends on time.
  mutating func sleepUntilNext(_ scope: Int32) {
    updateCause(ofScope: scope)
    guard let best = scopes[scope].blocked.first, scopes[scope].running < scopes[scope].most else {
      return scopes.sleep(scope, until: .max)
    }
    if scopes[scope].isFull(at: now) { return scopes.sleep(scope, until: scopes[scope].widens(after: now)) }
    let first = first(ofGroup: best.place)
    let moment = scopes[scope].earliest(demands[nodes[first].demand].weights, at: now).moment
    scopes.sleep(scope, until: moment > now ? moment.nanoseconds : .max)
  }

  /// Moves ready groups of an end-point back to the scopes that have lost their room. O(log n) for each move.
  mutating func purgeReadyLines(of place: Int32) {
    for lane in [RequestLane.short, .long] {
      while let best = endPoints[place].ready[lane].first {
        let first = first(ofGroup: best.place)
        guard let scope = blocker(of: first) else { break }
        offers &+= 1
        if scope == groups[best.place].key.scope {
          move(best.place, toEndPoint: false)
        } else {
          settle(demands[nodes[first].demand].line)
        }
      }
    }
  }

  /// The first request of an end-point's lane, among those without scopes and the ready lines. -1 if there is none.
  func first(of lane: RequestLane, at place: Int32) -> Int32 {
    let plain = endPoints[place].queues[lane].first(in: nodes)
    guard endPoints[place].holds.contains(.ready(lane)), let best = endPoints[place].ready[lane].first else {
      return plain
    }
    let lined = first(ofGroup: best.place)
    return plain >= 0 && isBefore(plain, lined) ? plain : lined
  }

  func isBefore(_ left: Int32, _ right: Int32) -> Bool {
    (nodes[left].rank, nodes[left].age) < (nodes[right].rank, nodes[right].age)
  }
}
