import HeadgateThreads

// A request and its interceptors. A task of its own calls the interceptors one after another, and then submits the
// request to the gate. Meanwhile the gate expects the request, and a draining gate waits for it.

extension DispatchOperation {
  // The maximum number of times that one interceptor can have one request sent again.
  private static let mostAnswers = 5

  // The maximum number of times that a request returns its permit because it is outdated. Then it is sent as it is. A token
  // that is outdated by the time of its arrival would otherwise be fetched for ever.
  private static let mostReturns = 100

  // How long a request keeps its permit while it is prepared again, in nanoseconds. Longer work may itself wait for the
  // permit, in a way that can't be known here.
  private static let holdPatience: Int64 = 1_000_000_000

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

  /// It has its permit, and is prepared again.
  func renew(_ number: Int, at now: Deadline) {
    let approach = GateApproach(reason: .interceptor)
    observeIntercepting(.preparation(approach), at: now)
    let keepsPermit = core.held.withLock { $0.hold(self) }
    // A decision before `hold` found nothing to remove. Since then the permit may also have been taken away; then the
    // preparation goes on without it.
    guard !state.withLock({ $0.isDecided }) else { return core.held.withLock { $0.leave(self) } }
    if keepsPermit {
      armRenewal(until: now.advanced(byNanoseconds: Self.holdPatience), of: number)
    } else {
      givePermitBack()
    }
    interceptors?.perform { [self] in await preparation(approach) }
  }

  /// Returns the permit that it keeps while it is prepared again, because another request may need it for that.
  func givePermitBack() {
    guard core.ending == nil, core.gate.expect(wasHere: true) else {
      // It may have started meanwhile.
      return fail(DispatchError(.shutDown)) { $0.renewal != nil }
    }
    guard let (claim, timer) = state.withLock({ $0.givePermitBack() }) else { return core.gate.forgetExpected() }
    if let timer { core.cancel(timer) }
    leaveGate(returning: claim)
    if let mode = core.ending { end(mode) }
  }

  /// Whether the permit that it keeps, if it does, is right for what was prepared, and its end-point has not been stopped
  /// or paused meanwhile.
  private func mayKeepPermit(for prepared: DispatchRequest) -> Bool {
    guard let (ticket, granted) = state.withLock({ state in state.renewal.map { ($0.claim.ticket, state.request) } })
    else { return true }
    return granted.endPoint == prepared.endPoint && granted.scopes == prepared.scopes
      && granted.weights == prepared.weights && ticket.map { core.gate.mayStart($0) } ?? false
  }

  private func preparation(_ approach: GateApproach) async {
    guard let interceptions = state.withLock({ $0.interceptions }) else { return }
    var prepared = interceptions.unprepared
    for (place, interceptor) in core.interceptors.enumerated() {
      do {
        prepared = try await InterceptorTask.work { [prepared, self] in
          var prepared = prepared
          try await interceptor.prepare(&prepared, interception(interceptions, of: place))
          return prepared
        }
      } catch {
        return failed(error, "while preparing the request")
      }
    }
    if !mayKeepPermit(for: prepared) { givePermitBack() }
    let now = core.now
    switch state.withLock({ [prepared] in $0.prepared(prepared, at: now) }) {
    case nil: return
    case .start(let launch, let timer):
      core.held.withLock { $0.prepared(self) }
      if let timer { core.cancel(timer) }
      return start(launch, at: now)
    case .submit: if approach.reason == .interceptor { core.held.withLock { $0.prepared(self) } }
    }
    let refusal = core.gate.outside.returning(self) { [prepared] in
      bring(
        prepared, approach, at: now,
        as: .expected(age: age(at: now), wasAccepted: approach.reason != .submission))
    }
    if let refusal { fail(refusal) }
    if let mode = core.ending { end(mode) }
    stopped()
  }

  /// Keeps a part of a response for the interceptors. Its memory counts as long as it is kept.
  func keep(_ part: OperationState.Delivery, in kept: KeptResponse) -> BodyFlow {
    let flow = kept.add(part)
    if flow == .abort { core.bodies.leave(self) }
    guard flow == .more, case .bytes = part else { return flow }
    return core.bodies.keep(kept.count, of: self)
  }

  private func reviewing(_ kept: KeptResponse, _ end: ExchangeEnd) async {
    guard let interceptions = state.withLock({ $0.interceptions }) else { return }
    for place in kept.reviewers {
      let answer: InterceptorAnswer
      do {
        answer = try await InterceptorTask.work { [self] in
          try await core.interceptors[place].review(kept.response, interception(interceptions, of: place))
        }
      } catch {
        return failed(error, "while reviewing \(kept.response)")
      }
      guard case .resend(let changed) = answer.value else { continue }
      guard state.withLock({ $0.resend(changed, by: place) }) else { return }
      core.bodies.leave(self)
      return await preparation(GateApproach(reason: .interceptor))
    }
    tell(kept, end, at: core.now)
  }

  /// Delivers the response that was withheld.
  private func tell(_ kept: KeptResponse, _ end: ExchangeEnd, at now: Deadline) {
    guard state.withLock({ $0.tell(kept, at: now) }) else { return }
    // It belongs to the sink now, which counts it if it collects it.
    core.bodies.leave(self)
    if let fault = kept.fault {
      fail(fault)
    } else if let head = kept.response.head {
      var flow = told(head)
      let rest = kept.rest
      if !rest.body.isEmpty, flow != .abort { flow = rest.body.withUnsafeBytes { received($0) } }
      if let trailers = rest.trailers, flow != .abort { received(trailers: trailers) }
    }
    settle(end, end.failure == nil && sink.lacksRest ? rest() : nil, at: core.now)
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
    guard interceptions.returns < Self.mostReturns else { return false }
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
