import HeadgateThreads

// A request in the hands of its interceptors. It has no permit then: before it is brought to the gate, for the first time
// or again, and once its exchange is over and they look at the response, which is kept until they have.

/// What is known of such a request beside the rest.
struct Interlude: Sendable {
  /// The request as no interceptor has changed it: as it was submitted, as a redirect or a credential made it, or as an
  /// interceptor answered. Each preparation begins with it, so that none piles up on another, and nothing that was put in
  /// for one origin goes along to the next.
  var base: DispatchRequest
  /// The fetches in whose task it was submitted: see `FetchingTask`.
  var fetching: [ObjectIdentifier] = []
  /// How often each interceptor had it sent again, by its place.
  var answers: [Int: Int] = [:]
  /// How often they let a response be: a hop each in which nothing was sent.
  var letBe = 0
  /// How often what was prepared was out of date by the time that there was a permit.
  var latePreparations = 0
  /// The response that they want to look at.
  var kept: KeptResponse?
  /// What they are doing.
  var work: Canceller?
  /// The gate expects it: it was told so, and was neither told otherwise nor brought the request.
  var isExpected = true
}

/// Keeps an interlude beside the operation's state, which nearly always has none and is no larger for it.
final class InterludeBox: Sendable {
  let value: Interlude
  init(_ value: Interlude) { self.value = value }
}

extension OperationState {
  /// What is known beside of a request that interceptors work on; nil before they begin, and for all others.
  var interlude: Interlude? {
    get { interludeBox?.value }
    set { interludeBox = newValue.map { InterludeBox($0) } }
  }

  /// The present request, as no interceptor has changed it.
  func present(_ first: DispatchRequest) -> DispatchRequest { interlude?.base ?? later ?? first }

  /// Whether the gate expects it.
  var isExpected: Bool { interlude?.isExpected ?? false }

  // MARK: Preparing

  /// The present request is to be prepared, before it comes to the gate for the first time or after a rest. False: it was
  /// decided meanwhile.
  ///
  /// - Parameter fetching: For its first time: in the task of which fetches it was submitted.
  mutating func beginPreparing(
    _ work: Canceller, of first: DispatchRequest, fetching: [ObjectIdentifier] = []
  ) -> Bool {
    guard !isDecided else { return false }
    var next = interlude ?? Interlude(base: first, fetching: fetching)
    switch stage {
    case .waiting: break
    // The next attempt's request was noted when the rest began.
    case .resting: next.base = later ?? first
    default: return false
    }
    next.work = work
    next.isExpected = true
    interlude = next
    stage = .intercepted
    return true
  }

  /// The exchange is over, and another request follows that is to be prepared: a redirect's, or one with a credential.
  /// Returns the ticket to be finished, unless it has none any more; nil: it was decided meanwhile.
  mutating func prepareHop(_ next: DispatchRequest, _ work: Canceller, at now: Deadline) -> Hand? {
    guard !isDecided, var interlude else { return nil }
    leaveHop(for: next, at: now)
    interlude.base = next
    interlude.kept = nil
    interlude.work = work
    interlude.isExpected = true
    self.interlude = interlude
    stage = .intercepted
    return Hand(ticket: takeTicket())
  }

  /// It has its permit, and what was prepared is out of date: it is to be prepared anew. Nil: it was decided meanwhile.
  mutating func prepareLate(_ work: Canceller) -> Hand? {
    guard case .starting = stage, !isDecided, var interlude else { return nil }
    interlude.latePreparations += 1
    interlude.work = work
    interlude.isExpected = true
    self.interlude = interlude
    stage = .intercepted
    return Hand(ticket: takeTicket())
  }

  /// A request that goes over into the hands of its interceptors.
  struct Hand {
    /// To be finished.
    let ticket: Ticket?
  }

  /// It is prepared, and the driver has what the gate expects. Returns how it is to be brought there; nil when it was
  /// decided meanwhile.
  mutating func prepared(
    _ request: DispatchRequest, of first: DispatchRequest, at now: Deadline
  ) -> (lane: RequestLane, priority: RequestPriority)? {
    guard case .intercepted = stage, !isDecided else { return nil }
    later = request
    interlude?.work = nil
    interlude?.isExpected = false
    stage = .waiting
    waitingSince = now
    return (lane, priority ?? first.priority)
  }

  /// It has ended. True, once: the gate is to be told that it does not come.
  mutating func takeExpectation() -> Bool {
    guard case .over = stage, isExpected else { return false }
    interlude?.isExpected = false
    return true
  }

  // MARK: Looking at a response

  /// What interceptors may be asked about: nothing that was told, and nothing that is followed by something else anyway.
  /// Returns the request as it was sent, and what is known of it.
  func reviewable(_ first: DispatchRequest) -> (sent: DispatchRequest, interlude: Interlude)? {
    guard !isDecided, head == nil, challenge == nil, redirect == nil, let interlude else { return nil }
    return (later ?? first, interlude)
  }

  /// A response is to be kept, or none, in the place of one before it.
  mutating func keep(_ kept: KeptResponse?) { interlude?.kept = kept }

  /// The response whose rest is to be kept.
  var keeping: KeptResponse? { redirect == nil && !isDecided ? interlude?.kept : nil }

  /// The exchange is over. Returns what is to be looked at before anything else follows.
  mutating func keptEnd(_ end: borrowing ExchangeEnd, at now: Deadline) -> KeptResponse? {
    guard let kept = keeping else { return nil }
    times = end.times
    leaveHold(at: now)
    return kept
  }

  /// The exchange is over: the permit goes back, and interceptors look at what was kept. Nil: it was decided meanwhile.
  mutating func beginReview(_ work: Canceller, of first: DispatchRequest, at now: Deadline) -> Hand? {
    guard !isDecided, interlude?.kept != nil else { return nil }
    // A hop of its own, so that no timer of the exchange is kept; and no redirect.
    leaveHop(for: later ?? first, at: now)
    resends += 1
    interlude?.work = work
    interlude?.isExpected = true
    stage = .intercepted
    return Hand(ticket: takeTicket())
  }

  /// The interceptor at a place wants it sent again. False: it was decided meanwhile.
  mutating func sendAgain(_ changed: DispatchRequest?, by place: Int) -> Bool {
    guard case .intercepted = stage, !isDecided, var next = interlude else { return false }
    if let changed { next.base = changed }
    next.answers[place, default: 0] += 1
    next.kept = nil
    later = next.base
    interlude = next
    return true
  }

  /// They let it be: what was kept is told now, as if it came. False: it was decided meanwhile.
  mutating func letBe(_ kept: KeptResponse, at now: Deadline) -> Bool {
    guard case .intercepted = stage, !isDecided else { return false }
    interlude?.kept = nil
    interlude?.work = nil
    interlude?.letBe += 1
    runningSince = now
    stage = .running(kept)
    return true
  }
}
