// Limits learned from refusals: the number of concurrent requests, and the number of starts in a second. A learning
// end-point is watched, so that each of its starts is checked.

import HeadgateThreads

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

  /// A head has arrived from a learning end-point. A refusal lowers a limit. It pauses the end-point only if the server
  /// requests a wait, or if lower limits don't help.
  ///
  /// - Returns: Whether a pause began or was extended.
  mutating func answered(
    _ status: Int, wait: Duration?, of slot: Int32, _ scope: Int32, _ start: Deadline,
    using random: inout some RandomNumberGenerator
  ) -> Bool? {
    // A refusal also shows that the end-point can be reached.
    scopes[scope].health?.heard(startedAt: start)
    switch scopes[scope].health?.judge(status, wait: wait, startedAt: start) {
    case .answer: reached(slot, scope, start)
    case .refusal:
      let asked = max(.zero, wait ?? .zero)
      var isHopeless = false
      // A request that ran before learning began has no start to learn from, but its refusal counts.
      if let began = takeStart(slot, scope) {
        let refusal = scopes[scope].learning[0].refused(began, status: status, wait: asked.wholeNanoseconds, at: now)
        report(refusal.change, scope)
        isHopeless = refusal.isHopeless
      }
      guard asked > .zero || isHopeless else { return false }
      return scopes[scope].health?.refused(
        status, wait: wait, isPaced: false, startedAt: start, at: now, using: &random)
    case .unavailable, nil: break
    }
    return false
  }

  /// A bare permit is released. Its holder reports nothing, so it counts as accepted.
  package mutating func learnEnd(of ticket: Ticket) {
    guard let slot = nodes.slot(of: ticket) else { return }
    let scope = endPoints[nodes[slot].endPoint].scope
    if scope >= 0 { accepted(slot, scope) }
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
