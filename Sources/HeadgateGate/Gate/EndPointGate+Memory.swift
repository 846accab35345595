// State that outlives the process. Files are read and written with no lock held.

import HeadgateThreads

extension EndPointGate {
  /// Reads what earlier processes knew of an end-point that is new here. Called before each submission and redirect, of
  /// which only the first one to an end-point reads, and the first one after it was forgotten.
  func recall(_ endPoint: EndPoint) {
    guard let memory, memory.keeps(endPoint), !state.withLock({ $0.scheduler.knows(endPoint) }) else { return }
    recallAgain(endPoint)
  }

  /// Reads what earlier processes knew of an end-point.
  package func recallAgain(_ endPoint: EndPoint) {
    guard let memory, let server = memory.server(of: endPoint) else { return }
    let (now, wall) = (timers.now, memory.now)
    func moment(_ time: Int64) -> Deadline { now.advanced(byNanoseconds: (time - wall) * 1_000_000) }
    var recalled = Recalled()
    recalled.pause = server.pause.map { (moment($0.until), $0.status) }
    recalled.outage = server.outage.map { (moment($0.until), $0.hasGivenUp) }
    recalled.learned = server.learned.map {
      (LearnedLimits.Entry(requests: $0.requests, rate: $0.rate, expires: $0.until / 1000), moment($0.until))
    }
    let known = recalled
    perform { $0.recall(known, at: endPoint, at: now) }
  }

  /// Whether a client that the scheduler has started still waits, under its ticket: without the coordinator's permit,
  /// or because other processes have used up a limit.
  func waitsAfterAll(_ ticket: Ticket) -> Bool {
    if let shared { return shared.permit(of: ticket) == nil }
    return state.withLock { $0.scheduler.waits(ticket) }
  }

  /// Writes what later processes should know.
  func remember(_ report: EndPointNews.Report) {
    guard let memory else { return }
    let moment = timers.now
    memory.changeServer(of: report.endPoint) { server, now in
      func end(_ duration: Duration) -> Int64 {
        // Rounded up. Far from overflow, and clamped when it is written.
        now + min(duration.wholeNanoseconds, 1 << 60) / 1_000_000 + 1
      }
      for one in report.news {
        switch one {
        case .paused(let wait, let status): server.paused(until: end(wait), status: status, at: now)
        case .suspended(let wait, let hasGivenUp):
          server.suspended(until: end(wait), hasGivenUp: hasGivenUp, at: now)
        case .answered(let start):
          server.answered(startedAt: now - max(0, moment.nanoseconds(since: start)) / 1_000_000)
        case .learned(let requests, let rate, let left):
          server.learned(requests: requests, rate: rate, until: end(left), at: now)
        }
      }
    }
  }

  /// Counts the start of a client that holds a permit, if its end-point has a limit in a long window. Returns true if
  /// other processes have used up that limit: then the client waits at the gate again.
  ///
  /// A coordinator counts starts itself. It may grant them later than they were counted here.
  func mustWait(_ client: any GateClient, _ ticket: Ticket) -> Bool {
    guard let memory, shared == nil, let (endPoint, bounds) = state.withLock({ $0.scheduler.longBounds(of: ticket) })
    else { return false }
    guard let (until, cause) = memory.reserve(bounds, at: endPoint) else {
      // Writing took time, in which the end-point may have been stopped or paused.
      let now = timers.now
      guard let obstacle = state.withLock({ $0.scheduler.obstacle(to: ticket, at: now) }),
        waitsAgain(client, ticket, because: obstacle)
      else { return false }
      memory.giveBack(bounds, at: endPoint)
      return true
    }
    // At least a millisecond. Without a wait, the state would be asked over and over.
    let left = max(1, until - memory.now)
    let moment = timers.now.advanced(byNanoseconds: left * 1_000_000)
    if perform(readsClock: true, { $0.postpone(ticket, until: moment, cause) }) {
      client.stopped()
    } else {
      // It was cancelled meanwhile, or the gate closes.
      finish(ticket, hasStarted: false)
      client.refused(DispatchError(.shutDown))
    }
    return true
  }

  /// A permit is returned unused, so its start is not counted.
  func giveBackStart(of ticket: Ticket) {
    guard let memory, shared == nil, let (endPoint, bounds) = state.withLock({ $0.scheduler.longBounds(of: ticket) })
    else { return }
    memory.giveBack(bounds, at: endPoint)
  }
}
