import HTTPTypes
import HeadgateThreads

// A request in the hands of its interceptors: a task of its own calls them one after another, and brings it to the gate.
// From when that begins until it has been brought there, or has ended, the gate expects it, and a gate that drains waits.

extension DispatchOperation {
  /// How a request is brought to the gate once it is prepared.
  private struct Turn {
    let reason: WaitingStart.Reason
    var patience = Scheduler<any GateClient>.Patience.waits
    var mayBeHeld = true
  }

  // MARK: Preparing

  /// Prepares it for its first time. Returns why it is not taken, as far as that is known now.
  func offerForPreparing(patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool) -> DispatchError? {
    if patience == .needsLongPlace, submittedClass == .long, !core.gate.isLongRequestAllowed(at: request.endPoint) {
      return DispatchError(core.gate.isClosing ? .shutDown : .longLaneFull, endPoint: request.endPoint)
    }
    let turn = Turn(reason: .submission, patience: patience, mayBeHeld: mayBeHeld)
    return prepare(turn, at: submitted) ? nil : DispatchError(.shutDown, endPoint: request.endPoint)
  }

  /// Prepares it after a rest.
  func prepareAgain(_ reason: WaitingStart.Reason) {
    if !prepare(Turn(reason: reason), at: core.now) { fail(DispatchError(.shutDown)) }
  }

  /// False: the gate expects nothing any more.
  private func prepare(_ turn: Turn, at now: Deadline) -> Bool {
    guard core.gate.expect(wasHere: false) else { return false }
    let work = Canceller()
    let fetching = FetchingTask.fetches
    guard state.withLock({ $0.beginPreparing(work, of: request, fetching: fetching) }) else {
      core.gate.forgetExpected()
      return true
    }
    observeIntercepting(.preparation, at: now)
    begin(work, returning: nil) { [self] in await preparation(turn) }
    return true
  }

  /// The old exchange is over: gives the permit back, and prepares what follows.
  func prepareHop(_ next: DispatchRequest, _ reason: WaitingStart.Reason, at now: Deadline) {
    // Expected already while a delegate was asked about a response that interceptors had let be.
    let isNew = !state.withLock { $0.isExpected }
    if isNew, !core.gate.expect(wasHere: true) {
      fail(DispatchError(.shutDown))
      return conclude(state.withLock { $0.over(at: now) })
    }
    let work = Canceller()
    guard let hand = state.withLock({ $0.prepareHop(next, work, at: now) }) else {
      if isNew { core.gate.forgetExpected() }
      return conclude(state.withLock { $0.over(at: now) })
    }
    dropTimeout()
    observeIntercepting(.preparation, at: now)
    begin(work, returning: hand.ticket) { [self] in await preparation(Turn(reason: reason)) }
  }

  /// Whether what was prepared is out of date by now.
  func isOutdated(_ launch: OperationState.Launch) -> Bool {
    guard let prepared = launch.later, let interlude = state.withLock({ $0.interlude }),
      interlude.latePreparations < Self.mostAnswers
    else { return false }
    var isOutdated = false
    DeliveryFrame.mark(core.gateIdentity) {
      isOutdated = core.interceptors.enumerated().contains { place, interceptor in
        interceptor.isOutdated(prepared, interception(interlude, of: place))
      }
    }
    return isOutdated
  }

  /// It has its permit, which goes to the next: it is prepared anew.
  func prepareLate(at now: Deadline) {
    let isExpected = core.gate.expect(wasHere: true)
    let work = Canceller()
    guard isExpected, let hand = state.withLock({ $0.prepareLate(work) }) else {
      if isExpected { core.gate.forgetExpected() } else { fail(DispatchError(.shutDown)) }
      return conclude(state.withLock { $0.over(at: now) })
    }
    observeIntercepting(.preparation, at: now)
    begin(work, returning: hand.ticket) { [self] in await preparation(Turn(reason: .interceptor)) }
  }

  /// Lets interceptors do their work, and gives the permit back.
  private func begin(_ work: Canceller, returning ticket: Ticket?, _ body: @escaping @Sendable () async -> Void) {
    // Known to the dispatcher before the gate forgets it, so that whoever ends all of them finds it in one place.
    let isEnding = core.enterRest(self)
    if let ticket { core.finish(ticket) }
    if isEnding { fail(DispatchError(.shutDown)) }
    // A verdict that came before `enterRest` found nothing to take away.
    guard !state.withLock({ $0.isDecided }) else { return core.leaveRest(self) }
    // This thread may be in anybody's task: whose permit has come free, or who submits. What that task carries is not
    // this request's.
    let fetching = state.withLock { $0.interlude?.fetching } ?? []
    let task = Task.detached { await FetchingTask.$fetches.withValue(fetching) { await body() } }
    work.set { task.cancel() }
  }

  private func preparation(_ turn: Turn) async {
    guard let interlude = state.withLock({ $0.interlude }) else { return }
    var prepared = interlude.base
    for (place, interceptor) in core.interceptors.enumerated() {
      do {
        try await interceptor.prepare(&prepared, interception(interlude, of: place))
      } catch {
        return failed(error, "it was to be prepared")
      }
    }
    let now = core.now
    guard let (lane, priority) = state.withLock({ [prepared] in $0.prepared(prepared, of: request, at: now) }) else {
      return
    }
    core.leaveRest(self)
    observeWaiting(prepared, turn.reason, at: now)
    let refusal = bring(
      prepared, lane, priority, patience: turn.patience, mayBeHeld: turn.mayBeHeld, at: now,
      as: .expected(age: submitted.nanoseconds, wasAccepted: turn.reason != .submission))
    if let refusal { fail(refusal) }
    // A shutdown may have looked for it between its rest and the gate.
    if core.endsAllRests { fail(DispatchError(.shutDown)) }
  }

  private func interception(_ interlude: Interlude, of place: Int) -> Interception {
    Interception(unprepared: interlude.base, resends: interlude.answers[place] ?? 0, age: submitted, core)
  }

  private func failed(_ error: any Error, _ what: String) {
    fail(
      DispatchError(.interceptorFailed, phase: .intercepting, detail: "\(what): \(error)", underlying: error))
  }

  /// Tells the gate that it does not come, once it has ended.
  func forgetExpectation() {
    if state.withLock({ $0.takeExpectation() }) { core.gate.forgetExpected() }
  }

  // MARK: Keeping a response

  // No interceptor has one request sent again more often.
  private static let mostAnswers = 5

  /// Keeps a head that interceptors want to look at. False: it is to be told.
  func kept(_ head: ResponseHead) -> Bool { kept(head, nil) }

  /// Keeps a failure that interceptors want to look at.
  func kept(_ failure: DispatchError) { if state.withLock({ $0.keeping }) == nil { _ = kept(nil, failure) } }

  private func kept(_ head: ResponseHead?, _ failure: DispatchError?) -> Bool {
    guard let (sent, interlude) = state.withLock({ $0.reviewable(request) }) else { return false }
    var reviewers: [Int] = []
    let response = InterceptedResponse(request: sent, head: head, error: failure)
    // What can't be sent again need not be looked at.
    if sent.body?.isReplayable ?? true {
      DeliveryFrame.mark(core.gateIdentity) {
        for (place, interceptor) in core.interceptors.enumerated().reversed() {
          let interception = interception(interlude, of: place)
          guard interception.resends < Self.mostAnswers else { continue }
          if interceptor.isInterested(in: response, interception) { reviewers.append(place) }
        }
      }
    }
    let kept = reviewers.isEmpty ? nil : KeptResponse(response, reviewers)
    state.withLock { $0.keep(kept) }
    return kept != nil
  }

  /// Keeps a piece of the body of such a response. Nil: it is to be told.
  func kept(_ bytes: UnsafeRawBufferPointer) -> BodyFlow? {
    guard let kept = state.withLock({ $0.keeping }) else { return nil }
    let now = activity
    state.withLock { $0.lastActivity = now }
    return kept.add(bytes)
  }

  /// Keeps what came after it. False: it is to be told.
  func kept(_ trailers: HTTPFields) -> Bool {
    guard let kept = state.withLock({ $0.keeping }) else { return false }
    kept.add(trailers)
    return true
  }

  // MARK: Looking at it

  /// The exchange is over: gives the permit back, and lets interceptors look at what came of it.
  func review(_ kept: KeptResponse, _ end: ExchangeEnd, at now: Deadline) {
    guard core.gate.expect(wasHere: true) else {
      // Nothing is sent again any more: it is the request's response, under the permit that it has.
      state.withLock { $0.keep(nil) }
      return tell(kept, end)
    }
    let work = Canceller()
    guard let hand = state.withLock({ $0.beginReview(work, of: request, at: now) }) else {
      core.gate.forgetExpected()
      return conclude(state.withLock { $0.over(at: now) })
    }
    dropTimeout()
    observeIntercepting(kept.response.head == nil ? .failure : .response, at: now)
    begin(work, returning: hand.ticket) { [self] in await reviewing(kept, end) }
  }

  private func reviewing(_ kept: KeptResponse, _ end: ExchangeEnd) async {
    guard let interlude = state.withLock({ $0.interlude }) else { return }
    for place in kept.reviewers {
      let answer: InterceptorAnswer
      do {
        answer = try await core.interceptors[place].review(kept.response, interception(interlude, of: place))
      } catch {
        return failed(error, "it looked at \(kept.response)")
      }
      guard case .sendAgain(let changed) = answer.value else { continue }
      guard state.withLock({ $0.sendAgain(changed, by: place) }) else { return }
      return await preparation(Turn(reason: .interceptor))
    }
    let now = core.now
    guard state.withLock({ $0.letBe(kept, at: now) }) else { return }
    core.leaveRest(self)
    tell(kept, end)
  }

  /// What was kept comes now.
  private func tell(_ kept: KeptResponse, _ end: ExchangeEnd) {
    if let fault = kept.fault {
      fail(fault)
    } else if let head = kept.response.head {
      var flow = told(head)
      let body = kept.body
      if !body.isEmpty, flow != .abort { flow = body.withUnsafeBytes { received($0) } }
      if let trailers = kept.trailers, flow != .abort { received(trailers: trailers) }
    }
    settle(end, at: core.now)
  }
}
