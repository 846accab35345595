// How end-points and scopes fare: what their servers said, and what became of requests to them.

import HeadgateThreads

extension Scheduler {
  /// An end-point or a scope sleeps, or sleeps longer.
  package struct Sleep: Sendable {
    /// Whose requests wait for it.
    package let endPoint: EndPoint
    /// The scope that sleeps; nil: the end-point itself.
    package let scope: RequestScope?
    /// What those that wait there wait for.
    package let reason: WaitReason
    /// It could not be reached too often: what waits there is to end.
    package let isGivenUp: Bool
  }

  /// What an exchange has told of its end-point. O(log n) plus what starts.
  ///
  /// A refusal by 429 or 403, and a quota, belong to the first scope that the request names, if it names any: one key's
  /// quota must not stop the other keys of its host. All else is told of the end-point.
  ///
  /// - Parameters:
  ///   - ticket: Of the request, which still holds its permit.
  ///   - start: When the exchange started: what was under way when a pause began makes it no longer.
  /// - Returns: What sleeps by it; nil where nothing new does.
  package mutating func note(
    _ outcome: ExchangeOutcome, of ticket: Ticket, startedAt start: Deadline, at moment: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Sleep? {
    defer { checkInvariants() }
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running || nodes[slot].state == .ending,
      let endPoint = endPoints[nodes[slot].endPoint].endPoint
    else { return nil }
    let place = nodes[slot].endPoint
    advance(to: moment)
    let named = nodes[slot].demand < 0 ? nil : demands[nodes[slot].demand].scopes.first
    var sleep: Sleep?
    if let named, outcome.concernsScope(scopes[named].hasHealth) {
      sleep = tell(outcome, of: slot, named, start, using: &random)
      // The end-point itself is well as far as that tells.
      if endPoints[place].scope >= 0, outcome.isRefusal {
        _ = tell(.reached, of: slot, endPoints[place].scope, start, using: &random)
      }
    }
    if named == nil || !outcome.isRefusal && !outcome.isQuota {
      if endPoints[place].scope < 0, outcome.isTrouble, limits.pauses != nil || limits.breaker != nil {
        startWatching(place, endPoint)
      }
      if endPoints[place].scope >= 0 {
        sleep = tell(outcome, of: slot, endPoints[place].scope, start, using: &random) ?? sleep
      }
    }
    pump()
    return sleep
  }

  private mutating func tell(
    _ outcome: ExchangeOutcome, of slot: Int32, _ scope: Int32, _ start: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Sleep? {
    defer { changed(scope) }
    if case .quota(let remaining, let until) = outcome {
      // Without a limit on starts, none of those that run was counted when it started.
      let place = scopes[scope].place
      let running = place >= 0 ? endPoints[place].running : scopes[scope].running
      let others = scopes[scope].hasLimiter ? 0 : running - 1
      if !scopes[scope].hasLimiter { scopes[scope].limiter = StartLimiter() }
      let charges = nodes[slot].demand < 0 ? [] : demands[nodes[slot].demand].charges
      let reservation = charges.first { $0.scope == scope }?.reservation
      scopes[scope].limiter?.adopt(
        remaining: remaining, until: until, answering: reservation, others: others, at: now)
      return nil
    }
    if !scopes[scope].hasHealth {
      if !outcome.isTrouble { learn(outcome, of: slot, scope) }
      guard outcome.isTrouble else { return nil }
      scopes[scope].health = EndPointHealth()
    }
    scopes[scope].lastNote = now
    let place = scopes[scope].place
    adoptPolicies(scope)
    let most = place >= 0 ? endPoints[place].most : min(64, scopes[scope].most)
    scopes[scope].health?.ceiling = most
    let change: EndPointHealth.Change? =
      switch outcome {
      case .answered where !scopes[scope].learning.isEmpty:
        answered(outcome, of: slot, scope, start, using: &random)
      case .answered(let status, let wait):
        scopes[scope].health?.answered(status, wait: wait, startedAt: start, at: now, using: &random)
      case .reached:
        reached(slot, scope, start)
      case .failedToReach: scopes[scope].health?.failedToReach(startedAt: start, at: now, using: &random)
      case .quota: nil
      }
    switch change {
    case .sleeps, .givesUp:
      guard let reason = sleepReason(scope, at: now), let endPoint = endPoints[nodes[slot].endPoint].endPoint else {
        return nil
      }
      return Sleep(
        endPoint: endPoint, scope: scopes[scope].scope, reason: reason,
        isGivenUp: scopes[scope].health?.hasGivenUp ?? false)
    default: return nil
    }
  }

  /// What its health follows are the policies in force. Only end-points have a breaker.
  mutating func adoptPolicies(_ scope: Int32) {
    let breaker = scopes[scope].scope == nil ? limits.breaker : nil
    scopes[scope].health?.adopt(limits.pauses, breaker)
  }

  /// Why nothing starts in a scope that sleeps; nil where it does not.
  func sleepReason(_ scope: Int32, at moment: Deadline, ahead: Int = 0) -> WaitReason? {
    guard let health = scopes[scope].health, health.isAsleep(at: moment) else { return nil }
    let cause: WaitReason.Cause =
      if case .refused(let status)? = health.cause { .paused(status: status) } else { .unreachable }
    return WaitReason(cause, scope: scopes[scope].scope, until: health.notBefore, ahead: ahead, at: moment)
  }

  /// Why nothing more starts where a request runs, be it its end-point or a scope of its own that sleeps longest; nil where
  /// all are awake.
  func sleepReason(of ticket: Ticket, at moment: Deadline) -> WaitReason? {
    guard let slot = nodes.slot(of: ticket) else { return nil }
    let watched = endPoints[nodes[slot].endPoint].scope
    let named = nodes[slot].demand < 0 ? [] : demands[nodes[slot].demand].scopes
    return ((watched >= 0 ? [watched] : []) + named).compactMap { sleepReason($0, at: moment) }
      .max { $0.until ?? .distantPast < $1.until ?? .distantPast }
  }

  /// Why a request that comes now is not taken: it would end in a pause, its end-point was given up, or it weighs too much.
  func refusal(_ place: Int32, _ named: [Int32], _ weights: [String: Int], until deadline: Deadline) -> Refusal? {
    let watched = endPoints[place].scope
    for scope in (watched >= 0 ? [watched] : []) + named {
      if let budget = scopes[scope].limiter?.budgetTooSmall(for: weights) {
        let cause = StartCause.budget(budget, weight: weights[budget.name] ?? 0)
        return .tooHeavy(WaitReason(.start(cause), scope: scopes[scope].scope, at: now))
      }
      guard let reason = sleepReason(scope, at: now), let until = reason.until else { continue }
      if scopes[scope].health?.hasGivenUp == true { return .unreachable(reason) }
      if until >= deadline { return .paused(reason) }
    }
    return nil
  }

  /// All that wait for an end-point, or with a scope for that scope at any end-point. O(n) in all that is here.
  package func waitingItems(at endPoint: EndPoint, _ scope: RequestScope?) -> [Item] {
    let place = endPoints.slot(of: endPoint) ?? -1
    let named = scope.flatMap { scopes.slot(of: .named($0)) }
    return nodes.nodes.compactMap { node in
      guard node.state == .waiting else { return nil }
      if scope == nil { return node.endPoint == place ? node.item : nil }
      guard let named, node.demand >= 0, demands[node.demand].scopes.contains(named) else { return nil }
      return node.item
    }
  }
}

extension ExchangeOutcome {
  /// The server refused this one because of who asks.
  var isRefusal: Bool {
    switch self {
    case .answered(429, _): true
    case .answered(403, let wait): wait.map { $0 > .zero } ?? false
    default: false
    }
  }

  var isQuota: Bool { if case .quota = self { true } else { false } }

  /// Something that an end-point which fared well so far is watched for.
  var isTrouble: Bool {
    switch self {
    case .answered(503, _), .failedToReach, .quota: true
    default: isRefusal
    }
  }

  /// Whether it is told to the first scope that a request names.
  func concernsScope(_ isKnown: Bool) -> Bool {
    switch self {
    case .answered(503, _), .failedToReach: false
    case .quota: true
    case .answered, .reached: isKnown || isRefusal
    }
  }
}
