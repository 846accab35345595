// The health of end-points and scopes: what their servers reported, and the outcome of requests to them.

import HeadgateThreads

extension Scheduler {
  /// Whether answers matter: somewhere trouble has not been recovered from, a server's quota applies, or limits are
  /// learned. If not, only trouble need be noted.
  package var isOnGuard: Bool { learns || scopes.onGuard > 0 }

  /// Records the outcome of an exchange. O(log n) plus the requests that start.
  ///
  /// A refusal of the sender and a quota are attributed to the first scope of the request, if it names any: the quota
  /// of one key must not stop the other keys of its host. All other outcomes are attributed to the end-point.
  ///
  /// - Parameters:
  ///   - ticket: The ticket of the request, which still holds its permit.
  ///   - start: The start of the exchange. Requests that were running when a pause began don't extend it.
  /// - Returns: The pause that began or was extended. Nil if there is none.
  package mutating func note(
    _ outcome: ExchangeOutcome, of ticket: Ticket, startedAt start: Deadline, at moment: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> EndPointPause? {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running || nodes[slot].state == .ending else {
      return nil
    }
    let place = nodes[slot].endPoint
    advance(to: moment)
    let named = named(by: slot).first
    var pause: EndPointPause?
    if let named, outcome.concernsScope(scopes[named].hasHealth) {
      pause = tell(outcome, of: slot, named, start, using: &random)
      // As far as this outcome tells, the end-point itself is healthy.
      if endPoints[place].scope >= 0, outcome.isRefusal {
        _ = tell(.reached, of: slot, endPoints[place].scope, start, using: &random)
      }
    }
    if outcome == .answered { forgetPastQuota(of: slot, named ?? endPoints[place].scope) }
    if named == nil || !outcome.isRefusal && !outcome.isQuota {
      if endPoints[place].scope < 0, outcome.isTrouble, limits.pauses != nil || limits.breaker != nil {
        startWatching(place)
      }
      if endPoints[place].scope >= 0 {
        pause = tell(outcome, of: slot, endPoints[place].scope, start, using: &random) ?? pause
      }
    }
    endPoints[place].troubles.add(outcome, pause)
    troubles.add(outcome, pause)
    pump()
    return pause
  }

  /// The start that a scope has counted for a request.
  private func reservation(_ slot: Int32, _ scope: Int32) -> StartReservation? {
    let demand = nodes[slot].demand
    return demand < 0 ? nil : demands[demand].charges.first { $0.scope == scope }?.reservation
  }

  /// A response came. Its own report, if it has one, was noted before.
  private mutating func forgetPastQuota(of slot: Int32, _ scope: Int32) {
    guard scope >= 0, scopes[scope].hasLimiter else { return }
    defer {
      scopes.updateGuard(of: scope, at: now)
      changed(scope)
    }
    let start = reservation(slot, scope)
    scopes[scope].limiter?.answeredWithoutQuota(start, at: now)
  }

  private mutating func tell(
    _ outcome: ExchangeOutcome, of slot: Int32, _ scope: Int32, _ start: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> EndPointPause? {
    defer {
      scopes.updateGuard(of: scope, at: now)
      changed(scope)
    }
    if case .quota(let remaining, let until) = outcome {
      // Without a limit on starts, none of the running requests was counted at its start.
      let place = scopes[scope].place
      let running = place >= 0 ? endPoints[place].running : scopes[scope].running
      let others = scopes[scope].hasLimiter ? 0 : running - 1
      if !scopes[scope].hasLimiter { scopes[scope].limiter = StartLimiter() }
      let start = reservation(slot, scope)
      scopes[scope].limiter?.adopt(remaining: remaining, until: until, answering: start, others: others, at: now)
      return nil
    }
    if !scopes[scope].hasHealth {
      if !outcome.isTrouble { accepted(slot, scope) }
      guard outcome.isTrouble else { return nil }
      scopes[scope].health = EndPointHealth()
    }
    scopes[scope].lastNote = now
    let place = scopes[scope].place
    adoptPolicies(scope)
    let most = place >= 0 ? endPoints[place].most : min(64, scopes[scope].most)
    scopes[scope].health?.ceiling = most
    let sleeps: Bool?
    switch outcome {
    case .answered, .refused, .unavailable:
      sleeps =
        scopes[scope].learning.isEmpty
        ? scopes[scope].health?.answered(outcome, startedAt: start, at: now, using: &random)
        : answered(outcome, of: slot, scope, start, using: &random)
    case .unreachable(let reason):
      sleeps = scopes[scope].health?.failedToReach(startedAt: start, at: now, using: &random)
      if let reason { scopes[scope].outage = reason }
    case .reached, .quota:
      reached(slot, scope, start)
      return nil
    }
    guard sleeps == true, let reason = sleepReason(scope, at: now) else { return nil }
    return EndPointPause(
      endPoint: endPoints[nodes[slot].endPoint].endPoint, scope: scopes[scope].scope, reason: reason,
      failsWaitingRequests: scopes[scope].health?.hasGivenUp ?? false, at: now)
  }

  /// Applies the current policies to the health. Only end-points have a breaker.
  mutating func adoptPolicies(_ scope: Int32) {
    let breaker = scopes[scope].scope == nil ? limits.breaker : nil
    scopes[scope].health?.adopt(limits.pauses, breaker)
  }

  /// Why nothing starts in a paused scope. Nil if it is not paused.
  func sleepReason(_ scope: Int32, at moment: Deadline, ahead: Int = 0) -> WaitReason? {
    sleep(of: scope, at: moment).map { cause, _, until in
      WaitReason(cause, scope: scopes[scope].scope, until: until, ahead: ahead, at: moment)
    }
  }

  /// Why nothing starts in a paused scope, and until when. Nil if it is not paused.
  func sleep(
    of scope: Int32, at moment: Deadline
  ) -> (cause: WaitReason.Cause, word: WaitReason.Kind.Word, until: Deadline)? {
    guard let health = scopes[scope].health, health.isAsleep(at: moment) else { return nil }
    return switch health.cause {
    case .refused(let status), .unavailable(let status): (.paused(status: status), .paused, health.notBefore)
    case .unreachable, nil: (.unreachable(because: scopes[scope].outage), .unreachable, health.notBefore)
    }
  }

  /// Whether the requests that wait for a paused scope, or come to it, fail.
  func isGivenUp(_ scope: Int32, at moment: Deadline) -> Bool {
    guard let health = scopes[scope].health, health.isAsleep(at: moment) else { return false }
    return health.hasGivenUp || health.isClosed(at: moment)
  }

  /// Why nothing more starts for the end-point or the scopes of a running request: the pause that ends last. Nil if
  /// none of them is paused.
  func sleepReason(of ticket: Ticket, at moment: Deadline) -> WaitReason? {
    guard let slot = nodes.slot(of: ticket) else { return nil }
    let watched = endPoints[nodes[slot].endPoint].scope
    return ((watched >= 0 ? [watched] : []) + named(by: slot)).compactMap { sleepReason($0, at: moment) }
      .max { $0.until ?? .distantPast < $1.until ?? .distantPast }
  }

  /// Why an arriving request is refused: its deadline lies within a pause, its end-point was given up, or its weight is too
  /// large.
  func refusal(
    _ place: Int32, _ named: some Sequence<Int32>, _ weights: [String: Int], until deadline: Deadline
  ) -> Refusal? {
    let watched = endPoints[place].scope
    if watched >= 0, let refusal = refusal(in: watched, weights, until: deadline) { return refusal }
    for scope in named { if let refusal = refusal(in: scope, weights, until: deadline) { return refusal } }
    return nil
  }

  private func refusal(in scope: Int32, _ weights: [String: Int], until deadline: Deadline) -> Refusal? {
    guard scopes[scope].isTimed else { return nil }
    if let budget = scopes[scope].limiter?.budgetTooSmall(for: weights) {
      let cause = StartCause.budget(budget, weight: weights[budget.name] ?? 0)
      return .tooHeavy(WaitReason(.start(cause), scope: scopes[scope].scope, at: now))
    }
    guard let reason = sleepReason(scope, at: now), let until = reason.until else { return nil }
    if isGivenUp(scope, at: now) { return .givenUp(reason) }
    return until >= deadline ? .paused(reason) : nil
  }

  /// All requests that wait for an end-point; or, with a scope, for that scope at any end-point. O(n) in those requests
  /// and their lines, however many wait elsewhere.
  package mutating func waitingItems(at endPoint: EndPoint, _ scope: RequestScope?) -> [Item] {
    var slots: [Int32] = []
    let found: Set<Int32>
    if let scope {
      found = scopes.slot(of: .named(scope)).map { scopes[$0].lines } ?? []
    } else {
      guard let place = endPoints.slot(of: endPoint) else { return [] }
      for lane in [RequestLane.short, .long] { slots += endPoints[place].queues[lane].slots(in: nodes) }
      found = linesAt[place] ?? []
    }
    for line in found { slots += lines[line].queue.slots(in: nodes) }
    visits &+= UInt64(found.count + slots.count)
    return slots.compactMap { nodes[$0].item }
  }
}

// MARK: Learning

// Limits learned from refusals: the number of concurrent requests, and the number of starts in a second. A learning
// end-point is watched, so that each of its starts is checked.

/// A learned limit of an end-point has changed.
package struct LearnedChange: Sendable, CustomStringConvertible {
  package let endPoint: EndPoint
  let change: AdaptiveLimit.Change

  /// Whether a refusal caused it.
  package var isRefusal: Bool { if case .refused = change.cause { true } else { false } }

  /// The line for the log: `api.example.com:443: limit 8 -> 5 learned by 429`.
  package var description: String { "\(endPoint): \(change)" }
}

extension Scheduler {
  /// Makes a watched end-point learn, starting with the remembered limits, or stop learning.
  mutating func adoptLearning(at place: Int32) {
    let scope = endPoints[place].scope
    guard let policy = limits.adaptive else {
      scopes[scope].learning = []
      return
    }
    if scopes[scope].learning.isEmpty {
      let known = policy.remembered[endPoints[place].endPoint]
      scopes[scope].learning = [AdaptiveLimit(policy, ceiling: endPoints[place].most, remembered: known)]
    } else {
      scopes[scope].learning[0].policy = policy
      scopes[scope].learning[0].ceiling = endPoints[place].most
    }
  }

  /// The learned number of concurrent requests at an end-point. Nil if nothing was learned.
  func learnedRequests(_ place: Int32) -> Int? {
    let scope = endPoints[place].scope
    return scope < 0 ? nil : scopes[scope].learning.first?.requests
  }

  /// Whether the learned number of requests is running.
  func isLearnedFull(_ place: Int32) -> Bool {
    learnedRequests(place).map { endPoints[place].running >= $0 } ?? false
  }

  mutating func reached(_ slot: Int32, _ scope: Int32, _ start: Deadline) {
    accepted(slot, scope)
    scopes[scope].health?.reached(startedAt: start)
  }

  /// A learning end-point has answered. A refusal lowers a limit. It pauses the end-point only if the server
  /// requests a wait, or if lower limits don't help.
  ///
  /// - Returns: Whether a pause began or was extended.
  mutating func answered(
    _ outcome: ExchangeOutcome, of slot: Int32, _ scope: Int32, _ start: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Bool? {
    // A refusal also shows that the end-point can be reached.
    scopes[scope].health?.heard(startedAt: start)
    switch scopes[scope].health?.judge(outcome, startedAt: start) {
    case .answer: reached(slot, scope, start)
    case .refusal:
      var isHopeless = false
      // A request that ran before learning began has no start to learn from, but its refusal counts.
      if let began = takeStart(slot, scope) {
        let refusal = scopes[scope].learning[0].refused(
          began, status: outcome.status, wait: outcome.wait?.wholeNanoseconds ?? 0, at: now)
        report(refusal.change, scope)
        isHopeless = refusal.isHopeless
      }
      guard outcome.wait != nil || isHopeless else { return false }
      return scopes[scope].health?.refused(outcome, isPaced: false, startedAt: start, at: now, using: &random)
    case .unavailable, nil: break
    }
    return false
  }

  /// A request was successful, or failed after it had reached the server.
  mutating func accepted(_ slot: Int32, _ scope: Int32) {
    guard let start = takeStart(slot, scope) else { return }
    if scopes[scope].place >= 0 { scopes[scope].learning[0].ceiling = endPoints[scopes[scope].place].most }
    let change = scopes[scope].learning[0].accepted(start, at: now)
    report(change, scope)
  }

  /// The start that a request was counted with; returned once.
  private mutating func takeStart(_ slot: Int32, _ scope: Int32) -> AdaptiveLimit.Start? {
    let demand = nodes[slot].demand
    guard demand >= 0, !scopes[scope].learning.isEmpty,
      let place = demands[demand].charges.firstIndex(where: { $0.scope == scope })
    else { return nil }
    return demands[demand].charges[place].start.take()
  }

  private mutating func report(_ change: AdaptiveLimit.Change?, _ scope: Int32) {
    guard case .endPoint(let endPoint) = scopes[scope].key else { return }
    for change in [scopes[scope].learning[0].withdrawal.take(), change].compactMap(\.self) {
      learnedChanges.append(LearnedChange(endPoint: endPoint, change: change))
    }
  }

  /// The changes since the last call.
  package mutating func takeLearnedChanges() -> [LearnedChange] {
    guard !learnedChanges.isEmpty else { return [] }
    defer { learnedChanges = [] }
    return learnedChanges
  }

  /// The learned limits of all remembered end-points that have refused something. O(n).
  ///
  /// - Parameter seconds: The current time, in seconds since 1970.
  package func learned(at moment: Deadline, seconds: Int64) -> LearnedLimits {
    var all = LearnedLimits()
    for scope in scopes.all {
      guard case .endPoint(let endPoint) = scopes[scope].key, let learned = scopes[scope].learning.first else {
        continue
      }
      if let entry = learned.entry(at: moment, seconds: seconds) { all[endPoint] = entry }
    }
    return all
  }
}
