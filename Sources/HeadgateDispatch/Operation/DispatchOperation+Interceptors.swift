import HeadgateThreads

// A request and its interceptors. A task of its own calls the interceptors one after another, and then submits the
// request to the gate. Meanwhile the gate expects the request, and a draining gate waits for it.

extension DispatchOperation {
  // The maximum number of times that one interceptor can have one request sent again.
  private static let mostAnswers = 5

  /// Prepares the request, initially or after a rest. Returns false if the gate is closed for it.
  func prepare(_ approach: GateApproach) -> Bool {
    guard core.gate.expect(wasHere: false) else { return false }
    let now = core.now
    perform(state.withLock { $0.expected(for: .preparation(approach), at: now) }, at: now)
    return true
  }

  /// The exchange has ended, and interceptors continue.
  func yield(to work: InterceptorWork, at now: Deadline) {
    if core.ending == nil, core.gate.expect(wasHere: true) {
      return perform(state.withLock { $0.expected(for: work, at: now) }, at: now)
    }
    // Nothing is sent again, because the gate or the dispatcher is closed.
    switch work {
    case .preparation: fail(DispatchError(.shutDown))
    case .review(let kept, let end): tell(kept, end, at: now)
    }
  }

  /// Starts the work of the interceptors, and returns the permit.
  func intercept(_ work: InterceptorWork, returning claim: OperationState.Claim?, at now: Deadline) {
    observeIntercepting(work, at: now)
    leaveGate(returning: claim)
    if core.ending != nil { fail(DispatchError(.shutDown)) }
    guard !state.withLock({ $0.isDecided }) else { return }
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
        return failed(error, "while preparing the request")
      }
    }
    let now = core.now
    guard state.withLock({ [prepared] in $0.prepared(prepared, at: now) }) else { return }
    let refusal = core.gate.outside.returning(self) { [prepared] in
      bring(
        prepared, approach, at: now,
        as: .expected(age: submitted.nanoseconds, wasAccepted: approach.reason != .submission))
    }
    if let refusal { fail(refusal) }
    if let mode = core.ending { end(mode) }
    stopped()
  }

  private func reviewing(_ kept: KeptResponse, _ end: ExchangeEnd) async {
    guard let interceptions = state.withLock({ $0.interceptions }) else { return }
    for place in kept.reviewers {
      let answer: InterceptorAnswer
      do {
        answer = try await core.interceptors[place].review(kept.response, interception(interceptions, of: place))
      } catch {
        return failed(error, "while reviewing \(kept.response)")
      }
      guard case .resend(let changed) = answer.value else { continue }
      guard state.withLock({ $0.resend(changed, by: place) }) else { return }
      return await preparation(GateApproach(reason: .interceptor))
    }
    tell(kept, end, at: core.now)
  }

  /// Delivers the response that was withheld.
  private func tell(_ kept: KeptResponse, _ end: ExchangeEnd, at now: Deadline) {
    guard state.withLock({ $0.tell(kept, at: now) }) else { return }
    if let fault = kept.fault {
      fail(fault)
    } else if let head = kept.response.head {
      var flow = told(head)
      let rest = kept.rest
      if !rest.body.isEmpty, flow != .abort { flow = rest.body.withUnsafeBytes { received($0) } }
      if let trailers = rest.trailers, flow != .abort { received(trailers: trailers) }
    }
    settle(end, at: core.now)
    // The timer was taken when the interceptors began, and the time for the answer to a challenge counts.
    let now = core.now
    if let timeout = state.withLock({ $0.answering(at: now) }) { armTimeout(timeout, from: now) }
  }

  private func failed(_ error: any Error, _ what: String) {
    fail(
      DispatchError(.interceptorFailed, phase: .intercepting, detail: "\(what): \(error)", underlyingError: error))
  }

  private func interception(_ interceptions: Interceptions, of place: Int) -> Interception {
    Interception(
      unprepared: interceptions.unprepared, resends: interceptions.answers[place] ?? 0, age: submitted, core: core)
  }

  // MARK: Queries

  /// Whether the prepared request is outdated, now that it has its permit.
  func isOutdated(_ prepared: DispatchRequest, _ interceptions: Interceptions) -> Bool {
    guard interceptions.latePreparations < Self.mostAnswers else { return false }
    return DeliveryFrame.mark(core.gateIdentity) {
      core.interceptors.enumerated().contains { place, interceptor in
        interceptor.isOutdated(prepared, interception(interceptions, of: place))
      }
    }
  }

  /// The response or failure, withheld for the interceptors that want to review it. Nil if there are none.
  func kept(_ response: InterceptedResponse, _ sent: OperationState.Sent) -> KeptResponse? {
    // A request that can't be sent again needs no review.
    guard let interceptions = sent.interceptions, sent.request.hasReplayableBody else { return nil }
    let reviewers = DeliveryFrame.mark(core.gateIdentity) {
      core.interceptors.indices.reversed().filter { place in
        let interception = interception(interceptions, of: place)
        return interception.resends < Self.mostAnswers
          && core.interceptors[place].isInterested(in: response, interception)
      }
    }
    return reviewers.isEmpty ? nil : KeptResponse(response, reviewers)
  }
}
