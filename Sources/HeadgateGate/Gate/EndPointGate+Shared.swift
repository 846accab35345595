import HeadgateThreads

// Permits under a coordinator: the scheduler has decided that a request is next, and the coordinator decides when that
// request may start.

extension EndPointGate {
  /// Asks the coordinator for a client that has the gate's permit.
  func share(_ client: any GateClient, _ ticket: Ticket, under shared: SharedPermits) {
    // It may have ended in the meantime.
    guard let demand = state.withLock({ $0.scheduler.sharedDemand(of: ticket) }) else {
      return client.granted(ticket, at: nil)
    }
    let asked = timers.now
    shared.ask(for: ticket, client, demand, at: asked) { [self] refusal in
      tellSharedWait(client, ticket, since: asked)
      if let refusal {
        decline(ticket)
        client.refused(refusal)
      } else if !waitsAgain(client, ticket, under: shared) {
        client.granted(ticket, at: nil)
      }
    }
  }

  /// A client has waited for the coordinator.
  func tellSharedWait(_ client: any GateClient, _ ticket: Ticket, since asked: Deadline) {
    let waited = Self.sharedWait(since: asked, at: timers.now)
    guard !waited.isEmpty else { return }
    state.withLock { $0.scheduler.add(waited, of: ticket) }
    client.waited(waited)
  }

  /// A wait for the coordinator.
  static func sharedWait(since asked: Deadline, at now: Deadline) -> WaitTimes {
    var waited = WaitTimes()
    waited.add(now.nanoseconds(since: asked), to: .shared)
    return waited
  }

  /// While a client waited for the coordinator, its end-point may have been stopped or paused. Then it returns both
  /// permits and waits at the gate again. Returns false if it may start.
  private func waitsAgain(_ client: any GateClient, _ ticket: Ticket, under shared: SharedPermits) -> Bool {
    let now = timers.now
    guard let obstacle = state.withLock({ $0.scheduler.obstacle(to: ticket, at: now) }),
      let permit = shared.take(ticket)
    else { return false }
    guard waitsAgain(client, ticket, because: obstacle) else {
      shared.keep(permit, for: ticket)
      return false
    }
    permit.decline()
    return true
  }

  /// A client that has the gate's permit, and was not sent, returns it and waits again. Returns false if it can't.
  func waitsAgain(_ client: any GateClient, _ ticket: Ticket, because obstacle: StartObstacle) -> Bool {
    guard perform(readsClock: true, { $0.putBack(ticket) }) else { return false }
    client.paused(obstacle.reason, failsWaitingRequests: obstacle.isGivenUp)
    client.stopped()
    return true
  }

  /// Whether a client that holds a permit, and was not sent, may be sent: its end-point was not stopped or paused
  /// meanwhile.
  package func mayStart(_ ticket: Ticket) -> Bool {
    let now = timers.now
    return state.withLock { $0.scheduler.obstacle(to: ticket, at: now) } == nil
  }

  /// The coordinator's permit of a client that runs. Nil without a coordinator.
  package func sharedPermit(of ticket: Ticket) -> (any SharedPermit)? { shared?.permit(of: ticket) }
}

extension Scheduler {
  /// What a request that holds a permit needs from a coordinator. Nil if it holds none.
  func sharedDemand(of ticket: Ticket) -> SharedDemand? {
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running else { return nil }
    return SharedDemand(
      for: endPoints[nodes[slot].endPoint].endPoint, lane: nodes[slot].lane,
      scopes: named(by: slot).compactMap { scopes[$0].scope }, weights: weights(of: slot), limits: limits)
  }

  /// Why a request that holds a permit, but was not sent, must wait again. Nil if it may be sent.
  func obstacle(to ticket: Ticket, at moment: Deadline) -> StartObstacle? {
    guard let slot = nodes.slot(of: ticket), nodes[slot].state == .running, closing < .ending else { return nil }
    let place = nodes[slot].endPoint
    if endPoints[place].isStopped { return StartObstacle(reason: WaitReason(.stopped, at: moment), isGivenUp: false) }
    guard let reason = sleepReason(of: ticket, at: moment) else { return nil }
    let watched = endPoints[place].scope
    let all = (watched >= 0 ? [watched] : []) + named(by: slot)
    return StartObstacle(reason: reason, isGivenUp: all.contains { isGivenUp($0, at: moment) })
  }
}

/// Why a request that has its permit may not start after all.
struct StartObstacle: Hashable, Sendable {
  let reason: WaitReason
  /// Whether the requests that wait there fail.
  let isGivenUp: Bool
}
