import HeadgateThreads

// A request that is sent again: the old exchange ends as that of a redirect does, the permit goes back, and the request
// rests until its next attempt.

extension OperationState {
  /// Whether it rests between two attempts.
  var isResting: Bool {
    if case .resting = stage { return true }
    return false
  }

  /// What a further attempt may be planned by; nil when there is none to plan: the sink was told of a head, or the
  /// request was decided.
  func attempt(of first: DispatchRequest, at now: Deadline) -> (made: Int, request: DispatchRequest, left: Duration?)? {
    guard !isDecided, head == nil, challenge == nil, redirect == nil, interlude?.kept == nil else { return nil }
    return (retries + 1, present(first), deadline.map { $0 - now })
  }

  /// The exchange is to be followed by another attempt after a wait. False: it was decided meanwhile.
  mutating func planRetry(_ request: DispatchRequest, after wait: Duration) -> Bool {
    guard !isDecided, redirect == nil else { return false }
    redirect = request
    rest = wait
    return true
  }

  /// The old exchange is over: the permit goes back. Nil: it was decided meanwhile, and `over` follows.
  mutating func beginRest(_ next: DispatchRequest, at now: Deadline) -> Ticket? {
    guard !isDecided, let ticket = takeTicket() else { return nil }
    leaveHop(for: next, at: now)
    retries += 1
    resends += 1
    rest = nil
    stage = .resting
    return ticket
  }

  /// The rest is over. Returns what is to be brought to the gate, and how; nil when it was decided meanwhile.
  mutating func endRest(
    of first: DispatchRequest, at now: Deadline
  ) -> (request: DispatchRequest, lane: RequestLane, priority: RequestPriority)? {
    guard case .resting = stage, !isDecided else { return nil }
    stage = .waiting
    waitingSince = now
    return (later ?? first, lane, priority ?? first.priority)
  }
}
