// Requests that name scopes wait in separate lines, one for each set of scopes, so that a request whose scope is full
// delays no other. A line is blocked by the first scope without room for its next request, and by that one only. An
// event at a scope processes the lines blocked there, the lowest rank first, until its room is used up.

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
      lines.remove(line)
    } else if wasFirst {
      settle(line)
    }
  }

  // MARK: The place of a line

  /// Registers a line where its next request belongs: at the scope that blocks it, or among the ready lines. O(scopes
  /// of the request, log n).
  mutating func settle(_ line: Int32) {
    displace(line)
    let first = lines[line].queue.first(in: nodes)
    let key = RankHeap.Key(rank: nodes[first].rank, tie: nodes[first].age, place: line)
    if let scope = blocker(of: first) {
      lines[line].blocker = scope
      lines[line].handle = scopes[scope].blocked.insert(key)
      // It may be the first there, with another time to wake at.
      if scopes[scope].blocked.first?.place == line { sleepUntilNext(scope) }
    } else {
      let (place, lane) = (lines[line].key.place, lines[line].key.lane)
      lines[line].blocker = -1
      lines[line].handle = endPoints[place].ready[lane].insert(key)
      endPoints[place].holds.insert(.ready(lane))
    }
  }

  private mutating func displace(_ line: Int32) {
    let (scope, handle) = (lines[line].blocker, lines[line].handle)
    guard handle >= 0 else { return }
    lines[line].handle = -1
    if scope >= 0 {
      let wasFirst = scopes[scope].blocked.first?.place == line
      scopes[scope].blocked.remove(handle)
      // The lines behind it may be able to continue.
      if wasFirst { markDirty(scope) }
    } else {
      let (place, lane) = (lines[line].key.place, lines[line].key.lane)
      endPoints[place].ready[lane].remove(handle)
      if endPoints[place].ready[lane].isEmpty { endPoints[place].holds.remove(.ready(lane)) }
    }
  }

  /// The first of a request's scopes without room for it. Nil if all have room.
  func blocker(of slot: Int32) -> Int32? {
    let demand = nodes[slot].demand
    for scope in demands[demand].scopes where !hasRoom(in: scope, for: slot) { return scope }
    return nil
  }

  /// Whether a scope has room for a request, and no earlier request waits for that room.
  func hasRoom(in scope: Int32, for slot: Int32) -> Bool {
    guard scopes[scope].running < scopes[scope].most, !scopes[scope].isFull(at: now) else { return false }
    if let first = scopes[scope].blocked.first, (first.rank, first.tie) < (nodes[slot].rank, nodes[slot].age) {
      return false
    }
    return scopes[scope].earliest(demands[nodes[slot].demand].weights, at: now).moment <= now
  }

  // MARK: Events at scopes

  mutating func markDirty(_ scope: Int32) {
    guard !scopes[scope].isDirty, !scopes[scope].blocked.isEmpty else { return }
    scopes[scope].isDirty = true
    dirtyScopes.append(scope)
  }

  /// Releases lines blocked by scopes that have room again. Afterwards the turns of their end-points are up to date.
  mutating func drainScopes() {
    while let scope = dirtyScopes.popLast() {
      while let best = scopes[scope].blocked.first, hasRoom(in: scope, for: lines[best.place].queue.first(in: nodes)) {
        settle(best.place)
        updateTurns(lines[best.place].key.place)
      }
      scopes[scope].isDirty = false
      sleepUntilNext(scope)
    }
  }

  /// Schedules the wake-up of a named scope for the first line that it blocks, if that depends on time.
  mutating func sleepUntilNext(_ scope: Int32) {
    guard let best = scopes[scope].blocked.first, scopes[scope].running < scopes[scope].most else {
      return scopes.sleep(scope, until: .max)
    }
    if scopes[scope].isFull(at: now) { return scopes.sleep(scope, until: scopes[scope].widens(after: now)) }
    let first = lines[best.place].queue.first(in: nodes)
    let moment = scopes[scope].earliest(demands[nodes[first].demand].weights, at: now).moment
    scopes.sleep(scope, until: moment > now ? moment.nanoseconds : .max)
  }

  /// Removes ready lines of an end-point whose scopes have lost their room.
  mutating func purgeReadyLines(of place: Int32) {
    for lane in [RequestLane.short, .long] {
      while let first = endPoints[place].ready[lane].first,
        blocker(of: lines[first.place].queue.first(in: nodes)) != nil
      {
        settle(first.place)
      }
    }
  }

  /// The first request of an end-point's lane, among those without scopes and the ready lines. -1 if there is none.
  func first(of lane: RequestLane, at place: Int32) -> Int32 {
    let plain = endPoints[place].queues[lane].first(in: nodes)
    guard endPoints[place].holds.contains(.ready(lane)), let best = endPoints[place].ready[lane].first else {
      return plain
    }
    let lined = lines[best.place].queue.first(in: nodes)
    return plain >= 0 && isBefore(plain, lined) ? plain : lined
  }

  func isBefore(_ left: Int32, _ right: Int32) -> Bool {
    (nodes[left].rank, nodes[left].age) < (nodes[right].rank, nodes[right].age)
  }
}
