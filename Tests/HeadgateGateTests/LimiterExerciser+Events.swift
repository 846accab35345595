import HeadgateThreads

@testable import HeadgateGate

// The events of users and programs: requests are submitted, end, move, and are stopped.

extension LimiterExerciser {
  mutating func submit() -> String? {
    let item = nextItem
    nextItem += 1
    var entry = newcomer()
    let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
    let deadline = Int.random(in: 0..<4, using: &random) == 0 ? now + .random(in: 1...30_000, using: &random) : .max
    let needsPlace = entry.lane == .long && Int.random(in: 0..<4, using: &random) == 0
    let mayStart = Int.random(in: 0..<4, using: &random) > 0
    let mayBeHeld = Bool.random(using: &random)
    let returns = Int.random(in: 0..<12, using: &random) == 0
    let newest = max(lastAge + 1, now)
    entry.age = returns ? now - .random(in: 0...20_000, using: &random) : newest
    entry.rank = rank(entry.age, priority)
    let expected = refusal(entry, deadline, needsPlace)
    let mayWait = limits.overflow == .wait && mayBeHeld || returns
    let waitingBefore = scheduler.waiting
    let submission = scheduler.submit(
      item, to: endPoints[entry.endPoint], entry.lane, priority: priority, at: Deadline(nanoseconds: now),
      patience: needsPlace ? .needsLongPlace : .waits, mayBeHeld: mayBeHeld, mayStart: mayStart,
      as: returns ? .returning(age: entry.age) : .new,
      needs: StartNeeds.of(entry.scopes.map { names[$0] }, entry.weights, needsSocket: entry.needsSocket),
      until: Deadline(nanoseconds: deadline))
    if case .refused(.longLaneFull) = submission {
      return needsPlace && isLongLaneFull(entry) ? nil : "refused beside a free place in the long lane"
    }
    if needsPlace, isLongLaneFull(entry) { return "a full long lane took one" }
    lastAge = newest
    remembered.insert(entry.endPoint)
    switch submission {
    case .refused(.queueFull):
      tally.overflows += 1
      return expected != nil || mayWait ? "the queue was full for one that may wait" : wrongVictim(entry)
    case .refused(let refusal):
      if case .paused = refusal { tally.paused += 1 }
      return refusal.error(at: endPoints[entry.endPoint]).code == expected
        ? nil : "refused with \(refusal), not \(expected as Any)"
    case .started(let ticket), .accepted(let ticket), .held(let ticket):
      if let expected { return "taken, and to be refused with \(expected)" }
      entry.ticket = ticket
      entry.waitsSince = now
      known[item] = entry
      order.append(item)
    }
    switch submission {
    case .started(let ticket):
      return mayStart ? start(item, ticket, after: WaitTimes()) : "started inside a submission that may not"
    case .held:
      held.append(item)
      tally.overflows += 1
      let isRight = limits.overflow == .wait && mayBeHeld && !returns && waitingBefore >= limits.waiting
      return isRight ? nil : "held beside a free place"
    default:
      mostWaiting = max(waitingBefore + (returns ? 1 : 0), limits.waiting)
      return nil
    }
  }

  private mutating func newcomer() -> Known {
    let place = Int.random(in: 0..<Self.endPointCount, using: &random)
    let lane: RequestLane = Int.random(in: 0..<4, using: &random) == 0 ? .long : .short
    let scopes =
      Int.random(in: 0..<3, using: &random) == 0
      ? [] : Array((0..<Self.scopeCount).shuffled(using: &random).prefix(.random(in: 0...3, using: &random)))
    let weights = Bool.random(using: &random) ? [:] : ["tokens": Int.random(in: 1...12, using: &random)]
    return Known(
      ticket: Ticket(slot: -1, generation: 0), endPoint: place, lane: lane, scopes: scopes,
      needsSocket: Int.random(in: 0..<3, using: &random) == 0, weights: weights, age: 0, rank: 0)
  }

  private func isLongLaneFull(_ entry: Known) -> Bool {
    let long = known.values.filter { $0.lane == .long }
    return long.count(where: { $0.stand != .waiting }) >= limits.totalLong
      || long.count(where: { $0.endPoint == entry.endPoint }) >= mostLong(entry.endPoint)
  }

  private func refusal(_ entry: Known, _ deadline: UInt64, _ needsPlace: Bool) -> DispatchError.Code? {
    for thing in entry.things {
      if things[thing].budgets.contains(where: { $0.units < entry.weights[$0.name] ?? 0 }) { return .tooHeavy }
      guard let (_, until) = things[thing].sleeps(at: now) else { continue }
      if things[thing].health.hasGivenUp {
        return things[thing].health.cause == .unreachable ? .unreachable : .refusing
      }
      if until >= deadline { return .pausedUntil }
    }
    return nil
  }

  /// A request that was refused since too many wait. It could not have started, and it has the lowest rank.
  private func wrongVictim(_ entry: Known) -> String? {
    let waiting = known.values.filter { $0.stand == .waiting }
    if waiting.count < limits.waiting { return "refused beside a free place" }
    if couldStart(entry) { return "refused, and could start" }
    return isVictim(entry, among: waiting) ? nil : "refused, and another one was to give way"
  }

  /// Whether it gives way before all of those.
  func isVictim(_ entry: Known, among others: [Known]) -> Bool {
    switch limits.overflow {
    case .dropOldest: !others.contains { $0.age < entry.age }
    case .dropLowest: !others.contains { ($0.rank, $0.age) > (entry.rank, entry.age) }
    default: true
    }
  }

  func rank(_ age: UInt64, _ priority: RequestPriority) -> UInt64 {
    age + UInt64(RequestPriority.allCases.filter { $0 > priority }.count) * 5_000
  }

  mutating func finish() -> String? {
    guard let (item, entry) = anyone({ $0 != .waiting }) else { return nil }
    if let broken = tell(entry) { return broken }
    // The withdrawal may have removed others, but not this one.
    guard let entry = known[item] else { return "one that runs was ended" }
    if scheduler.finish(entry.ticket) != item { return "finish returned another item" }
    if scheduler.finish(entry.ticket) != nil { return "a permit was given back twice" }
    remove(item)
    finished = finished.suffix(8) + [entry]
    return nil
  }

  /// A running request is given an event.
  mutating func note() -> String? { anyone { $0 != .waiting }.flatMap { tell($0.1) } }

  mutating func withdraw() -> String? {
    guard let (item, entry) = anyone({ _ in true }) else { return nil }
    switch (scheduler.withdraw(entry.ticket), entry.stand) {
    case (.waiting(let back), .waiting) where back == item: remove(item)
    case (.running, .running): known[item]?.stand = .ending
    case (.gone, .ending): break
    default: return "a withdrawal found it elsewhere"
    }
    return nil
  }

  /// A start that was decided and not reported yet is withdrawn: it never happened.
  mutating func withdrawGranted() -> String? {
    if let broken = finish() { return broken }
    // Several would have kept the interval from it.
    guard scheduler.running == running({ _ in true }) + 1, let granted = known.first(where: { isGranted($0.value) })
    else { return nil }
    let (item, entry) = granted
    serial += 1
    for thing in entry.things {
      // A returned start still counts for the interval between starts after refusals.
      things[thing].health.started(at: now)
      let number = things[thing].start(serial, entry.weights, at: now)
      things[thing].giveBack(serial, number)
    }
    guard case .waiting(let back) = scheduler.withdraw(entry.ticket), back == item else {
      return "a granted one is gone"
    }
    remove(item)
    return nil
  }

  private func isGranted(_ entry: Known) -> Bool {
    entry.stand == .waiting && scheduler.waitReason(of: entry.ticket, at: Deadline(nanoseconds: now)) == nil
  }

  mutating func move() -> String? {
    guard let (item, entry) = anyone({ $0 == .running }) else { return nil }
    let place = Int.random(in: 0..<Self.endPointCount, using: &random)
    switch scheduler.move(entry.ticket, to: endPoints[place]) {
    case .stays:
      let isCounted = entry.things.contains { things[$0].countsStarts } || !entry.scopes.isEmpty
      return place == entry.endPoint && (!isCounted || stopped.contains(place)) ? nil : "a move stayed"
    case .refused(let refusal):
      var there = entry
      there.endPoint = place
      let expected = self.refusal(there, .max, false)
      return refusal.error(at: endPoints[place]).code == expected ? nil : "a move was refused by \(refusal)"
    case .moved:
      remembered.insert(place)
      known[item]?.endPoint = place
      known[item]?.stand = .waiting
      known[item]?.waitsSince = now
      known[item]?.charges = []
      return nil
    }
  }

  mutating func reclass() -> String? {
    guard let (item, entry) = anyone({ $0 == .running }) else { return nil }
    let isFull = isLongLaneFull(entry)
    switch scheduler.reclass(entry.ticket) {
    case .stays: return entry.lane == .long ? nil : "a short one is said to be long"
    case .gone: return "one that runs is gone"
    case .refused: return entry.lane == .short && isFull ? nil : "not let into the long lane beside a free place"
    case .moved:
      known[item]?.lane = .long
      return entry.lane == .short && !isFull ? nil : "a full long lane took one"
    }
  }

  mutating func changePriority() -> String? {
    guard let (item, entry) = anyone({ $0 == .waiting }) else { return nil }
    let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
    let rank = rank(entry.age, priority)
    known[item]?.rank = rank
    return scheduler.setPriority(priority, of: entry.ticket) ? nil : "one that waits was not found"
  }

  /// The weight of a running or ended request is settled.
  mutating func settle() -> String? {
    let running = anyone { $0 != .waiting }
    let isOver = running == nil || Bool.random(using: &random)
    guard let entry = isOver ? finished.randomElement(using: &random) : running?.1 else { return nil }
    let actual = ["tokens": Int.random(in: 0...16, using: &random)]
    guard let weighed = entry.weighed, settled.insert(weighed.serial).inserted else {
      return scheduler.settleWeight(entry.ticket, actual) ? "a weight was told that nobody counts" : nil
    }
    // For as long as its start is counted anywhere.
    let counting = weighed.charges.filter { $0.number != nil && now < weighed.startedAt + things[$0.thing].memory }
    guard scheduler.settleWeight(entry.ticket, actual) else {
      return counting.isEmpty ? nil : "a weight could not be told"
    }
    if counting.isEmpty { return "a weight was told that nobody counts" }
    if scheduler.settleWeight(entry.ticket, actual) { return "a weight was told twice" }
    for charge in counting { things[charge.thing].settle(weighed.serial, actual, at: now) }
    return nil
  }

  mutating func stopOrGoOn() {
    let place = Int.random(in: 0..<Self.endPointCount, using: &random)
    let stops = stopped.isEmpty
    if stops { stopped.insert(place) } else { stopped.removeAll() }
    for place in stops ? [place] : Array(0..<Self.endPointCount) {
      scheduler.setStopped(stops, at: endPoints[place])
    }
  }

  /// The transport has learned what an end-point's sockets carry. Nothing is known of new end-points.
  mutating func multiplex() {
    let place = Int.random(in: 0..<Self.endPointCount, using: &random)
    let multiplexes = Bool.random(using: &random)
    scheduler.setMultiplexing(multiplexes, at: endPoints[place])
    guard remembered.contains(place) else { return }
    if multiplexes { multiplexing.insert(place) } else { multiplexing.remove(place) }
  }
}
