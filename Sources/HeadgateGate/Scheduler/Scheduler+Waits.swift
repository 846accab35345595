// What requests wait for, summed up by cause: see WaitClock.swift for how.
//
// Three kinds of places have clocks. The requests without scopes wait in the lane of their end-point, whose cause is that
// of its next request: after each event there, every other of them waits for the same. Lines wait in groups, and a
// group waits either there too, or at the scope that blocks it. So an event changes one or two clocks, however many
// requests, lines and groups wait.

import HeadgateThreads

extension Scheduler {
  // MARK: Requests

  /// A request comes to its lane or line, or leaves it.
  mutating func turnMeter(of slot: Int32) {
    let meter = nodes[slot].meter
    guard meter >= 0 else { return }
    meters[meter].turn(under: reading(over: slot, at: now))
  }

  /// A request has left the queue: its waits count as past.
  mutating func endWait(of slot: Int32) {
    let meter = nodes[slot].meter
    guard meter >= 0 else { return }
    addPast(meters[meter].value, at: nodes[slot].endPoint)
  }

  /// How long a request waited that has left the queue. Nothing if that was asked before, or if it did not wait.
  mutating func takeWaits(of slot: Int32) -> WaitTimes {
    let meter = nodes[slot].meter
    guard meter >= 0 else { return WaitTimes() }
    let waited = WaitTimes(meters[meter].value)
    nodes[slot].meter = -1
    meters.remove(meter)
    return waited
  }

  /// How long a request waits already, if it waits or has not been told of its permit. O(1).
  func waits(of ticket: Ticket, at moment: Deadline) -> WaitTimes {
    guard let slot = nodes.slot(of: ticket), nodes[slot].meter >= 0 else { return WaitTimes() }
    // The caller may have read the clock before the last event.
    return WaitTimes(waits(of: slot, at: max(moment, now)))
  }

  private func waits(of slot: Int32, at moment: Deadline) -> WaitSums {
    let meter = nodes[slot].meter
    guard nodes[slot].state == .waiting else { return meters[meter].value }
    return meters[meter].read(under: reading(over: slot, at: moment))
  }

  /// A request that has its permit waited for something that the scheduler does not know.
  mutating func add(_ times: WaitTimes, of ticket: Ticket) {
    guard let slot = nodes.slot(of: ticket) else { return }
    addPast(times.sums, at: nodes[slot].endPoint)
  }

  private mutating func addPast(_ sums: WaitSums, at place: Int32) {
    pastWaits = pastWaits + sums
    let book = endPoints.book(of: place)
    endPoints.books[book].past = endPoints.books[book].past + sums
  }

  /// All waits so far, and those of each end-point where a request waits, by its place. O(n) in the requests that wait.
  func allWaits(at moment: Deadline) -> (all: WaitSums, places: [Int32: WaitSums]) {
    var (all, places) = (pastWaits, [Int32: WaitSums]())
    for slot in nodes.nodes.indices.lazy.map({ Int32($0) }) where nodes[slot].state == .waiting {
      let (sums, place) = (waits(of: slot, at: moment), nodes[slot].endPoint)
      all = all + sums
      places[place] = (places[place] ?? pastWaits(at: place)) + sums
    }
    return (all, places)
  }

  /// The waits at an end-point that have ended.
  func pastWaits(at place: Int32) -> WaitSums {
    let book = endPoints[place].book
    return book < 0 ? WaitSums() : endPoints.books[book].past
  }

  // MARK: Readings

  private func reading(over slot: Int32, at moment: Deadline) -> WaitSums {
    let demand = nodes[slot].demand
    guard demand >= 0, case let line = demands[demand].line, line >= 0 else {
      return reading(of: nodes[slot].lane, at: nodes[slot].endPoint, moment)
    }
    return lines[line].meter.read(under: reading(ofGroup: lines[line].group, at: moment))
  }

  private func reading(ofGroup group: Int32, at moment: Deadline) -> WaitSums {
    groups[group].meter.read(under: reading(overGroup: group, at: moment))
  }

  /// The reading of what a group waits at.
  private func reading(overGroup group: Int32, at moment: Deadline) -> WaitSums {
    let key = groups[group].key
    return groups[group].isReady
      ? reading(of: key.lane, at: key.place, moment) : scopes[key.scope].clock.read(at: moment)
  }

  private func reading(of lane: RequestLane, at place: Int32, _ moment: Deadline) -> WaitSums {
    let book = endPoints[place].book
    return book < 0 ? WaitSums() : endPoints.books[book].clocks[lane].read(at: moment)
  }
}

// MARK: - Causes

// After each event at an end-point or a scope its clocks get the cause that holds from then on. Causes that end by time
// end with a wake-up, which is an event, except for a pause that ends while another limit applies.

extension Scheduler {
  /// Puts the clock forward. While requests wait, that precedes each event.
  mutating func setTime(_ moment: Deadline) { if moment > now { now = moment } }

  /// A line has joined its group, or leaves it.
  mutating func turnMeter(ofLine line: Int32) {
    lines[line].meter.turn(under: reading(ofGroup: lines[line].group, at: now))
  }

  /// A group was registered, or is about to be unregistered.
  mutating func turnMeter(ofGroup group: Int32) { groups[group].meter.turn(under: reading(overGroup: group, at: now)) }

  /// Something has changed at an end-point. O(1).
  mutating func updateCauses(at place: Int32) {
    guard endPoints[place].book >= 0 else { return }
    updateCause(of: .short, at: place)
    updateCause(of: .long, at: place)
  }

  private mutating func updateCause(of lane: RequestLane, at place: Int32) {
    guard endPoints[place].waiting(lane) > 0 else { return }
    let (book, scope) = (endPoints[place].book, endPoints[place].scope)
    if scope >= 0, !endPoints[place].isStopped, let sleep = sleep(of: scope, at: now) {
      let next = cause(of: lane, at: place, sleep.until)
      endPoints.books[book].clocks[lane].turn(to: sleep.word, until: sleep.until, then: next, at: now)
    } else {
      let cause = cause(of: lane, at: place, now)
      endPoints.books[book].clocks[lane].turn(to: cause, at: now)
    }
  }

  /// Why the requests of a lane wait that no scope of theirs holds back. In the order of `WaitReason`, without pauses. If
  /// nothing of the end-point's own holds them back, they wait for the total: otherwise the next of them would run.
  private func cause(of lane: RequestLane, at place: Int32, _ moment: Deadline) -> WaitClock.Cause {
    let scope = endPoints[place].scope
    if endPoints[place].isStopped { return .stopped }
    if scope >= 0, scopes[scope].isFull(at: moment) { return .recovering }
    if let cause = fullness(of: lane, at: place) { return cause }
    guard scope >= 0, endPoints[place].holds.contains(lane == .short ? .shortSleeps : .longSleeps) else {
      return .total
    }
    // The other lane's next request may be the one that waits for a time.
    if let cause = scopes[scope].cause { return cause.kind.word }
    let first = first(of: lane, at: place)
    return first < 0 ? .total : scopes[scope].earliest(weights(of: first), at: moment).cause?.kind.word ?? .total
  }

  /// Whether the limits of an end-point on running requests leave no room in a lane.
  private func fullness(of lane: RequestLane, at place: Int32) -> WaitClock.Cause? {
    if isLearnedFull(place) || endPoints[place].running >= endPoints[place].most { return .limit }
    return lane == .long && endPoints[place].runningLong >= endPoints[place].mostLong ? .longLane : nil
  }

  /// Something has changed at a scope. O(1).
  mutating func updateCause(ofScope scope: Int32) {
    guard let best = scopes[scope].blocked.first else { return }
    let first = first(ofGroup: best.place)
    guard first >= 0 else { return }
    if let sleep = sleep(of: scope, at: now) {
      let next = cause(of: first, in: scope, sleep.until)
      scopes[scope].clock.turn(to: sleep.word, until: sleep.until, then: next, at: now)
    } else {
      let cause = cause(of: first, in: scope, now)
      scopes[scope].clock.turn(to: cause, at: now)
    }
  }

  /// Why the first request that a scope holds back waits. If the scope has room, that is not offered while the total is
  /// full.
  private func cause(of slot: Int32, in scope: Int32, _ moment: Deadline) -> WaitClock.Cause {
    if scopes[scope].isFull(at: moment) { return .recovering }
    if scopes[scope].running >= scopes[scope].most {
      guard scopes[scope].isOfSockets else { return .scope }
      // Where each request has a socket of its own, both limits are reached at once.
      return fullness(of: nodes[slot].lane, at: nodes[slot].endPoint) ?? .socket
    }
    let (start, cause) = scopes[scope].earliest(weights(of: slot), at: moment)
    return start > moment ? cause?.kind.word ?? .total : .total
  }
}
