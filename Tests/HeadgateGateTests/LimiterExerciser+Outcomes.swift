import HeadgateThreads

@testable import HeadgateGate

// The answers of servers, and their effect on requests.

extension LimiterExerciser {
  /// Reports the outcome of an exchange, and the quota in its response.
  mutating func tell(_ entry: Known) -> String? {
    if limits.pauses != nil, Int.random(in: 0..<8, using: &random) == 0 {
      tally.quotas += 1
      let remaining = Int.random(in: 0...8, using: &random)
      let until = now - 1_000 + .random(in: 0...30_000, using: &random)
      let outcome = ExchangeOutcome.quota(remaining: remaining, until: Deadline(nanoseconds: until))
      if note(outcome, entry, startedAt: entry.startedAt) != nil { return "something sleeps by a quota" }
      // The quota of the first scope that it names, if any.
      let thing = entry.scopes.first.map { $0 + Self.endPointCount } ?? entry.endPoint
      let number = entry.charges.first { $0.thing == thing }?.number
      things[thing].say(
        remaining: remaining, until: until, answering: number, others: running(in: thing) - 1, at: now)
      // A newer quota can replace a narrower one. Requests that start by it start before the rest is reported.
      if let broken = drain() { return broken }
    }
    guard let outcome = outcome(of: entry) else { return nil }
    // The exchange may have begun later than its permit was granted.
    let start =
      Int.random(in: 0..<4, using: &random) == 0
      ? UInt64.random(in: entry.startedAt...now, using: &random) : entry.startedAt
    let sleep = note(outcome, entry, startedAt: start)
    guard let thing = hear(outcome, entry, startedAt: start) else {
      return sleep == nil ? nil : "something sleeps in vain: \(sleep as Any)"
    }
    guard let sleep else { return "\(thing) does not sleep" }
    return compare(sleep, thing)
  }

  private mutating func outcome(of entry: Known) -> ExchangeOutcome? {
    if entry.endPoint == endPointThatIsDown, Int.random(in: 0..<50, using: &random) != 0 { return .unreachable() }
    let wait = Duration.microseconds(Int.random(in: 0...50, using: &random))
    return switch Int.random(in: 0..<20, using: &random) {
    case 0: .refused(wait: nil, status: Bool.random(using: &random) ? 429 : nil)
    case 1: Bool.random(using: &random) ? .refused(wait: wait, status: 403) : .unavailable(wait: wait, status: 503)
    case 2: .unavailable(wait: nil, status: 503)
    case 3: .unreachable()
    case 4: .reached
    case 5..<8: nil
    default: .answered
    }
  }

  private mutating func note(
    _ outcome: ExchangeOutcome, _ entry: Known, startedAt start: UInt64
  ) -> EndPointPause? {
    // As the gate does. The model hears all answers, and must not know more by that.
    guard outcome.isTrouble || scheduler.isOnGuard || Int.random(in: 0..<4, using: &random) == 0 else { return nil }
    let pause = scheduler.note(
      outcome, of: entry.ticket, startedAt: Deadline(nanoseconds: start), at: Deadline(nanoseconds: now), using: &random
    )
    if outcome.isRefusal || outcome.isUnavailable || pause != nil { troubled.insert(entry.endPoint) }
    return pause
  }

  private mutating func compare(_ sleep: EndPointPause, _ thing: Int) -> String? {
    let scope = thing < Self.endPointCount ? nil : names[thing - Self.endPointCount]
    guard sleep.scope == scope, let (cause, until) = things[thing].sleeps(at: now), sleep.reason.cause == cause,
      sleep.reason.until?.nanoseconds == until
    else { return "the model's sleep is \(things[thing].sleeps(at: now) as Any) of \(thing), not \(sleep)" }
    guard sleep.failsWaitingRequests == things[thing].health.hasGivenUp else {
      return "they disagree on what is given up"
    }
    guard sleep.failsWaitingRequests else { return nil }
    tally.givenUp += 1
    // As the gate does: requests that wait there end.
    let ended = Set(scheduler.waitingItems(at: sleep.endPoint, sleep.scope))
    let waiting = known.filter { $0.value.stand == .waiting && $0.value.things.contains(thing) && !isToStart($0.value) }
    if ended != Set(waiting.keys) { return "given up are \(ended), not \(waiting.keys)" }
    for (item, entry) in waiting.sorted(by: { $0.key < $1.key }) {
      guard case .waiting = scheduler.withdraw(entry.ticket) else { return "one that waits was not found" }
      remove(item)
    }
    return nil
  }

  /// Its start was decided by the report just now.
  private func isToStart(_ entry: Known) -> Bool {
    scheduler.waitReason(of: entry.ticket, at: Deadline(nanoseconds: now)) == nil
  }

  /// The result of the model: what now sleeps, or sleeps longer.
  private mutating func hear(_ outcome: ExchangeOutcome, _ entry: Known, startedAt start: UInt64) -> Int? {
    let scope = entry.scopes.first.map { $0 + Self.endPointCount }
    let place = entry.endPoint
    switch outcome {
    case .quota: return nil
    case .unreachable:
      guard noticesTrouble(place) else { return nil }
      return things[place].health.failed(startedAt: start, at: now, limits.breaker) ? place : nil
    case .unavailable: return answered(place, outcome, start) ? place : nil
    case .reached:
      for thing in [scope, place].compactMap({ $0 }) where things[thing].health.isKnown { reached(thing, start) }
      return nil
    case .refused:
      guard let scope else { return answered(place, outcome, start) ? place : nil }
      // The first of its scopes is stopped. For the end-point this counts as success.
      let sleeps = answered(scope, outcome, start)
      if things[place].health.isKnown { reached(place, start) }
      return sleeps ? scope : nil
    case .answered:
      let first = scope ?? place
      things[first].saysNothing(answering: entry.charges.first { $0.thing == first }?.number, at: now)
      for thing in [scope, place].compactMap({ $0 }) { _ = answered(thing, outcome, start) }
      return nil
    }
  }

  private mutating func reached(_ thing: Int, _ start: UInt64) {
    things[thing].health.reached(startedAt: start, at: now, ceiling: ceiling(thing))
  }

  /// Without pauses and a breaker, failures are remembered only if a record exists.
  private func noticesTrouble(_ thing: Int) -> Bool {
    thing >= Self.endPointCount || limits.pauses != nil || limits.breaker != nil || things[thing].hasRecord
  }

  private mutating func answered(_ thing: Int, _ outcome: ExchangeOutcome, _ start: UInt64) -> Bool {
    // End-points without failures are not examined.
    guard outcome == .answered ? things[thing].health.isKnown : noticesTrouble(thing) else { return false }
    return things[thing].health.answered(
      outcome, startedAt: start, at: now, limits.pauses, ceiling: ceiling(thing))
  }

  /// This number at once counts as no restriction. A scope without its own limit must end its recovery somewhere.
  private func ceiling(_ thing: Int) -> Int { thing < Self.endPointCount ? most(thing) : min(64, things[thing].most) }
}
