import HeadgateThreads

// A request in the hands of its interceptors: a task of its own calls them one after another, and brings it to the gate.
// From when that begins until it has been brought there, or has ended, the gate expects it, and a gate that drains waits.

extension DispatchOperation {
  // No interceptor has one request sent again more often.
  private static let mostAnswers = 5

  /// Prepares it for its first time, or after a rest. False: the gate expects nothing any more.
  func prepare(_ approach: GateApproach) -> Bool {
    guard core.gate.expect(wasHere: false) else { return false }
    let now = core.now
    perform(state.withLock { $0.expected(for: .preparation(approach), at: now) }, at: now)
    return true
  }

  /// Its exchange has ended, and interceptors are next.
  func yield(to work: InterceptorWork, at now: Deadline) {
    if core.gate.expect(wasHere: true) {
      return perform(state.withLock { $0.expected(for: work, at: now) }, at: now)
    }
    // Nothing is sent again any more.
    switch work {
    case .preparation: fail(DispatchError(.shutDown))
    case .review(let kept, let end): tell(kept, end, at: now)
    }
  }

  /// Lets interceptors do their work, and gives the permit back.
  func intercept(_ work: InterceptorWork, returning claim: OperationState.Claim?, at now: Deadline) {
    observeIntercepting(work, at: now)
    // Known to the dispatcher before the gate forgets it, so that a shutdown finds it in one of the two.
    let isEnding = core.enterRest(self)
    if let claim { release(claim) }
    if isEnding { fail(DispatchError(.shutDown)) }
    // A decision that came before `enterRest` found nothing to take away.
    guard !state.withLock({ $0.isDecided }) else { return core.leaveRest(self) }
    interceptors?.perform { [self] in
      switch work {
      case .preparation(let approach): await preparation(approach)
      case .review(let kept, let end): await reviewing(kept, end)
      }
    }
  }

  private func preparation(_ approach: GateApproach) async {
    guard let interceptions = state.withLock({ $0.interceptions }) else { return }
    var prepared = interceptions.unprepared
    for (place, interceptor) in core.interceptors.enumerated() {
      do {
        try await interceptor.prepare(&prepared, interception(interceptions, of: place))
      } catch {
        return failed(error, "it was to be prepared")
      }
    }
    let now = core.now
    guard state.withLock({ [prepared] in $0.prepared(prepared, at: now) }) else { return }
    let refusal = core.leavingRest(self) { [prepared] in
      bring(
        prepared, approach, at: now,
        as: .expected(age: submitted.nanoseconds, wasAccepted: approach.reason != .submission))
    }
    if let refusal { fail(refusal) }
    // A shutdown may have looked for it between its rest and the gate.
    if core.endsAllRests { fail(DispatchError(.shutDown)) }
  }

  private func reviewing(_ kept: KeptResponse, _ end: ExchangeEnd) async {
    guard let interceptions = state.withLock({ $0.interceptions }) else { return }
    for place in kept.reviewers {
      let answer: InterceptorAnswer
      do {
        answer = try await core.interceptors[place].review(kept.response, interception(interceptions, of: place))
      } catch {
        return failed(error, "it looked at \(kept.response)")
      }
      guard case .sendAgain(let changed) = answer.value else { continue }
      guard state.withLock({ $0.sendAgain(changed, by: place) }) else { return }
      return await preparation(GateApproach(reason: .interceptor))
    }
    tell(kept, end, at: core.now)
  }

  /// What was kept comes now.
  private func tell(_ kept: KeptResponse, _ end: ExchangeEnd, at now: Deadline) {
    guard state.withLock({ $0.tell(kept, at: now) }) else { return }
    core.leaveRest(self)
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

  private func failed(_ error: any Error, _ what: String) {
    fail(
      DispatchError(.interceptorFailed, phase: .intercepting, detail: "\(what): \(error)", underlyingError: error))
  }

  private func interception(_ interceptions: Interceptions, of place: Int) -> Interception {
    Interception(
      unprepared: interceptions.unprepared, resends: interceptions.answers[place] ?? 0, age: submitted, core)
  }

  // MARK: Questions

  /// Whether what was prepared is out of date, now that it has its permit.
  func isOutdated(_ prepared: DispatchRequest, _ interceptions: Interceptions) -> Bool {
    guard interceptions.latePreparations < Self.mostAnswers else { return false }
    var isOutdated = false
    DeliveryFrame.mark(core.gateIdentity) {
      isOutdated = core.interceptors.enumerated().contains { place, interceptor in
        interceptor.isOutdated(prepared, interception(interceptions, of: place))
      }
    }
    return isOutdated
  }

  /// A response, or a failure, to be kept for the interceptors that want to look at it; nil: none does.
  func kept(_ response: InterceptedResponse, _ sent: OperationState.Sent) -> KeptResponse? {
    // What can't be sent again need not be looked at.
    guard let interceptions = sent.interceptions, sent.request.hasReplayableBody else { return nil }
    var reviewers: [Int] = []
    DeliveryFrame.mark(core.gateIdentity) {
      for (place, interceptor) in core.interceptors.enumerated().reversed() {
        let interception = interception(interceptions, of: place)
        guard interception.resends < Self.mostAnswers else { continue }
        if interceptor.isInterested(in: response, interception) { reviewers.append(place) }
      }
    }
    return reviewers.isEmpty ? nil : KeptResponse(response, reviewers)
  }
}
