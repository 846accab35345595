import HeadgateThreads

// A response that asks for a credential: the exchange's end waits for the consumer's answer, and so does the permit.

extension OperationState {
  /// The consumer gives no credential: the response that asks is the request's. Returns the timer that ends with a long
  /// request's head, and what follows if the exchange was over meanwhile.
  mutating func proceed(of first: DispatchRequest, at now: Deadline) -> (timeout: TimerQueue.Key?, ending: Ending?) {
    guard let asking = challenge.take(), !isDecided else { return (nil, nil) }
    head = asking
    let timeout = takeTimeoutOfLong()
    guard case .answering(let failure) = stage else { return (timeout, nil) }
    decide(by: failure, of: first, at: now)
    return (timeout, over(at: now))
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
