// Why requests wait, checked in the order that `WaitReason` documents.

import HeadgateThreads

extension Scheduler {
  /// Why a request waits. Nil if it does not wait. O(n) in all requests.
  ///
  /// - Parameter asNext: The reason if no request were ahead of it. O(scopes of the request).
  package func waitReason(of ticket: Ticket, asNext: Bool = false, at moment: Deadline) -> WaitReason? {
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .waiting else { return nil }
    return reason(of: slot, ahead: asNext ? 0 : ahead(of: slot), at: max(moment, now))
  }

  /// The number of requests ahead of it that wait for the same thing.
  private func ahead(of slot: Int32) -> Int {
    let own = nodes[slot]
    let line = own.demand < 0 ? -1 : demands[own.demand].line
    return nodes.nodes.count(where: { node in
      node.state == .waiting && node.endPoint == own.endPoint && node.lane == own.lane
        && (node.rank, node.age) < (own.rank, own.age) && (node.demand < 0 ? -1 : demands[node.demand].line) == line
    })
  }

  func reason(of slot: Int32, ahead: Int, at moment: Deadline) -> WaitReason {
    let (place, lane, weights) = (nodes[slot].endPoint, nodes[slot].lane, weights(of: slot))
    let (scope, running, runningLong) = (
      endPoints[place].scope, endPoints[place].running, endPoints[place].runningLong
    )
    func because(_ cause: WaitReason.Cause) -> WaitReason { WaitReason(cause, ahead: ahead, at: moment) }
    if endPoints[place].isStopped { return because(.stopped) }
    if scope >= 0, let reason = sleepReason(scope, at: moment, ahead: ahead) { return reason }
    if scope >= 0, let cause = recovery(scope, at: moment) { return because(cause) }
    if let most = learnedRequests(place), most < endPoints[place].most, running >= most {
      return because(.learnedLimit(running, of: most))
    }
    if running >= endPoints[place].most { return because(.limit(running, of: endPoints[place].most)) }
    if lane == .long, runningLong >= endPoints[place].mostLong {
      return because(.longLane(runningLong, of: endPoints[place].mostLong))
    }
    let named = nodes[slot].demand < 0 ? [] : demands[nodes[slot].demand].scopes
    for scope in named {
      if let reason = reason(in: scope, slot, ahead: ahead, at: moment) { return reason }
    }
    if scope >= 0, let reason = startReason(scope, weights, ahead: ahead, at: moment) { return reason }
    if self.running >= limits.total { return because(.total(self.running, of: limits.total)) }
    if lane == .long, self.runningLong >= limits.totalLong {
      return because(.totalLong(self.runningLong, of: limits.totalLong))
    }
    return because(.turn)
  }

  /// Why a scope of a request blocks it. Nil if it does not.
  func reason(in scope: Int32, _ slot: Int32, ahead: Int, at moment: Deadline) -> WaitReason? {
    let name = scopes[scope].scope
    let (running, most) = (scopes[scope].running, scopes[scope].most)
    if let reason = sleepReason(scope, at: moment, ahead: ahead) { return reason }
    if let cause = recovery(scope, at: moment) { return WaitReason(cause, scope: name, ahead: ahead, at: moment) }
    if running >= most {
      let cause = scopes[scope].isOfSockets ? WaitReason.Cause.sockets(running, of: most) : .limit(running, of: most)
      return WaitReason(cause, scope: name, ahead: ahead, at: moment)
    }
    if let reason = startReason(scope, weights(of: slot), ahead: ahead, at: moment) { return reason }
    guard !hasRoom(in: scope, for: slot) else { return nil }
    // A request of another line goes first.
    return WaitReason(.turn, scope: name, ahead: ahead, at: moment)
  }

  private func startReason(
    _ scope: Int32, _ weights: [String: Int], ahead: Int, at moment: Deadline
  ) -> WaitReason? {
    // A pause was checked before, so a remaining delay has a cause.
    let (until, cause) = scopes[scope].earliest(weights, at: moment)
    guard until > moment, let cause else { return nil }
    return WaitReason(.start(cause), scope: scopes[scope].scope, until: until, ahead: ahead, at: moment)
  }

  private func recovery(_ scope: Int32, at moment: Deadline) -> WaitReason.Cause? {
    guard scopes[scope].isFull(at: moment), let health = scopes[scope].health else { return nil }
    let most = health.allowance(at: moment)
    return .recovering(most - health.room(at: moment), of: most)
  }
}

// MARK: Outlook

// The outlook of a request, without submitting it. The answer may be outdated when it is read: to act, submit the
// request and check the result.

extension Scheduler {
  /// The result that a submission would have. O(1).
  package func outlook(
    for endPoint: EndPoint, _ lane: RequestLane, priority: RequestPriority = .normal,
    at moment: Deadline = .distantPast, patience: Patience = .waits
  ) -> RequestAvailability {
    guard closing == .open, lane == .short || patience != .needsLongPlace || !isLongLaneFull(at: endPoint) else {
      return .refused
    }
    let record = endPoints.slot(of: endPoint).map { endPoints[$0] }
    let hasTotal = running < limits.total && (lane == .short || runningLong < limits.totalLong)
    let before = record?.waiting(lane) ?? 0
    let hasRoom = record?.hasPlace(for: lane) ?? !stopped.contains(endPoint)
    if before == 0, hasTotal, hasRoom, !isTimed || isAwake(endPoint, at: max(now, moment)) { return .runs }
    guard waiting >= limits.waiting, limits.overflow != .wait else { return .waits(before: before) }
    return givesWay(priority, at: moment) ? .refused : .waits(before: before)
  }

  /// Whether a request without weight could start as far as rates and pauses go, and the other lane's first request
  /// does not wait for them.
  private func isAwake(_ endPoint: EndPoint, at moment: Deadline) -> Bool {
    guard let scope = scopes.slot(of: .endPoint(endPoint)) else { return true }
    if scopes[scope].isFull(at: moment) || endPoints.slot(of: endPoint).map(isLearnedFull) ?? false
      || scopes[scope].earliest([:], at: moment).moment > moment
    {
      return false
    }
    return scopes[scope].wakeAt > moment.nanoseconds && !scopes[scope].hasCause
  }

  /// Whether a request that is one too many would itself be refused.
  private func givesWay(_ priority: RequestPriority, at moment: Deadline) -> Bool {
    let victim = shedding.first
    guard victim >= 0 else { return true }
    return shedding.rule == .lowest && nodes[victim].rank <= rank(of: max(lastAge + 1, moment.nanoseconds), priority)
  }

  /// The number of long requests that hold a permit of the end-point. O(1).
  package func runningLong(at endPoint: EndPoint) -> Int {
    endPoints.slot(of: endPoint).map { endPoints[$0].runningLong } ?? 0
  }
}
