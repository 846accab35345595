// Pauses that several programs share, through their coordinator.

import HeadgateThreads

extension EndPointGate {
  /// Hears of the pauses of others, for as long as it exists.
  func hearPauses(of coordinator: any GateCoordinator) {
    (coordinator as? any PauseSharing)?.whenPaused { [weak self] pause in
      // What is nearly over is often the rest of a pause that this gate was told itself, rounded up: not another one. The
      // coordinator grants nothing before its end.
      if pause.left > Self.tolerance { self?.hear(pause) }
      return self != nil
    }
  }

  /// Others were told that an end-point accepts nothing for a while. What waits there waits longer, or ends if it
  /// can't.
  package func hear(_ pause: SharedPause) {
    let now = timers.now
    let until = now + pause.left
    var recalled = Recalled()
    switch pause.cause {
    case .refused(let status): recalled.pause = (until, status)
    case .unreachable: recalled.outage = (until, hasGivenUp: false)
    }
    let known = recalled
    let (obstacle, clients) = perform { scheduler -> (StartObstacle?, [any GateClient]) in
      let before = scheduler.sleep(at: pause.endPoint, at: now)?.reason.until ?? .distantPast
      // What it was told itself comes back to it with rounded times, and must not count as another pause.
      guard until > before + Self.tolerance else { return (nil, []) }
      scheduler.recall(known, at: pause.endPoint, at: now)
      let obstacle = scheduler.sleep(at: pause.endPoint, at: now)
      return (obstacle, obstacle == nil ? [] : scheduler.waitingItems(at: pause.endPoint, nil))
    }
    guard let obstacle else { return }
    for client in clients { client.paused(obstacle.reason, failsWaitingRequests: obstacle.isGivenUp) }
    bringBack(from: pause.endPoint)
  }

  private static let tolerance = Duration.milliseconds(10)

  /// Keeps a pause for later processes.
  package func remember(_ pause: SharedPause) { memory?.remember(pause) }

  /// Tells the other programs what this one was told.
  func share(_ report: EndPointNews.Report) {
    guard let coordinator = coordinator as? any PauseSharing else { return }
    for one in report.news {
      let pause: SharedPause? =
        switch one {
        case .paused(let left, let status): SharedPause(at: report.endPoint, left: left, .refused(status: status))
        case .suspended(let left, _): SharedPause(at: report.endPoint, left: left, .unreachable)
        case .answered, .learned: nil
        }
      if let pause { coordinator.share(pause) }
    }
  }

  /// Requests that wait for the coordinator at an end-point that pauses now wait here instead, where their deadlines
  /// and the patience with the end-point count.
  func bringBack(from endPoint: EndPoint) {
    guard let shared else { return }
    let now = timers.now
    for (ticket, client) in shared.waiting(at: endPoint) {
      guard let obstacle = state.withLock({ $0.scheduler.obstacle(to: ticket, at: now) }),
        let asked = shared.cancel(ticket)
      else { continue }
      tellSharedWait(client, ticket, since: asked)
      guard !waitsAgain(client, ticket, because: obstacle) else { continue }
      // The gate closes.
      finish(ticket, hasStarted: false)
      client.refused(DispatchError(.shutDown))
    }
  }

  /// The pause of an end-point. Nil if there is none.
  package func pause(at endPoint: EndPoint) -> SharedPause? {
    let now = timers.now
    guard let reason = state.withLock({ $0.scheduler.sleep(at: endPoint, at: now) })?.reason,
      let left = reason.remaining
    else { return nil }
    if case .paused(let status) = reason.cause {
      return SharedPause(at: endPoint, left: left, .refused(status: status))
    }
    return SharedPause(at: endPoint, left: left, .unreachable)
  }
}

extension Scheduler {
  /// Why nothing starts at an end-point that is paused. Nil if it is not.
  func sleep(at endPoint: EndPoint, at moment: Deadline) -> StartObstacle? {
    guard let scope = scopes.slot(of: .endPoint(endPoint)), let reason = sleepReason(scope, at: moment) else {
      return nil
    }
    return StartObstacle(reason: reason, isGivenUp: isGivenUp(scope, at: moment))
  }
}
