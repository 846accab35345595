import HTTPTypes
import HeadgateFlow
import HeadgateThreads

/// One request on its way through a dispatcher: waiting, running, ended.
///
/// Every public form of a request is based on it. The gate, the transport, the timers and the consumer call it. Each
/// call is an event for its ``OperationState``, handled under one hold of the lock. The resulting action is performed
/// here, with no lock held.
final class DispatchOperation: Sendable {
  /// The request as it was submitted.
  let request: DispatchRequest

  let core: DispatchCore
  let state: Locked<OperationState>
  let sink: any ResponseSink
  /// Counts the sent bytes of its body. Nil for a request without a body.
  let meter: UploadMeter?
  /// Counts the bytes of its response. Nil for a request without a limit on them.
  let download: DownloadMeter?
  /// The time of the submission. For a request sent on behalf of another, that of the other one.
  let submitted: Deadline
  let deadline: Deadline?
  /// The longest silence while it runs, in nanoseconds. Nil: no limit.
  let idleLimit: Int64?
  /// The observers, if any are interested.
  let observation: Observation?
  /// Whether observers or the log receive its events.
  let isWatched: Bool
  private let isOnBehalf: Bool
  /// Whether the work of an interceptor waits for it.
  private let isForInterceptor: Bool
  /// Runs the interceptors. Nil without interceptors.
  let interceptors: InterceptorTask?
  /// Set when it has its place in the queue. Nil if its caller does not wait for that.
  let acceptance: OneShot<Void>?

  /// Creates an operation for a request. Observers may add header fields to the request.
  ///
  /// - Parameters:
  ///   - age: The submission time of the request on whose behalf an interceptor sends this one, which no interceptor
  ///     processes. Nil if none does.
  ///   - isEnqueued: Whether its caller waits until it has its place in the queue.
  init(
    _ request: DispatchRequest, _ lane: RequestLane, _ core: DispatchCore, _ sink: any ResponseSink,
    age: Deadline? = nil, isEnqueued: Bool = false
  ) {
    let now = core.now
    var request = request
    observation = core.observers.isEmpty ? nil : Observation.begin(&request, lane, core, at: now)
    isWatched = observation != nil || HeadgateLog.isEnabled(.dispatcher)
    isOnBehalf = age != nil
    let isIntercepted = !isOnBehalf && !core.interceptors.isEmpty
    isForInterceptor = isOnBehalf || isIntercepted && InterceptorTask.isCurrent
    interceptors = isIntercepted ? InterceptorTask() : nil
    submitted = age ?? now
    deadline = request.fields.deadlineNanoseconds.map { now.advanced(byNanoseconds: $0) }
    idleLimit = request.fields.idleNanoseconds(usually: lane == .short ? sink.usualIdleLimit : nil)
    // An interceptor may add a body.
    meter = request.fields.hasBody || isIntercepted ? UploadMeter(core) : nil
    download = request.fields.hasDownloadLimits ? DownloadMeter(request.fields) : nil
    state = Locked(
      OperationState(
        request, lane, isIntercepted: isIntercepted, submitted: now, deadline: deadline,
        timeoutEndsWithHead: request.fields.rare.timeoutEndsWithHead ?? sink.timeoutEndsWithHead))
    self.request = request
    self.sink = sink
    self.core = core
    acceptance = isEnqueued ? OneShot() : nil
    core.operations.add()
  }

  /// The end-point; after a redirect, that of the new URL.
  var endPoint: EndPoint { state.withLock { $0.request }.endPoint }

  /// The current priority.
  var priority: RequestPriority { state.withLock { $0.priority } ?? request.priority }

  /// Changes the priority. Has no effect after the end.
  func setPriority(_ priority: RequestPriority) {
    let ticket = state.withLock { state in
      state.priority = priority
      return state.ticket
    }
    // Without a ticket it is on its way to the gate: the thread that submits it checks again.
    if let ticket { core.gate.setPriority(of: ticket) { self.priority } }
  }

  /// Why it waits: in the queue, or for a shared permit. Nil if it does not.
  var waitReason: WaitReason? {
    let ticket = state.withLock { $0.ticket }
    return ticket.flatMap { core.gate.waitReason(of: $0) }
  }

  /// Corrects its weight.
  func settle(_ weights: [String: Int]) -> Bool {
    state.withLock { $0.weight }?.settle(weights) ?? false
  }

  /// Moves it to the long lane, if there is a free place. Returns true if it is in the long lane afterwards.
  func moveToLong() -> Bool {
    guard let ticket = state.withLock({ $0.ticket }) else { return false }
    switch core.gate.reclass(ticket) {
    case .stays: return true
    case .refused, .gone: return false
    case .moved:
      if let timeout = state.withLock({ $0.becameLong() }) { core.cancel(timeout) }
      core.bodies.becameLong(self)
      return true
    }
  }

  /// Ends it at once with the error `cancelled`. A waiting request leaves the queue, and a running one closes its
  /// connection. Has no effect after the end. Thread-safe.
  func cancel() { fail(DispatchError(.cancelled)) }

  /// Ends it for a reason outside the exchange: a cancellation, a time limit, an error of the sink.
  ///
  /// - Parameter condition: It is left alone if this does not hold any more. Called under its lock.
  func fail(_ reason: DispatchError, if condition: (borrowing OperationState) -> Bool = { _ in true }) {
    let now = core.now
    let (control, open) = state.withLock { ($0.control, $0.openWait) }
    let phase = control?.phase
    var wait = open
    wait?.times = open.map { core.gate.waits(of: $0.ticket, at: now) } ?? WaitTimes()
    let ended = wait
    let action = state.withLock { state in
      condition(state) ? state.fail(reason, phase: phase, after: ended, at: now) : nil
    }
    if let action { perform(action, at: now) }
  }

  /// A shutdown ends it. It may have been granted its permit meanwhile: only `now` ends a request that runs.
  func end(_ mode: ShutdownMode) { fail(DispatchError(.shutDown)) { mode == .now || $0.isWaiting } }

  // MARK: Submission

  /// Submits it to the gate. Refusals are delivered to the sink, like every other end.
  func submit(patience: Patience, mayBeHeld: Bool) {
    if let refusal = offer(patience: patience, mayBeHeld: mayBeHeld) { fail(refusal) }
  }

  /// Submits it to the gate. If the gate refuses it, returns the error, and the caller must end it.
  func offer(patience: Patience, mayBeHeld: Bool) -> DispatchError? {
    // An observed operation is counted twice, because the observers' last call is counted too.
    guard !core.isClosed || isOnBehalf && core.operations.hasOthers(beside: observation == nil ? 1 : 2) else {
      return DispatchError(.shutDown, endPoint: request.endPoint)
    }
    // Told like any other end, so that a delegate hears of it too.
    if let code = expiredLimit { fail(DispatchError(code, detail: "no time was left")) }
    // A request that was cancelled on its way takes no place in a full queue from another one.
    guard !state.withLock({ $0.isDecided }) else { return nil }
    if case .shared(let budget)? = request.fields.retry?.budget { budget.deposit() }
    if let deadline { armDeadline(at: deadline) }
    let approach = GateApproach(reason: .submission, patience: patience, mayBeHeld: mayBeHeld)
    let refusal: DispatchError?
    if interceptors != nil {
      refusal = offerToInterceptors(approach)
    } else {
      refusal = bring(
        request, approach, at: isOnBehalf ? core.now : submitted,
        as: isOnBehalf ? .onBehalf(age: submitted.nanoseconds) : .new)
    }
    if let refusal { return refusal }
    // A dispatcher that shares its gate may have closed while this request was on its way to the gate, and missed it.
    if isOnBehalf { stopped() } else if core.isClosed { end(core.ending ?? .drain) }
    return nil
  }

  /// The code of a time limit that is over before the request begins. Nil if none is. Not a property of the fields, which
  /// would all be copied for the call.
  private var expiredLimit: DispatchError.Code? {
    if let deadline = request.fields.deadline, deadline <= .zero { return .deadlineExceeded }
    if let timeout = request.fields.timeout, timeout <= .zero { return .timedOut }
    return nil
  }

  private func offerToInterceptors(_ approach: GateApproach) -> DispatchError? {
    if approach.patience == .needsLongPlace, state.withLock({ $0.lane }) == .long,
      !core.gate.isLongRequestAllowed(at: request.endPoint)
    {
      return DispatchError(core.gate.isClosing ? .shutDown : .longLaneFull, endPoint: request.endPoint)
    }
    return prepare(approach) ? nil : DispatchError(.shutDown, endPoint: request.endPoint)
  }

  /// Submits the current request to the gate, for its first attempt or another. If the gate refuses it, returns the
  /// error.
  func bring(
    _ request: DispatchRequest, _ approach: GateApproach, at now: Deadline,
    as admission: Admission
  ) -> DispatchError? {
    observeWaiting(request, approach.reason, at: now)
    if isForInterceptor {
      core.held.withLock { $0.submits(self) }
      // A decision before that found nothing to remove.
      if state.withLock({ $0.isDecided }) { core.held.withLock { $0.leave(self) } }
    }
    let (lane, priority, number) = state.withLock { ($0.lane, $0.priority, $0.nextSubmission()) }
    switch core.gate.submit(
      self, to: request.endPoint, lane, priority: priority ?? self.request.priority, patience: approach.patience,
      mayBeHeld: approach.mayBeHeld, at: now, as: admission,
      needs: .of(
        request.fields.rare.scopes, request.fields.rare.weights,
        needsSocket: core.streamsNeedSockets
          && (lane == .long || sink.mayPause || core.gate.bandwidth.limits(request.endPoint))),
      until: deadline ?? .distantFuture)
    {
    case .started: break
    case .accepted(let ticket):
      accepted(ticket, of: number)
      acceptance?.set()
    case .held(let ticket): accepted(ticket, of: number)
    case .refused(let refusal): return refusal.error(at: request.endPoint)
    }
    return nil
  }

  /// It waits in the queue. Changes requested on the way there take effect now.
  private func accepted(_ ticket: Ticket, of submission: Int) {
    observeReason(ticket)
    let (late, priority) = state.withLock { ($0.accepted(ticket, of: submission), $0.priority) }
    if let late { core.gate.withdraw(late) }
    if isForInterceptor { for holder in core.held.withLock({ $0.waits(self) }) { holder.givePermitBack() } }
    if priority != nil { core.gate.setPriority(of: ticket) { self.priority } }
  }

  // MARK: Actions

  /// Performs what the state has decided.
  func perform(_ action: consuming OperationState.Action, at now: Deadline) {
    if let timer = action.timer { core.cancel(timer) }
    // Nothing is missed: an exchange that is still `starting`, or a ticket that is being moved, finds the decision
    // later.
    if let ticket = action.withdrawn { core.gate.withdraw(ticket) }
    action.exchange?.cancel()
    if action.cancelsWork { interceptors?.cancel() }
    if let claim = action.released { release(claim) }
    if let next = action.next.take() { perform(next, at: now) }
  }

  func perform(_ next: consuming OperationState.Next, at now: Deadline) {
    switch consume next {
    case .start(let launch):
      // At the same end-point the held permit is enough, unless each start is counted there. While the dispatcher
      // closes, running requests are finished without that count.
      if let reason = launch.resending, !isClosing, countsStarts {
        return perform(state.withLock { $0.waitsAgain(reason, at: now) }, at: now)
      }
      start(launch, at: now)
    case .move(let ticket, let request, let reason): move(ticket, to: request, reason, at: now)
    case .backOff(let wait, let claim): backOff(for: wait, returning: claim, at: now)
    case .comeBack: comeBack(at: now)
    case .yield(let work): yield(to: work, at: now)
    case .renew(let number): renew(number, at: now)
    case .intercept(let work, let claim): intercept(work, returning: claim, at: now)
    case .resume: resume()
    case .deliver(let outcome): deliver(outcome)
    }
  }

  func release(_ claim: OperationState.Claim) {
    switch claim {
    case .permit(let ticket): core.gate.finish(ticket)
    case .unusedPermit(let ticket): core.gate.decline(ticket)
    case .expectation: core.gate.forgetExpected()
    }
  }

  private func deliver(_ outcome: OperationState.Outcome) {
    if !outcome.timers.isEmpty { outcome.timers.cancel(on: core.gate.timers) }
    if let timer = download?.end() { core.cancel(timer) }
    if request.fields.mayRetry || interceptors != nil { core.gate.outside.remove(self) }
    if interceptors != nil { core.bodies.leave(self) }
    if interceptors != nil || isForInterceptor { core.held.withLock { $0.leave(self) } }
    interceptors?.finish()
    observeEnd(outcome)
    DeliveryFrame.mark(core.gateIdentity) {
      acceptance?.set()
      sink.end(outcome, of: self)
    }
  }

  /// Whether each of its starts is counted.
  private var countsStarts: Bool { state.withLock { $0.ticket }.map { core.gate.countsStarts(of: $0) } ?? false }

  private func move(
    _ ticket: Ticket, to next: DispatchRequest, _ reason: WaitingStart.Reason, at now: Deadline
  ) {
    observeWaiting(next, reason, at: now)
    switch core.gate.move(ticket, to: next.endPoint, until: deadline ?? .distantFuture) {
    case .stays:
      // Under the permit of the last exchange, which was sent and stays counted.
      guard let launch = state.withLock({ $0.granted(ticket, isFirst: false, at: now) }) else {
        return core.gate.finish(ticket)
      }
      start(launch, at: now)
    case .refused(let refusal):
      // It still holds the permit, even if a decision has withdrawn the ticket in the meantime.
      fail(refusal.error(at: next.endPoint))
      core.gate.finish(ticket)
    case .moved:
      observeReason(ticket)
      stopped()
    }
  }

  private func backOff(for wait: Duration, returning claim: OperationState.Claim, at now: Deadline) {
    observeBackoff(wait, at: now)
    leaveGate(returning: claim)
    let attempts = state.withLock { $0.attempts }
    armBackoff(until: now + wait, after: attempts)
    if isClosing { fail(DispatchError(.shutDown)) }
  }

  /// Returns what the gate counts it as. It is registered as outside before the gate forgets it, so that a shutdown
  /// finds it in one of the two.
  func leaveGate(returning claim: OperationState.Claim?) {
    core.gate.outside.add(self)
    // A decision before `add` found nothing to remove. Removed before the claim is returned, after which a shutdown may
    // end.
    if state.withLock({ $0.isDecided }) { core.gate.outside.remove(self) }
    if let claim { release(claim) }
  }

  /// The backoff is over.
  private func comeBack(at now: Deadline) {
    let approach = GateApproach(reason: .retry)
    if interceptors != nil {
      if !prepare(approach) { fail(DispatchError(.shutDown)) }
      return
    }
    let request = state.withLock { $0.request }
    let refusal = core.gate.outside.returning(self) {
      bring(request, approach, at: now, as: .returning(age: age(at: now)))
    }
    if let refusal { fail(refusal) }
    stopped()
  }

  /// Its age in the queue: that of its submission. One that was refused again goes behind those that wait now, so that
  /// the next probe is another one. The end-point may refuse this one alone, and must not be given up for that.
  func age(at now: Deadline) -> UInt64 {
    let isRefusedAgain = state.withLock { $0.deferral.map { $0.count > 1 } ?? false }
    return (isRefusedAgain ? now : submitted).nanoseconds
  }

  /// Whether nothing is sent again, because the dispatcher or its gate is closed.
  var isClosing: Bool { core.isClosed || core.gate.isClosing }

  /// - Parameter isLimited: Whether any bandwidth is limited, if that was asked before. After a grant, nothing may come
  ///   before the start.
  func start(_ launch: Launch, at now: Deadline, isLimited: Bool? = nil) {
    observeSending(launch, at: now)
    let throttle = isLimited == false ? nil : Throttle(self, to: launch.request.endPoint, as: .response)
    var exchange = Exchange(
      request: launch.request, mayPause: sink.mayPause || throttle != nil, isLong: launch.isLong)
    exchange.needsNewConnection = launch.needsNewConnection
    exchange.hasIdleLimit = idleLimit != nil
    // Ends like an exchange that a transport ends inside its start.
    if let failure = exchange.unmet(by: core.capabilities, isThrottled: throttle != nil) {
      return ended(ExchangeEnd(failure: failure, wasSent: false))
    }
    if let download, download.begins() { armInterval(download, from: now) }
    let control = carry(exchange, under: throttle)
    switch state.withLock({ $0.started(control, number: launch.number, at: now) }) {
    case .past: break
    case .unwanted: control.cancel()
    case .running(let mustResume, let timeout, let needsIdle):
      if mustResume { control.resume() }
      if let timeout { armTimeout(timeout, from: now) }
      if needsIdle, let limit = idleLimit { armIdle(from: now, after: limit) }
    }
  }

  /// Passes an exchange to the transport, through what limits and prepares it.
  private func carry(_ exchange: Exchange, under throttle: Throttle?) -> any ExchangeControl {
    guard let throttle else { return carry(exchange, telling: self) }
    let throttled = ThrottledExchange(throttle, exchange.request.method)
    throttled.started(carry(exchange, telling: throttled))
    return throttled
  }

  private func carry(_ exchange: Exchange, telling events: any ExchangeEvents) -> any ExchangeControl {
    guard let meter, let body = exchange.request.body, exchange.request.method != .head else {
      return core.transport.start(exchange, events: events)
    }
    let report = UploadReport(meter: meter, throttle: Throttle(self, to: exchange.request.endPoint, as: .body)) {
      [self] progress in uploaded(progress)
    }
    let prepared = PreparedExchange(exchange, body, report, core.transport, events)
    prepared.start()
    return prepared
  }

  private func uploaded(_ progress: TransferProgress) {
    guard !state.withLock({ $0.isDecided }) else { return }
    DeliveryFrame.mark(core.gateIdentity) {
      sink.sent(progress)
      request.onUploadProgress?(progress)
    }
  }
}

// MARK: - The gate's side

extension DispatchOperation: GateClient {
  package func granted(_ ticket: Ticket, at moment: Deadline?) {
    let now = moment ?? core.now
    let isLimited = core.gate.bandwidth.isInUse
    guard let launch = state.withLock({ $0.granted(ticket, at: now) }) else {
      return core.gate.decline(ticket)
    }
    acceptance?.set()
    if isForInterceptor { core.held.withLock { $0.leave(self) } }
    if launch.request.fields.hasWeights {
      let weight = SentWeight(core.gate, ticket)
      state.withLock { $0.weight = weight }
    }
    if let interceptions = launch.interceptions, isOutdated(launch.request, interceptions) {
      return perform(state.withLock { $0.outdated(at: now) }, at: now)
    }
    start(launch, at: now, isLimited: isLimited)
  }

  package func waited(_ times: WaitTimes) { state.withLock { $0.waited(times) } }
  package func refused(_ error: DispatchError) { fail(error) { $0.isWaiting } }
  package func admitted() { acceptance?.set() }
  package func asked(toEndBecause code: DispatchError.Code) { fail(DispatchError(code)) }

  /// A dispatcher that drains on a shared gate does not wait for a request that would never run. Called when its
  /// end-point is stopped, and when it comes to another end-point, which may have been stopped before.
  package func stopped() {
    // Interceptors need no permit. A request that they send again comes here when it is back at the gate.
    guard core.isClosed, core.gate.isStopped(endPoint), !state.withLock({ $0.isIntercepted }) else { return }
    fail(DispatchError(.shutDown)) { $0.isWaiting }
  }

  package func paused(_ reason: WaitReason, failsWaitingRequests: Bool) {
    // It may have been granted its permit in the meantime.
    if failsWaitingRequests {
      fail(DispatchError(reason.codeOfEnd, waitReason: reason)) { $0.isWaiting }
    } else if let deadline, let until = reason.until, until >= deadline {
      fail(DispatchError(.pausedUntil, waitReason: reason)) { $0.isWaiting }
    }
  }
}
