import HeadgateTesting
import HeadgateThreads

@testable import HeadgateGate

/// Plays seeded random events to a scheduler and compares the results with a simple model of the rules.
struct SchedulerExerciser {
  private enum Stand { case waiting, running, ending }

  private struct Known {
    var ticket: Ticket
    var endPoint: Int
    var lane: RequestLane
    var stand: Stand
    var age: UInt64
    var priority: RequestPriority
    // Its age, with the addition of its priority at submission or change.
    var rank: UInt64
  }

  private static let policies: [OverflowPolicy] = [.refuse, .wait, .dropOldest, .dropLowest]

  let seed: UInt64
  private(set) var events = 0
  private(set) var started = 0
  private(set) var ended = 0
  private var random: SeededRandom
  private var scheduler: Scheduler<Int>
  private var limits: GateLimits
  private let endPoints: [EndPoint]
  private var known: [Int: Known] = [:]
  // The same items in an array, for random choices.
  private var order: [Int] = []
  private var places: [Int: Int] = [:]
  private var running: [Int]
  private var runningLong: [Int]
  private var nextItem = 0
  private var now: UInt64 = 1_000_000
  private var lastAge: UInt64 = 0
  private var paused: Set<Int> = []
  private var multiplexing: Set<Int> = []
  private var expected = 0

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededRandom(seed: seed)
    endPoints = try (0..<12).map { try EndPoint(host: "h\($0)", port: 80) }
    limits = try GateLimits(
      endPoint: .standard, total: 20, waiting: 400, overflow: Self.policies[Int(seed % 4)])
    limits.agingInterval = .nanoseconds(500)
    scheduler = Scheduler(limits: limits)
    running = Array(repeating: 0, count: endPoints.count)
    runningLong = running
  }

  /// Plays events, then closes the gate in a random mode until everything has ended. Returns the first broken rule.
  mutating func play(_ count: Int) -> String? {
    for _ in 0..<count {
      events += 1
      if let broken = step() ?? drainEffects() ?? check() { return "seed \(seed), event \(events): \(broken)" }
    }
    return close().map { "seed \(seed), at the end: \($0)" }
  }

  private mutating func step() -> String? {
    switch Int.random(in: 0..<100, using: &random) {
    // Long phases of growth and of shrinking alternate, so that both full and empty states occur.
    case 0..<(events / 2000 % 2 == 0 ? 50 : 30): return submit()
    case 50..<75, 30..<50: return finish()
    case 75..<90: return withdraw()
    case 90..<93: return move()
    case 93..<94: return reclass()
    case 94..<96: return changePriority()
    case 96..<97: return pauseOrResume()
    case 97..<98: return multiplex()
    case 98..<99: return expectOrForget()
    default: return changeLimits()
    }
  }

  private mutating func expectOrForget() -> String? {
    if expected > 0, Bool.random(using: &random) {
      scheduler.forgetExpected()
      expected -= 1
    } else {
      if !scheduler.expect(wasHere: Bool.random(using: &random)) { return "an open gate expects nothing" }
      expected += 1
    }
    return scheduler.expected == expected ? nil : "the expected are miscounted"
  }

  private mutating func submit() -> String? {
    let item = nextItem
    nextItem += 1
    // Some threads read the clock earlier than they arrive.
    now += UInt64.random(in: 0..<100, using: &random)
    let moment = now - UInt64.random(in: 0..<50, using: &random)
    let newest = max(lastAge + 1, moment)
    let first = expected > 0 && Bool.random(using: &random) ? now - .random(in: 0..<5000, using: &random) : nil
    if first != nil { expected -= 1 }
    // Some of those that arrive with an age were accepted before.
    let wasAccepted = Int.random(in: 0..<4, using: &random) == 0
    let returning =
      first == nil && wasAccepted ? now - .random(in: 0..<5000, using: &random) : nil
    let age = min(newest, first ?? returning ?? newest)
    let place = Int.random(in: 0..<endPoints.count, using: &random)
    let lane: RequestLane = Int.random(in: 0..<4, using: &random) == 0 ? .long : .short
    let priority =
      Bool.random(using: &random) ? .normal : RequestPriority.allCases.randomElement(using: &random) ?? .normal
    let needsPlace = lane == .long && Bool.random(using: &random)
    let mayStart = Bool.random(using: &random)
    let isBrief = mayStart && !needsPlace && Int.random(in: 0..<6, using: &random) == 0
    let waitingBefore = scheduler.waiting
    func entry(_ ticket: Ticket) -> Known {
      Known(
        ticket: ticket, endPoint: place, lane: lane, stand: .waiting, age: age, priority: priority,
        rank: rank(age, priority))
    }
    let outlook = scheduler.outlook(
      for: endPoints[place], lane, priority: priority, at: Deadline(nanoseconds: moment),
      patience: needsPlace ? .needsLongPlace : .waits)
    let submission = scheduler.submit(
      item, to: endPoints[place], lane, priority: priority, at: Deadline(nanoseconds: moment),
      patience: isBrief ? .none : needsPlace ? .needsLongPlace : .waits, mayBeHeld: true, mayStart: mayStart,
      as: first.map { .expected(age: $0, wasAccepted: wasAccepted) } ?? returning.map { .returning(age: $0) } ?? .new)
    if isBrief, case .refused(.queueFull) = submission {
      lastAge = newest
      if outlook == .runs { return "refused although it could start" }
      return scheduler.waiting == waitingBefore && !scheduler.hasEffects
        ? nil : "one that does not wait left something behind"
    }
    // The prediction is for a first submission.
    if first == nil, returning == nil, let broken = compare(outlook, submission) { return broken }
    if case .refused(.longLaneFull) = submission { return needsPlace ? nil : "a patient request was refused" }
    lastAge = newest
    switch submission {
    case .started(let ticket):
      if !mayStart { return "something started inside a submission that may not" }
      add(item, entry(ticket))
      return startedItem(item, ticket)
    case .accepted(let ticket):
      if isBrief { return "one waits that may not" }
      let mayExceed = returning != nil || first != nil && wasAccepted
      if scheduler.waiting > max(waitingBefore + (mayExceed ? 1 : 0), limits.waiting) { return "too many wait" }
      add(item, entry(ticket))
    case .held(let ticket):
      if limits.overflow != .wait { return "held under another policy than wait" }
      add(item, entry(ticket))
    case .refused(.queueFull):
      if returning != nil || first != nil && wasAccepted { return "one was refused that had been accepted" }
      if limits.overflow == .wait || waitingBefore < limits.waiting { return "refused beside a free place" }
      if limits.overflow == .dropOldest, limits.waiting > 0, first == nil,
        !known.values.contains(where: { $0.stand == .waiting && $0.age > age })
      {
        return "the youngest was refused for an elder one"
      }
      // The one that gives way has the lowest rank: here the newcomer.
      if limits.overflow == .dropLowest, known.count < 600,
        known.values.contains(where: { $0.stand == .waiting && $0.rank > rank(age, priority) })
      {
        return "a request was refused that is more urgent than one that waits"
      }
    case .refused: return "refused by an open gate"
    }
    return nil
  }

  /// Compares the prediction for a submission with its result. No other effects exist, since they were drained before.
  private func compare(_ outlook: RequestAvailability, _ submission: Submission) -> String? {
    let isRight =
      switch (submission, outlook) {
      case (.started, .runs): true
      case (.accepted, .runs): scheduler.hasEffects
      // Another one may have had to give way.
      case (.accepted, .waits): !scheduler.hasEffects || limits.overflow != .refuse && limits.overflow != .wait
      case (.held, .waits): !scheduler.hasEffects
      case (.refused, .refused): true
      default: false
      }
    return isRight ? nil : "foretold was \(outlook), and it came to \(submission)"
  }

  private mutating func reclass() -> String? {
    guard let (item, entry) = anyone() else { return nil }
    let isTotalFull = runningLong.reduce(0, +) >= max(1, limits.total / 2)
    switch (scheduler.reclass(entry.ticket), entry.stand, entry.lane) {
    case (.gone, .waiting, _), (.gone, .ending, _), (.stays, .running, .long): return nil
    case (.refused, .running, .short):
      // A scan, so only while few are alive.
      guard known.count < 200, !isTotalFull else { return nil }
      let waiting = known.values.filter {
        $0.stand == .waiting && $0.endPoint == entry.endPoint && $0.lane == .long
      }
      return runningLong[entry.endPoint] + waiting.count >= mostLong(entry.endPoint)
        ? nil : "the long lane refused one beside a free place"
    case (.moved, .running, .short):
      if isTotalFull || runningLong[entry.endPoint] >= mostLong(entry.endPoint) { return "a full long lane took one" }
      known[item]?.lane = .long
      runningLong[entry.endPoint] += 1
      return nil
    default: return "a change of lane found the item elsewhere than the model"
    }
  }

  /// How many requests of an end-point may be long: without HTTP/2 each needs a socket, and one is left for short ones.
  private func mostLong(_ place: Int) -> Int {
    let own = limits.overrides[endPoints[place]] ?? limits.endPoint
    return multiplexing.contains(place) ? own.long : min(own.long, max(1, own.connections - 1))
  }

  private func rank(_ age: UInt64, _ priority: RequestPriority) -> UInt64 {
    let behind = RequestPriority.allCases.filter { $0 > priority }.count
    return age + UInt64(behind) * UInt64(limits.agingInterval.components.attoseconds / 1_000_000_000)
  }

  private mutating func changePriority() -> String? {
    guard let (item, entry) = anyone() else { return nil }
    let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
    if !scheduler.setPriority(priority, of: entry.ticket) { return "someone alive could not become more urgent" }
    let rank = rank(entry.age, priority)
    known[item]?.priority = priority
    known[item]?.rank = rank
    return nil
  }

  private mutating func pauseOrResume() -> String? {
    let place = Int.random(in: 0..<endPoints.count, using: &random)
    let pauses = paused.count < 3 && Bool.random(using: &random)
    if pauses { paused.insert(place) } else { paused.remove(place) }
    scheduler.setStopped(pauses, at: endPoints[place])
    return nil
  }

  private mutating func finish() -> String? {
    // Most of them wait, so look a few times for a running one.
    var found = anyone()
    for _ in 0..<12 where found?.1.stand == .waiting { found = anyone() }
    guard let (item, entry) = found, entry.stand != .waiting else { return nil }
    if scheduler.finish(entry.ticket) != item { return "finish returned another item" }
    if scheduler.finish(entry.ticket) != nil { return "a permit was given back twice" }
    gaveBack(entry)
    remove(item)
    return nil
  }

  private mutating func withdraw() -> String? {
    guard let (item, entry) = anyone() else { return nil }
    switch (scheduler.withdraw(entry.ticket), entry.stand) {
    case (.waiting(let back), .waiting):
      if back != item { return "withdraw returned another item" }
      remove(item)
    case (.running, .running): known[item]?.stand = .ending
    case (.gone, .ending): break
    default: return "a withdrawal found the item elsewhere than the model"
    }
    return nil
  }

  private mutating func move() -> String? {
    guard let (item, entry) = anyone(), entry.stand == .running else { return nil }
    let place = Int.random(in: 0..<endPoints.count, using: &random)
    switch scheduler.move(entry.ticket, to: endPoints[place]) {
    case .stays: return place == entry.endPoint ? nil : "a move to another end-point stayed"
    case .refused: return "an open gate refused a move"
    case .moved:
      if place == entry.endPoint { return "a move to the same end-point gave its permit up" }
      gaveBack(entry)
      known[item]?.endPoint = place
      known[item]?.stand = .waiting
    }
    return nil
  }

  private mutating func multiplex() -> String? {
    let place = Int.random(in: 0..<endPoints.count, using: &random)
    let multiplexes = Bool.random(using: &random)
    // If none was told, the number of sockets leaves no more room.
    if multiplexes { multiplexing.insert(place) } else { multiplexing.remove(place) }
    scheduler.setMultiplexing(multiplexes, at: endPoints[place])
    return nil
  }

  private mutating func changeLimits() -> String? {
    do {
      let requests = Int.random(in: 1...8, using: &random)
      let connections = Bool.random(using: &random) ? requests : Int.random(in: 1...requests, using: &random)
      let changed = try EndPointLimits(
        requests: requests, long: .random(in: 1...max(1, requests - 1), using: &random), connections: connections,
        weight: Int.random(in: 1...4, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: limits.endPoint = changed
      case 1: limits.total = Int.random(in: 1...40, using: &random)
      case 2: limits.overflow = Self.policies.randomElement(using: &random) ?? .refuse
      case 3: limits.agingInterval = .nanoseconds(Int.random(in: 0...2000, using: &random))
      default:
        let endPoint = endPoints[Int.random(in: 0..<endPoints.count, using: &random)]
        let own = Bool.random(using: &random) ? changed : nil
        limits.overrides[endPoint] = own
        scheduler.setLimits(own, for: endPoint)
        return nil
      }
    } catch {
      return "\(error)"
    }
    scheduler.setLimits(limits)
    return nil
  }

  // MARK: Effects

  private mutating func drainEffects() -> String? {
    while scheduler.hasEffects {
      guard let effect = scheduler.next() else { return "effects were announced and none came" }
      switch effect {
      case .start(let item, let ticket):
        if let broken = startedItem(item, ticket) { return broken }
      case .admit(let item):
        if known[item]?.stand != .waiting { return "someone was admitted who does not wait" }
      case .shed(let item):
        if let broken = shed(item) { return broken }
      case .end, .abort, .drained: return "an open gate closes"
      }
    }
    return scheduler.next() == nil ? nil : "an effect came unannounced"
  }

  private mutating func shed(_ item: Int) -> String? {
    guard let entry = known[item], entry.stand == .waiting else { return "someone gave way who does not wait" }
    if let broken = isToldOfEnd(entry) { return broken }
    remove(item)
    guard known.count < 600 else { return nil }
    let others = known.values.filter { $0.stand == .waiting }
    switch limits.overflow {
    case .dropOldest: return others.contains { $0.age < entry.age } ? "not the eldest gave way" : nil
    case .dropLowest: return others.contains { $0.rank > entry.rank } ? "not the lowest gave way" : nil
    default: return "someone gave way under a policy that drops nobody"
    }
  }

  /// Withdraws, as a request does on a refusal, in case it was on its way.
  private mutating func isToldOfEnd(_ entry: Known) -> String? {
    if case .gone = scheduler.withdraw(entry.ticket) { nil } else { "someone who was taken out is still there" }
  }

  private mutating func startedItem(_ item: Int, _ ticket: Ticket) -> String? {
    guard let entry = known[item], entry.ticket == ticket else { return "something unknown was started" }
    if entry.stand != .waiting { return "something was started twice" }
    started += 1
    known[item]?.stand = .running
    running[entry.endPoint] += 1
    if entry.lane == .long { runningLong[entry.endPoint] += 1 }
    if paused.contains(entry.endPoint) { return "something started at an end-point that was stopped" }
    let own = limits.overrides[endPoints[entry.endPoint]] ?? limits.endPoint
    if running[entry.endPoint] > own.requests { return "an end-point's limit was exceeded" }
    if running[entry.endPoint] > own.connections, !multiplexing.contains(entry.endPoint) {
      return "more started than there may be sockets"
    }
    if runningLong[entry.endPoint] > mostLong(entry.endPoint), entry.lane == .long { return "a long lane was exceeded" }
    let total = running.reduce(0, +)
    if total > limits.total { return "the total was exceeded" }
    if entry.lane == .long, runningLong.reduce(0, +) > max(1, limits.total / 2) {
      return "the long half of the total was exceeded"
    }
    // The request with the lowest rank in its lane goes first. A scan, so only while few are alive.
    if known.count < 200 {
      for (_, other) in known
      where other.stand == .waiting && other.endPoint == entry.endPoint && other.lane == entry.lane
        && other.rank < entry.rank
      {
        return
          "\(item) (\(entry.lane)) was started before one of a lower rank (\(other.rank)) at \(entry.endPoint)"
      }
    }
    return nil
  }

  private func check() -> String? {
    if known.count != scheduler.nodes.count { return "the scheduler and the model disagree on who is alive" }
    if running.reduce(0, +) != scheduler.running { return "they disagree on who runs" }
    return scheduler.brokenInvariant(inFull: known.count < 40 || events % 4096 == 0)
  }

  // MARK: The end

  private mutating func close() -> String? {
    let modes: [Closing] = [.draining, .ending, .aborting]
    let mode = modes[Int.random(in: 0..<3, using: &random)]
    scheduler.close(mode)
    guard case .refused(.shutDown) = submitLate() else {
      return "a closed gate took one"
    }
    var isDrained = false
    while true {
      while let effect = scheduler.next() {
        switch effect {
        case .start(let item, let ticket):
          if let broken = startedItem(item, ticket) { return broken }
        case .admit: break
        case .end(let item):
          guard let entry = known[item], entry.stand == .waiting, mode >= .ending || paused.contains(entry.endPoint)
          else {
            return "someone was ended who should not be"
          }
          if let broken = isToldOfEnd(entry) { return broken }
          remove(item)
        case .shed: return "a closed gate lets someone give way"
        case .abort(let item):
          if mode < .aborting || known[item]?.stand != .running { return "someone was aborted who should not be" }
          known[item]?.stand = .ending
        case .drained: isDrained = true
        }
      }
      guard
        let (item, entry) = order.first(where: { known[$0]?.stand != .waiting }).flatMap({ item in
          known[item].map { (item, $0) }
        })
      else { break }
      if mode == .aborting, entry.stand == .running { return "a running one was not asked to end" }
      if scheduler.finish(entry.ticket) == nil { return "a running one could not finish" }
      gaveBack(entry)
      remove(item)
    }
    if !known.isEmpty || scheduler.nodes.count != 0 { return "\(known.count) never ended" }
    if mode == .draining, expected > 0 {
      if isDrained { return "it is empty while some are expected" }
      for _ in 0..<expected { scheduler.forgetExpected() }
      if case .drained? = scheduler.next() { isDrained = true }
    }
    if scheduler.endPoints.busyCount != 0 { return "an end-point is remembered" }
    if scheduler.running != 0 || scheduler.waiting != 0 { return "something runs or waits" }
    return isDrained ? nil : "nobody was told that it is empty"
  }

  private mutating func submitLate() -> Submission {
    scheduler.submit(
      -1, to: endPoints[0], .short, priority: .normal, at: .distantPast, patience: .waits, mayBeHeld: false,
      mayStart: true, as: .new)
  }

  // MARK: The model

  private mutating func gaveBack(_ entry: Known) {
    running[entry.endPoint] -= 1
    if entry.lane == .long { runningLong[entry.endPoint] -= 1 }
  }

  private mutating func add(_ item: Int, _ entry: Known) {
    known[item] = entry
    places[item] = order.count
    order.append(item)
  }

  private mutating func remove(_ item: Int) {
    ended += 1
    known[item] = nil
    guard let place = places.removeValue(forKey: item), let last = order.popLast(), last != item else { return }
    order[place] = last
    places[last] = place
  }

  private mutating func anyone() -> (Int, Known)? {
    guard let item = order.randomElement(using: &random), let entry = known[item] else { return nil }
    return (item, entry)
  }
}
