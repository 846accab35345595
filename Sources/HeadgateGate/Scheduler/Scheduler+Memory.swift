// State that outlives the process, see `GateState`: what is put into the scheduler when it meets an end-point, what it
// tells of an outcome, and starts that earlier processes have used up.

import HeadgateThreads

/// What earlier processes knew of an end-point, by the gate's clock.
struct Recalled: Sendable {
  var pause: (until: Deadline, status: Int?)?
  var outage: (until: Deadline, hasGivenUp: Bool)?
  var learned: (limits: LearnedLimits.Entry, until: Deadline)?
}

/// What later processes should know of an end-point.
enum EndPointNews: Sendable {
  /// It accepts nothing for a time: what its server said, or else the length of the pause.
  case paused(Duration, status: Int?)
  case suspended(Duration, hasGivenUp: Bool)
  /// It has answered a request that started after it was paused or suspended.
  case answered(startedAt: Deadline)
  /// A refusal has changed its learned limits, which expire after a time.
  case learned(requests: Int, rate: Double?, Duration)

  /// The news of one end-point.
  struct Report: Sendable {
    let endPoint: EndPoint
    let news: [EndPointNews]
  }
}

extension Scheduler {
  /// Whether an end-point has a record. If not, what earlier processes knew of it is to be recalled.
  func knows(_ endPoint: EndPoint) -> Bool {
    if endPoints.slot(of: endPoint) != nil { return true }
    // What it has said itself must not come back to it.
    return scopes.slot(of: .endPoint(endPoint)).map { scopes[$0].told != nil } ?? false
  }

  /// Adds what earlier processes knew of an end-point. Limits only become lower, and pauses longer. O(log n).
  mutating func recall(_ recalled: Recalled, at endPoint: EndPoint, at moment: Deadline) {
    defer { checkInvariants() }
    advance(to: moment)
    let scope = scopes.take(.endPoint(endPoint)).slot
    recallSleep(recalled, scope)
    if let policy = limits.adaptive, let (known, until) = recalled.learned, scopes[scope].learning.isEmpty {
      // Heard so that it expires when it would have expired.
      let heard = until.advanced(byNanoseconds: -max(0, policy.memory.wholeNanoseconds))
      let own = policy.remembered[endPoint]
      scopes[scope].learning = [
        AdaptiveLimit(
          policy, ceiling: limits.of(endPoint).requests, remembered: own.map { known.lower(of: $0) } ?? known,
          // It begins no higher than without a memory.
          atMost: own?.requests ?? policy.initialRequests, heard: min(heard, now))
      ]
    }
    scopes.updateGuard(of: scope, at: now)
    scopes.leave(scope, at: now)
    // Another request may have come meanwhile.
    guard let place = endPoints.slot(of: endPoint), !endPoints[place].isResting else { return }
    watch(place)
    updateTurns(place)
    pump()
  }

  private mutating func recallSleep(_ recalled: Recalled, _ scope: Int32) {
    let pause = limits.pauses == nil ? nil : recalled.pause
    let outage = limits.breaker == nil ? nil : recalled.outage
    guard pause != nil || outage != nil else { return }
    if !scopes[scope].hasHealth { scopes[scope].health = EndPointHealth() }
    adoptPolicies(scope)
    if let outage { scopes[scope].health?.recallOutage(until: outage.until, hasGivenUp: outage.hasGivenUp, at: now) }
    if let pause { scopes[scope].health?.recallPause(until: pause.until, status: pause.status, at: now) }
    scopes[scope].lastNote = now
    scopes[scope].told = (now, max(pause?.until ?? now, outage?.until ?? now))
  }

  /// What later processes should know after an outcome. Called after it was noted, with the outcome as the server meant
  /// it: no wait is shortened. Nil nearly always.
  mutating func news(
    of outcome: ExchangeOutcome, of ticket: Ticket, _ pause: EndPointPause?, startedAt start: Deadline
  ) -> EndPointNews.Report? {
    guard let slot = nodes.slot(of: ticket), case let place = nodes[slot].endPoint, endPoints[place].scope >= 0 else {
      return nil
    }
    let scope = endPoints[place].scope
    var news: [EndPointNews] = []
    if let pause, pause.scope == nil, let left = pause.reason.remaining {
      let wait = min(outcome.wait ?? left, PausePolicy.longestWait)
      scopes[scope].told = (now, now + wait)
      news.append(
        outcome.isUnreachable
          ? .suspended(left, hasGivenUp: pause.failsWaitingRequests)
          : .paused(wait, status: outcome.status))
    } else if case .quota(let remaining, let until) = outcome, remaining <= 0, limits.pauses != nil {
      // The requests that were under way report the same.
      if named(by: slot).isEmpty, until > now, start > scopes[scope].told?.since ?? .distantPast {
        scopes[scope].told = (now, min(until, now + PausePolicy.longestWait))
        news.append(.paused(until - now, status: nil))
      }
    } else if let told = scopes[scope].told, start > told.since, !outcome.isTrouble || outcome.isQuota {
      scopes[scope].told = nil
      news.append(.answered(startedAt: start))
    }
    scopes.updateGuard(of: scope, at: now)
    if learnedChanges.contains(where: \.isRefusal),
      let entry = scopes[scope].learning.first?.entry(at: now, seconds: 0)
    {
      news.append(.learned(requests: entry.requests, rate: entry.rate, .seconds(entry.expires)))
    }
    return news.isEmpty ? nil : EndPointNews.Report(endPoint: endPoints[place].endPoint, news: news)
  }

  // MARK: Starts in long windows

  /// The end-point of a request that holds a permit, and the limits on its starts in windows of a minute or longer. Nil
  /// if there are none.
  func longBounds(of ticket: Ticket) -> (endPoint: EndPoint, bounds: [StartBound])? {
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running else { return nil }
    let place = nodes[slot].endPoint
    guard let bounds = endPoints[place].limits.pace?.longBounds, !bounds.isEmpty else { return nil }
    return (endPoints[place].endPoint, bounds)
  }

  /// Whether a request waits for its permit.
  func waits(_ ticket: Ticket) -> Bool { nodes.slot(of: ticket).map { nodes[$0].state == .waiting } ?? false }

  /// A request that holds a permit, and was not sent, waits again, because other processes have used up a limit of its
  /// end-point until a time. Returns false if it can't wait: it has ended, or the gate is closing.
  mutating func postpone(_ ticket: Ticket, until moment: Deadline, _ cause: StartCause) -> Bool {
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running, closing < .ending else { return false }
    let scope = endPoints[nodes[slot].endPoint].scope
    // Without a limiter its limits have just been removed, and it starts again at once.
    if scope >= 0 { scopes[scope].limiter?.hold(until: moment, cause) }
    return putBack(ticket)
  }
}

extension Pace {
  /// The limits in windows of a minute or longer. A rate with equal intervals counts as one without them: within its
  /// period no more starts, whatever ends and begins.
  var longBounds: [StartBound] {
    var bounds = rates.compactMap { rate in
      StartBound(rate.count, Rate.guarded(rate.periodNanoseconds, spread: rate.spread), .rate(rate))
    }
    if let bound = StartBound(1, minimumInterval.wholeNanoseconds, .minimumInterval(minimumInterval)) {
      bounds.append(bound)
    }
    return bounds
  }
}

extension StartBound {
  /// Nil for a window that is too short to be remembered.
  fileprivate init?(_ units: Int, _ nanoseconds: Int64, _ cause: StartCause) {
    guard nanoseconds / 1_000_000 >= Self.shortest else { return nil }
    self.init(units: units, length: (nanoseconds + 999_999) / 1_000_000, cause: cause)
  }
}

extension LearnedLimits.Entry {
  /// The lower of both limits. Expires like this one.
  fileprivate func lower(of other: LearnedLimits.Entry) -> LearnedLimits.Entry {
    let rate = [rate, other.rate].compactMap(\.self).min()
    return LearnedLimits.Entry(requests: min(requests, other.requests), rate: rate, expires: expires)
  }
}
