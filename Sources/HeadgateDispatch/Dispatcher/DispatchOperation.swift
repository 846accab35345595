import HTTPTypes
import HeadgateThreads

/// One request on its way through a dispatcher: waiting, running, ended.
///
/// Every form of a request is one of these beneath. The gate, the transport and the timers call it; its state decides what
/// follows.
final class DispatchOperation: Sendable {
  /// The request as it was submitted.
  let request: DispatchRequest

  /// Its lane.
  let requestClass: RequestClass

  private let gate: EndPointGate
  private let transport: any Transport
  private let sink: any ResponseSink
  private let ledger: Ledger
  private let submitted: Deadline
  private let state: Locked<OperationState>

  init(
    _ request: DispatchRequest, _ requestClass: RequestClass, _ gate: EndPointGate, _ transport: any Transport,
    _ sink: any ResponseSink, _ ledger: Ledger
  ) {
    self.request = request
    self.requestClass = requestClass
    self.gate = gate
    self.transport = transport
    self.sink = sink
    self.ledger = ledger
    ledger.enter()
    self.submitted = gate.timers.now
    self.state = Locked(OperationState(request, submitted: submitted))
  }

  /// Where it is for; after a redirect, where that points.
  var endPoint: EndPoint { state.withLock { $0.request.endPoint } }

  /// Ends it at once with the error `cancelled`: in the queue its place is free, while running its connection is
  /// closed. Does nothing once it has ended. From any thread.
  func cancel() { fail(DispatchError(.cancelled)) }

  // MARK: Submission

  /// Brings it to the gate. Refusals come through the sink like every other end.
  func submit(patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool) {
    if let deadline = state.withLock({ $0.deadline }) { armDeadline(at: deadline) }
    switch gate.submit(self, to: request.endPoint, requestClass, patience: patience, mayBeHeld: mayBeHeld) {
    case .accepted(let ticket):
      if let late = state.withLock({ $0.accepted(ticket) }) { _ = gate.withdraw(late) }
      sink.accepted()
    case .held(let ticket):
      if let late = state.withLock({ $0.accepted(ticket) }) { _ = gate.withdraw(late) }
    case .refused(.queueFull): fail(DispatchError(.refused))
    case .refused(.longLaneFull): fail(DispatchError(.longLaneFull))
    case .refused(.shutDown): fail(DispatchError(.shutDown))
    }
  }

  /// A verdict from outside: a cancel, a limit on time, a fault of the sink.
  func fail(_ reason: DispatchError) {
    var error = reason
    if error.endPoint == nil { error.endPoint = endPoint }
    let now = gate.timers.now
    let phase = state.withLock { $0.control }?.phase
    guard let consequences = state.withLock({ $0.fail(error, phase: phase, at: now) }) else { return }
    // `running` means that a start is on its way to us, or a redirect is being moved: either finds the verdict.
    if let ticket = consequences.withdraw { _ = gate.withdraw(ticket) }
    consequences.cancel?.cancel()
    if consequences.deliver { deliver(at: now) }
  }

  private func deliver(at now: Deadline) {
    let (verdict, timers, queued, exchange) = state.withLock { state in
      (
        state.verdict, state.takeTimers(), state.waited, state.times
      )
    }
    timers?.cancel()
    let times = DispatchTimes(
      queued: Double(verdict?.waited.wholeNanoseconds ?? queued) / 1e9,
      total: Double(now.nanoseconds(since: submitted)) / 1e9, exchange: exchange)
    sink.end(verdict, times) { [ledger] in ledger.leave() }
  }

  // MARK: Time

  private func armDeadline(at deadline: Deadline) {
    keep(gate.timers.schedule(at: deadline) { [self] in fail(DispatchError(.deadlineExceeded)) }, as: .deadline)
  }

  /// What is left of the request's `timeout`, counted over the time that it ran only.
  private func armTimeout(from now: Deadline, after ran: Int64, hop: Int) {
    guard let timeout = request.fields.timeoutNanoseconds else { return }
    let end = now.advanced(byNanoseconds: timeout.subtractingReportingOverflow(ran).partialValue)
    keep(gate.timers.schedule(at: end) { [self] in fail(DispatchError(.timedOut)) }, as: .timeout, hop: hop)
  }

  /// The idle limit looks only when it might have passed: no timer is touched when a piece of the body comes.
  private func armIdle(from now: Deadline, after wait: Int64) {
    keep(gate.timers.schedule(at: now.advanced(byNanoseconds: wait)) { [self] in idleCheck() }, as: .idle)
  }

  private func idleCheck() {
    guard let limit = request.fields.idleNanoseconds else { return }
    let now = gate.timers.now
    let silence = state.withLock { state -> Int64 in
      // It rests while the consumer holds the transfer, and while the request waits for a permit.
      if !state.isListening { state.lastActivity = now }
      return now.nanoseconds(since: state.lastActivity)
    }
    if silence >= limit { fail(DispatchError(.idleTimedOut)) } else { armIdle(from: now, after: limit - silence) }
  }

  /// Keeps a timer for as long as the operation is undecided; lets it go at once when it is not.
  private func keep(_ timer: ScheduledTimer, as kind: OperationTimers.Kind, hop: Int = 0) {
    let superfluous = state.withLock { $0.keep(timer, as: kind, hop: hop) }
    superfluous?.cancel()
  }

  private func dropTimeout() {
    let timer = state.withLock { $0.takeTimeout() }
    timer?.cancel()
  }

  // MARK: The consumer

  /// The consumer has room again.
  func resume() {
    let now = gate.timers.now
    let control = state.withLock { $0.resumed(at: now) }
    control?.resume()
  }
}

// MARK: - The gate's side

extension DispatchOperation: GateClient {
  package func granted(_ ticket: Ticket, maxSockets: Int) {
    let now = gate.timers.now
    guard state.withLock({ $0.granted(ticket, maxSockets: maxSockets, at: now) }) else { return gate.finish(ticket) }
    sink.accepted()
    startExchange(at: now)
  }

  package func admitted() { sink.accepted() }
  package func turnedAway() { fail(DispatchError(.shutDown)) }
  package func asked(toEndBecause error: DispatchError) { fail(error) }

  /// Starts the exchange, then its clocks: a transport that completes inside the start needs none.
  private func startExchange(at now: Deadline) {
    let (request, hop, maxSockets) = state.withLock { ($0.request, $0.hop, $0.maxSockets) }
    let control = transport.start(
      Exchange(request: request, maxSockets: maxSockets, mayPause: sink.mayPause), events: self)
    let (start, needsTimeout, needsIdle, ran) = state.withLock { state in
      (state.started(control, hop: hop, at: now), state.needsTimeout, state.needsIdle, state.ran)
    }
    switch start {
    case .past: break
    case .unwanted: control.cancel()
    case .running(let mustResume):
      if mustResume { control.resume() }
      if needsTimeout { armTimeout(from: now, after: ran, hop: hop) }
      if needsIdle, let limit = request.fields.idleNanoseconds { armIdle(from: now, after: limit) }
    }
  }
}

// MARK: - The transport's side

extension DispatchOperation: ExchangeEvents {
  func received(_ head: ResponseHead) -> BodyFlow {
    let (request, hops) = state.withLock { ($0.request, $0.hop) }
    if Redirect.isRedirect(head.statusCode), request.maxRedirects > 0, let location = head[.location] {
      guard hops < request.maxRedirects else {
        fail(DispatchError(.tooManyRedirects, phase: .awaitingHead, detail: "\(hops), the last to \(location)"))
        return .abort
      }
      return prepareRedirect(request, head, location)
    }
    if requestClass == .long {
      state.withLock { $0.timeoutIsOver = true }
      dropTimeout()
    }
    return enterSink { sink throws(DispatchError) in try sink.received(head, url: request.url) }
  }

  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    let isRedirect = state.withLock { state in
      if state.redirect != nil { state.drained += bytes.count }
      return state.redirect != nil
    }
    if isRedirect { return redirectBodyFlow() }
    return enterSink { sink throws(DispatchError) in try sink.received(bytes) }
  }

  func ended(_ end: ExchangeEnd) {
    let now = gate.timers.now
    conclude(state.withLock { $0.ended(end, at: now) }, at: now)
  }

  private func conclude(_ ending: OperationState.Ending, at now: Deadline) {
    switch ending {
    case .goesOn(let next): follow(next, at: now)
    case .over(let ticket, let delivers):
      // The permit first: the next request starts here and now, before the caller of this one is told.
      if let ticket { gate.finish(ticket) }
      if delivers { deliver(at: now) }
    }
  }

  private func enterSink(_ body: (any ResponseSink) throws(DispatchError) -> BodyFlow) -> BodyFlow {
    let now = gate.timers.now
    guard let resumes = state.withLock({ $0.enterSink(at: now) }) else { return .abort }
    var flow = BodyFlow.abort
    var fault: DispatchError?
    do { flow = try body(sink) } catch { fault = error }
    if let fault { fail(fault) }
    let pausing = flow == .pause
    if state.withLock({ $0.leaveSink(pausing: pausing, resumesBefore: resumes) }) { deliver(at: now) }
    return fault == nil ? flow : .abort
  }
}

// MARK: - Redirects

extension DispatchOperation {
  // A redirect's body is read to its end if it is short, so that the connection can be used again.
  private static let mostDrained = 65536

  private func prepareRedirect(_ request: DispatchRequest, _ head: ResponseHead, _ location: String) -> BodyFlow {
    do {
      let next = try Redirect.next(after: request, status: head.statusCode, location: location)
      state.withLock { $0.redirect = next }
      let declared = head[.contentLength].flatMap { Int($0) } ?? 0
      return declared > Self.mostDrained ? .abort : .more
    } catch {
      fail(error)
      return .abort
    }
  }

  private func redirectBodyFlow() -> BodyFlow {
    state.withLock { $0.drained > Self.mostDrained } ? .abort : .more
  }

  /// The old exchange is over: goes on under the same permit, or gives it back and waits for the other end-point's.
  private func follow(_ next: DispatchRequest, at now: Deadline) {
    // Noted before the gate is told, since it may grant the new permit before `move` returns.
    switch state.withLock({ $0.follow(next, at: now) }) {
    case nil: conclude(state.withLock { $0.over(at: now) }, at: now)
    case .same: startExchange(at: now)
    case .other:
      dropTimeout()
      guard let ticket = state.withLock({ $0.ticket }) else { return }
      // Refused: the gate closes, or a verdict came since and has withdrawn the ticket, which still holds the permit.
      if case .refused = gate.move(ticket, to: next.endPoint) {
        fail(DispatchError(.shutDown))
        gate.finish(ticket)
      }
    }
  }
}
