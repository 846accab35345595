import HeadgateThreads

extension Scheduler {
  /// In debug builds, stops the process after an event that broke an invariant. Checks everything while few requests
  /// are alive, and only counters otherwise.
  func checkInvariants() {
    #if DEBUG
    precondition(
      brokenInvariant(inFull: nodes.nodes.count <= 16) == nil, brokenInvariant(inFull: true) ?? "a counter is off")
    #endif
  }

  /// The first broken invariant, in words. Nil if none is broken.
  package func brokenInvariant(inFull: Bool) -> String? {
    if running < 0 || waiting < 0 || runningLong < 0 || expected < 0 { return "a count is negative" }
    if waiting + running != nodes.count { return "alive is not running plus waiting" }
    if heldCount > waiting { return "more are held than wait" }
    return inFull ? brokenEndPoint() : nil
  }

  private func brokenEndPoint() -> String? {
    var (allRunning, allLong, allWaiting) = (0, 0, 0)
    for place in endPoints.busySlots {
      let record = endPoints[place]
      let here = nodes.nodes.filter { $0.state != .free && $0.endPoint == place }
      let active = here.filter { $0.state != .waiting }
      let long = active.filter { $0.lane == .long }
      if record.isIdle { return "an idle end-point counts as busy" }
      if stopped.contains(record.endPoint) != record.isStopped { return "a stop was forgotten" }
      if record.running != active.count || record.runningLong != long.count { return "an end-point's count is off" }
      if record.waiting(.short) + record.waiting(.long) != here.count - active.count { return "a lane's count is off" }
      for lane in [RequestLane.short, .long] {
        if (record.turns[lane] >= 0) != record.isEligible(lane) { return "a turn is lost or stale" }
        let plain = here.filter { $0.demand < 0 || demands[$0.demand].scopes.isEmpty }
        if let broken = brokenOrder(record.queues[lane], lane, plain) { return broken }
      }
      // An eligible request must run if a permit is free.
      if closing < .ending, running < limits.total {
        if record.isEligible(.short) { return "a short request waits although a permit is free" }
        if record.isEligible(.long), runningLong < limits.totalLong {
          return "a long request waits although a permit is free"
        }
      }
      allRunning += active.count
      allLong += long.count
      allWaiting += here.count - active.count
    }
    if (allRunning, allLong, allWaiting) != (running, runningLong, waiting) {
      return "the totals are off"
    }
    return brokenScope()
  }

  private func brokenScope() -> String? {
    if scopes.onGuard != scopes.all.count(where: { scopes[$0].isOnGuard }) {
      return "the scopes on guard are miscounted"
    }
    if scopes.all.contains(where: { !scopes[$0].isOnGuard && scopes[$0].needsAnswers(at: now) }) {
      return "a scope that needs answers would get none"
    }
    for scope in scopes.all {
      guard scopes[scope].users > 0 else {
        if scopes[scope].leaving < 0 { return "a scope is never forgotten" }
        continue
      }
      let here = nodes.nodes.filter { $0.state != .free && $0.demand >= 0 && demands[$0.demand].scopes.contains(scope) }
      let active = here.filter { $0.state != .waiting }
      let record = scopes[scope]
      if !record.isOfEndPoint, record.running != active.count { return "a scope's count is off" }
      if case .sockets(let endPoint) = record.key, let place = endPoints.slot(of: endPoint),
        record.most != endPoints[place].mostWithSocket
      {
        return "a limit on sockets is outdated"
      }
      if record.users != here.count + (record.place >= 0 ? 1 : 0) + (record.isDirty ? 1 : 0) {
        return "a scope's users are miscounted"
      }
      if record.place >= 0, endPoints[record.place].scope != scope { return "an end-point lost its scope" }
    }
    for line in lines.slots where lines[line].handle < 0 { return "a line is in no group" }
    if nodes.nodes.contains(where: { $0.state == .waiting && $0.meter < 0 }) { return "a wait is not measured" }
    if meters.slots.count != nodes.nodes.count(where: { $0.state != .free && $0.meter >= 0 }) {
      return "a meter is left"
    }
    for group in groups.slots where groups[group].handle < 0 || groups[group].lines.isEmpty {
      return "a group is registered nowhere, or is empty"
    }
    return nil
  }

  private func brokenOrder(_ queue: LaneQueue, _ lane: RequestLane, _ here: [Node<Item>]) -> String? {
    let waiting = here.filter { $0.state == .waiting && $0.lane == lane }
    if waiting.count != queue.count { return "a lane lost or kept a request" }
    guard let lowest = waiting.map(\.rank).min() else { return nil }
    return nodes[queue.first(in: nodes)].rank == lowest ? nil : "a lane's first does not have the lowest rank"
  }
}
