// Requests that name scopes. They wait in lines of their own, one for each set of scopes, so that one whose scope is full
// stands in no other's way. A line hangs on the first scope that has no room for its next request, and on that one only:
// an event at a scope touches the lines that hang there, the lowest rank first, until its room is gone.

import HeadgateThreads

extension Scheduler {
  // MARK: Coming and going

  /// Lets a node wait in the line of its scopes. The caller updates the turns.
  mutating func joinLine(_ slot: Int32) {
    let (place, lane, demand) = (nodes[slot].endPoint, nodes[slot].lane, nodes[slot].demand)
    if endPoints[place].lines < 0 { endPoints[place].lines = readyLines.insert(ReadyLines()) }
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
    endPoints[place].lined += 1
    if lane == .long { endPoints[place].linedLong += 1 }
    if lines[line].queue.first(in: nodes) == slot { settle(line) }
  }

  /// Takes a node out of its line. The caller updates the turns.
  mutating func leaveLine(_ slot: Int32) {
    let (place, lane, demand) = (nodes[slot].endPoint, nodes[slot].lane, nodes[slot].demand)
    let line = demands[demand].line
    let wasFirst = lines[line].queue.first(in: nodes) == slot
    demands[demand].line = -1
    lines[line].queue.remove(slot, in: &nodes)
    endPoints[place].lined -= 1
    if lane == .long { endPoints[place].linedLong -= 1 }
    if lines[line].queue.isEmpty {
      displace(line)
      lineSlots[lines[line].key] = nil
      lines.remove(line)
      guard endPoints[place].lined == 0 else { return }
      readyLines.remove(endPoints[place].lines)
      endPoints[place].lines = -1
    } else if wasFirst {
      settle(line)
    }
  }

  // MARK: Where a line stands

  /// Puts a line where its next request belongs: at the scope that keeps it, or among those that may start. O(scopes of the
  /// request, log n).
  mutating func settle(_ line: Int32) {
    displace(line)
    let first = lines[line].queue.first(in: nodes)
    let key = RankHeap.Key(rank: nodes[first].rank, tie: nodes[first].age, place: line)
    if let scope = blocker(of: first) {
      lines[line].blocker = scope
      lines[line].handle = scopes[scope].blocked.insert(key)
      // It may be the first there, with another moment to wake at.
      if scopes[scope].blocked.first?.place == line { sleepUntilNext(scope) }
    } else {
      let (place, lane) = (lines[line].key.place, lines[line].key.lane)
      lines[line].blocker = -1
      lines[line].handle = readyLines[endPoints[place].lines][lane].insert(key)
      endPoints[place].holds.insert(lane == .short ? .shortReady : .longReady)
    }
  }

  private mutating func displace(_ line: Int32) {
    let (scope, handle) = (lines[line].blocker, lines[line].handle)
    guard handle >= 0 else { return }
    lines[line].handle = -1
    if scope >= 0 {
      let wasFirst = scopes[scope].blocked.first?.place == line
      scopes[scope].blocked.remove(handle)
      // Who stood behind it may be able to go.
      if wasFirst { markDirty(scope) }
    } else {
      let (place, lane) = (lines[line].key.place, lines[line].key.lane)
      let ready = endPoints[place].lines
      readyLines[ready][lane].remove(handle)
      if readyLines[ready][lane].isEmpty { endPoints[place].holds.remove(lane == .short ? .shortReady : .longReady) }
    }
  }

  /// The first of a request's scopes that has no room for it; nil where all have.
  func blocker(of slot: Int32) -> Int32? {
    let demand = nodes[slot].demand
    for scope in demands[demand].scopes where !hasRoom(in: scope, for: slot) { return scope }
    return nil
  }

  /// Whether a scope has room for a request, and nobody who came before it waits for that.
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

  /// Lets lines go on that hang on a scope which has room again. The turns of their end-points are up to date after it.
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

  /// Lets a named scope wake when the first that hangs on it may go, if that is a question of time.
  mutating func sleepUntilNext(_ scope: Int32) {
    guard let best = scopes[scope].blocked.first, scopes[scope].running < scopes[scope].most else {
      return scopes.sleep(scope, until: .max)
    }
    if scopes[scope].isFull(at: now) { return scopes.sleep(scope, until: scopes[scope].widens(after: now)) }
    let first = lines[best.place].queue.first(in: nodes)
    let moment = scopes[scope].earliest(demands[nodes[first].demand].weights, at: now).moment
    scopes.sleep(scope, until: moment > now ? moment.nanoseconds : .max)
  }

  /// Takes lines back from those that may start at an end-point whose scopes have lost their room since.
  mutating func purgeReadyLines(of place: Int32) {
    for lane in [RequestLane.short, .long] {
      while endPoints[place].lines >= 0, let first = readyLines[endPoints[place].lines][lane].first,
        blocker(of: lines[first.place].queue.first(in: nodes)) != nil
      {
        settle(first.place)
      }
    }
  }

  /// The first of an end-point's lane: of those without scopes, and of the lines that may start. -1: none.
  func first(of lane: RequestLane, at place: Int32) -> Int32 {
    let plain = lane == .short ? endPoints[place].short.first(in: nodes) : endPoints[place].long.first(in: nodes)
    guard endPoints[place].lines >= 0, let best = readyLines[endPoints[place].lines][lane].first else { return plain }
    let lined = lines[best.place].queue.first(in: nodes)
    return plain >= 0 && isBefore(plain, lined) ? plain : lined
  }

  func isBefore(_ left: Int32, _ right: Int32) -> Bool {
    (nodes[left].rank, nodes[left].age) < (nodes[right].rank, nodes[right].age)
  }
}
