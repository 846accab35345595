import HeadgateThreads

@testable import HeadgateGate

// The effects of the scheduler, and which are allowed.

extension LimiterExerciser {
  mutating func drain() -> String? {
    var effects: [(effect: Scheduler<Int>.Effect, waited: WaitTimes)] = []
    while scheduler.hasEffects {
      guard let effect = scheduler.next() else { return "effects were announced and none came" }
      // Starts are reported first. Requests that gave way made room for them.
      if case .shed(let item) = effect, let broken = shed(item) { return broken }
      effects.append((effect, scheduler.waited))
    }
    for (effect, waited) in effects {
      let broken: String? =
        switch effect {
        case .start(let item, let ticket): start(item, ticket, after: waited)
        case .shed: nil
        case .admit(let item): admit(item)
        case .end, .abort, .drained: "an open gate closes"
        }
      if let broken { return broken }
    }
    if scheduler.waiting > mostWaiting { return "\(scheduler.waiting) wait, more than \(mostWaiting)" }
    if !held.isEmpty, scheduler.waiting - held.count < limits.waiting { return "one is held beside a free place" }
    return scheduler.next() == nil ? nil : "an effect came unannounced"
  }

  mutating func start(_ item: Int, _ ticket: Ticket, after waited: WaitTimes) -> String? {
    guard var entry = known[item], entry.ticket == ticket, entry.stand == .waiting else { return "a strange start" }
    if let broken = wrongSum(waited, of: entry) { return broken }
    if let broken = mayNotStart(entry) { return "\(item) \(entry) started: \(broken)" }
    tally.started += 1
    serial += 1
    entry.stand = .running
    entry.serial = serial
    entry.startedAt = now
    for thing in entry.things {
      things[thing].health.started(at: now)
      let number = things[thing].start(serial, entry.weights, at: now)
      entry.charges.append(Charge(thing: thing, sleeps: things[thing].health.sleepsEver, number: number))
    }
    // The counts at the previous end-point can still be settled, unless it is counted again.
    if !entry.weights.isEmpty, entry.charges.contains(where: { $0.number != nil }) {
      entry.weighed = Weighed(serial: serial, startedAt: now, charges: entry.charges)
    }
    known[item] = entry
    held.removeAll { $0 == item }
    startedNow.append(item)
    return nil
  }

  /// One gives way since too many wait.
  private mutating func shed(_ item: Int) -> String? {
    guard let entry = known[item], entry.stand == .waiting else { return "someone gave way who does not wait" }
    tally.shed += 1
    if let broken = wrongSum(scheduler.waited, of: entry) { return broken }
    if limits.overflow != .dropOldest, limits.overflow != .dropLowest { return "someone gave way, and nobody had to" }
    let waiting = known.filter { $0.key != item && $0.value.stand == .waiting }
    if !isVictim(entry, among: Array(waiting.values)) { return "another one was to give way" }
    if case .gone = scheduler.withdraw(entry.ticket) { remove(item) } else { return "who gave way is still there" }
    return nil
  }

  /// The caller of a waiting request is resumed.
  mutating func admit(_ item: Int) -> String? {
    guard held.first == item, known[item]?.stand == .waiting else { return "another one was to be admitted" }
    held.removeFirst()
    if scheduler.waiting - held.count > limits.waiting { return "one was admitted into a full queue" }
    return nil
  }

  /// Some started requests never do anything.
  mutating func declineSome() -> String? {
    guard let item = startedNow.last, Int.random(in: 0..<12, using: &random) == 0, let entry = known[item],
      entry.stand == .running
    else { return nil }
    tally.declined += 1
    for charge in entry.charges { things[charge.thing].giveBack(entry.serial, charge.number) }
    if scheduler.finish(entry.ticket, hasStarted: false) != item { return "a declined one was not found" }
    remove(item)
    return drain()
  }
}
