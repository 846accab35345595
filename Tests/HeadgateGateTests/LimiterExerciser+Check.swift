import HeadgateThreads

@testable import HeadgateGate

// The rules for the model's state: which requests may start, and which should have started.

extension LimiterExerciser {
  func running(_ isCounted: (Known) -> Bool) -> Int {
    known.values.count(where: { $0.stand != .waiting && isCounted($0) })
  }

  func running(in thing: Int) -> Int { running { $0.things.contains(thing) } }

  private func most(in thing: Int) -> Int {
    if thing < Self.endPointCount { return most(thing) }
    let place = thing - Self.endPointCount - Self.scopeCount
    return place < 0 ? things[thing].most : mostWithSocket(place)
  }

  func isBefore(_ left: Known, _ right: Known) -> Bool { (left.rank, left.age) < (right.rank, right.age) }

  func isSameQueue(_ left: Known, _ right: Known) -> Bool {
    left.endPoint == right.endPoint && left.lane == right.lane && left.scopes == right.scopes
      && left.needsSocket == right.needsSocket
  }

  /// After a sleep, as many run as may.
  func recovers(_ thing: Int) -> WaitReason.Cause? {
    guard let allowance = things[thing].health.allowance(at: now), things[thing].sleeps(at: now) == nil else {
      return nil
    }
    let sleeps = things[thing].health.sleepsEver
    let since = running { $0.charges.contains { $0.thing == thing && $0.sleeps == sleeps } }
    return since < allowance ? nil : .recovering(allowance, of: allowance)
  }

  /// Whether nothing but a count delays a request of this weight.
  private func isOpen(_ thing: Int, _ entry: Known) -> Bool {
    things[thing].sleeps(at: now) == nil && things[thing].next(entry.weights, at: now) == nil && recovers(thing) == nil
  }

  /// The counts of its end-point allow it.
  private func hasPlace(_ entry: Known) -> Bool {
    !stopped.contains(entry.endPoint) && running(in: entry.endPoint) < most(entry.endPoint)
      && (entry.lane == .short
        || running { $0.endPoint == entry.endPoint && $0.lane == .long } < mostLong(entry.endPoint))
  }

  /// A scope or an end-point has room for it, even if others wait.
  private func isRoomy(_ thing: Int, _ entry: Known) -> Bool {
    running(in: thing) < most(in: thing) && isOpen(thing, entry)
  }

  /// The rule that a start breaks. Nil: none.
  func mayNotStart(_ entry: Known) -> String? {
    if !hasPlace(entry) { return "its end-point is full or stopped" }
    if let thing = entry.things.first(where: { !isRoomy($0, entry) }) { return "\(thing) sleeps or has no room" }
    if running({ _ in true }) >= limits.total { return "the total is full" }
    if entry.lane == .long, running({ $0.lane == .long }) >= limits.totalLong { return "the long half is full" }
    let first = known.values.first { $0.stand == .waiting && isSameQueue($0, entry) && isBefore($0, entry) }
    return first.map { "\($0) was before it" }
  }

  mutating func check() -> String? {
    rest()
    if scheduler.nodes.count != known.count { return "they disagree on who is alive" }
    if scheduler.running != running({ _ in true }) { return "they disagree on who runs" }
    if events % 64 == 0, let broken = scheduler.brokenInvariant(inFull: true) { return broken }
    // A scan of all waiting requests. The next scan finds what an event left behind.
    if events % 8 == 0, let broken = idle() { return broken }
    if events % 4 == 3, let broken = wrongWaits() { return broken }
    return events % 4 == 1 ? wrongReason() : nil
  }

  /// A request that should have started.
  private func idle() -> String? {
    if running({ _ in true }) >= limits.total { return nil }
    let heads = heads(known.values.filter { $0.stand == .waiting })
    return heads.first { mayNotStart($0) == nil && !isBehind($0, heads) }.map {
      "\($0) could start, and waits for \(scheduler.waitReason(of: $0.ticket, at: Deadline(nanoseconds: now)) as Any)"
    }
  }

  /// Whether a new request could start at once.
  func couldStart(_ entry: Known) -> Bool {
    mayNotStart(entry) == nil && !isBehind(entry, heads(known.values.filter { $0.stand == .waiting }))
  }

  /// The first of all queues.
  private func heads(_ waiting: [Known]) -> [Known] {
    waiting.filter { entry in !waiting.contains { isSameQueue($0, entry) && isBefore($0, entry) } }
  }

  /// Whether others precede a request that the limits would allow.
  private func isBehind(_ entry: Known, _ heads: [Known]) -> Bool {
    heads.contains { other in
      guard isBefore(other, entry) else { return false }
      // It waits for room in a scope that both name.
      let shared = other.things.dropFirst().filter { entry.things.dropFirst().contains($0) }
      if shared.contains(where: { !isRoomy($0, other) }) { return true }
      // The first in line of an end-point waits for a time.
      return other.endPoint == entry.endPoint && hasPlace(other) && !isOpen(entry.endPoint, other)
    }
  }
}
