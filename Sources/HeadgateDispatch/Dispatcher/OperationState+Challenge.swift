import HeadgateThreads

// A response that asks for a credential: the exchange's end waits for the consumer's answer, and so does the permit.

extension OperationState {
  /// The consumer gives no credential: the response that asks is the request's.
  mutating func proceed(of first: DispatchRequest, at now: Deadline) -> Proceeding {
    guard let asking = challenge.take(), !isDecided else { return Proceeding() }
    head = asking
    let timeout = takeTimeoutOfLong()
    guard case .answering(let failure) = stage else { return Proceeding(timeout: timeout) }
    decide(by: failure, of: first, at: now)
    return Proceeding(timeout: timeout, ending: over(at: now))
  }

  /// What follows when the response that asks is the request's.
  struct Proceeding: ~Copyable {
    /// The timer that ends with a long request's head.
    var timeout: TimerQueue.Key?
    /// Nil while the exchange goes on.
    var ending: Ending?
  }

  /// What the request with a credential waits for.
  enum Again {
    /// Nothing: it starts now, under the same permit.
    case starts(Launch)
    /// The end of the old exchange, as a redirect does.
    case drains
    /// Its interceptors: the exchange is over.
    case prepares
    /// It was decided meanwhile.
    case decided
  }

  /// The consumer gives a credential: the request is sent again with it.
  mutating func sendAgain(_ next: DispatchRequest, after first: DispatchRequest, at now: Deadline) -> Again {
    guard challenge.take() != nil, !isDecided else { return .decided }
    resends += 1
    if case .answering = stage {
      if interlude != nil { return .prepares }
      if case .same(let launch)? = follow(next, after: first, at: now) { return .starts(launch) }
    }
    drained = 0
    redirect = next
    return .drains
  }
}
