import HTTPTypes
import HeadgateThreads

/// One request on its way through a dispatcher: waiting, running, ended.
///
/// Every form of a request is one of these beneath. The handle is yours to keep: `cancel()` it, or ask what it does.
public final class URLDispatchOperation: Sendable {
  /// The request as it was submitted.
  public let request: DispatchRequest

  /// Its lane.
  public let requestClass: RequestClass

  private let gate: EndPointGate
  private let transport: any Transport
  private let sink: any ResponseSink
  private let submitted: Deadline
  private let state: Locked<OperationState>

  init(
    _ request: DispatchRequest, _ requestClass: RequestClass, _ gate: EndPointGate, _ transport: any Transport,
    _ sink: any ResponseSink
  ) {
    self.request = request
    self.requestClass = requestClass
    self.gate = gate
    self.transport = transport
    self.sink = sink
    self.submitted = gate.timers.now
    self.state = Locked(OperationState(request, submitted: submitted))
  }

  /// Where it is for; after a redirect, where that points.
  public var endPoint: EndPoint { state.withLock { $0.request.endPoint } }

  /// Ends it at once with the error `cancelled`: in the queue its place is free, while running its connection is
  /// closed. Does nothing once it has ended. From any thread.
  public func cancel() { fail(DispatchError(.cancelled)) }

  // MARK: Submission

  /// Brings it to the gate. Refusals come through the sink like every other end.
  func submit(patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool) {
    if let deadline = request.deadline { armDeadline(at: submitted + deadline) }
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
    error.endPoint = error.endPoint ?? endPoint
    let now = gate.timers.now
    guard let consequences = state.withLock({ $0.fail(error, at: now) }) else { return }
    // `running` means that a start is on its way to us, or a redirect is being moved: either finds the verdict.
    if let ticket = consequences.withdraw { _ = gate.withdraw(ticket) }
    consequences.cancel?.cancel()
    if consequences.deliver { deliver() }
  }

  private func deliver() {
    let (verdict, timers, queued, exchange) = state.withLock { state in
      defer {
        state.timeoutTimer = nil
        state.deadlineTimer = nil
        state.idleTimer = nil
      }
      return (state.verdict, [state.timeoutTimer, state.deadlineTimer, state.idleTimer], state.waited, state.times)
    }
    for case let timer? in timers { timer.cancel() }
    let times = DispatchTimes(
      queued: (verdict?.waited ?? queued).inSeconds, total: (gate.timers.now - submitted).inSeconds,
      exchange: exchange)
    sink.end(verdict, times)
  }

  // MARK: Time

  private func armDeadline(at deadline: Deadline) {
    let timer = gate.timers.schedule(at: deadline) { [self] in fail(DispatchError(.deadlineExceeded)) }
    keep(timer) { $0.deadlineTimer = timer }
  }

  /// What is left of the request's `timeout`, counted over the time that it ran only.
  private func armTimeout() {
    guard let timeout = request.timeout else { return }
    let left = state.withLock { timeout - $0.ran }
    let timer = gate.timers.schedule(at: gate.timers.now + left) { [self] in fail(DispatchError(.timedOut)) }
    keep(timer) { $0.timeoutTimer = timer }
  }

  /// The idle limit looks only when it might have passed: no timer is touched when a piece of the body comes.
  private func armIdle(after wait: Duration) {
    let timer = gate.timers.schedule(at: gate.timers.now + wait) { [self] in idleCheck() }
    keep(timer) { $0.idleTimer = timer }
  }

  private func idleCheck() {
    guard let limit = request.idleTimeout else { return }
    let now = gate.timers.now
    let silence = state.withLock { state -> Duration in
      // It rests while the consumer holds the transfer, and while the request waits for a permit.
      if !state.isListening { state.lastActivity = now }
      return now - state.lastActivity
    }
    if silence >= limit { fail(DispatchError(.idleTimedOut)) } else { armIdle(after: limit - silence) }
  }

  /// Keeps a timer for as long as the operation is undecided; lets it go at once when it is not.
  private func keep(_ timer: ScheduledTimer, _ store: (inout OperationState) -> Void) {
    let isKept = state.withLock { state in
      guard !state.isDecided else { return false }
      store(&state)
      return true
    }
    if !isKept { timer.cancel() }
  }

  private func dropTimeout() {
    let timer = state.withLock { $0.timeoutTimer.take() }
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

extension URLDispatchOperation: GateClient {
  package func granted(_ ticket: Ticket) {
    let now = gate.timers.now
    guard state.withLock({ $0.granted(ticket, at: now) }) else { return gate.finish(ticket) }
    armTimeout()
    if let limit = request.idleTimeout, state.withLock({ $0.idleTimer == nil }) { armIdle(after: limit) }
    sink.accepted()
    startExchange()
  }

  package func admitted() { sink.accepted() }
  package func turnedAway() { fail(DispatchError(.shutDown)) }
  package func asked(toEndBecause error: DispatchError) { fail(error) }

  private func startExchange() {
    let (request, hop) = state.withLock { ($0.request, $0.hop) }
    let exchange = Exchange(
      request: request, maxSockets: gate.limits(of: request.endPoint).requests, mayPause: sink.mayPause)
    let control = transport.start(exchange, events: self)
    if state.withLock({ $0.started(control, hop: hop) }) { control.cancel() }
  }
}

// MARK: - The transport's side

extension URLDispatchOperation: ExchangeEvents {
  public func received(_ head: ResponseHead) -> BodyFlow {
    let (request, hops) = state.withLock { ($0.request, $0.hop) }
    if Redirect.isRedirect(head.statusCode), request.maxRedirects > 0, let location = head[.location] {
      guard hops < request.maxRedirects else {
        fail(DispatchError(.tooManyRedirects, phase: .awaitingHead, detail: "\(hops), the last to \(location)"))
        return .abort
      }
      return prepareRedirect(request, head, location)
    }
    if requestClass == .long { dropTimeout() }
    return enterSink { sink throws(DispatchError) in try sink.received(head, url: request.url) }
  }

  public func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    let isRedirect = state.withLock { state in
      if state.redirect != nil { state.drained += bytes.count }
      return state.redirect != nil
    }
    if isRedirect { return redirectBodyFlow() }
    return enterSink { sink throws(DispatchError) in try sink.received(bytes) }
  }

  public func ended(_ end: ExchangeEnd) {
    let next = state.withLock { state in
      state.times = end.times
      return state.redirect
    }
    if let next, follow(next) { return }
    var failure = end.failure
    failure?.endPoint = endPoint
    let now = gate.timers.now
    let (delivers, ticket) = state.withLock { state in (state.ended(failure, at: now), state.ticket) }
    // The permit first: the next request starts here and now, before the caller of this one is told.
    if let ticket { gate.finish(ticket) }
    if delivers { deliver() }
  }

  private func enterSink(_ body: (any ResponseSink) throws(DispatchError) -> BodyFlow) -> BodyFlow {
    let now = gate.timers.now
    guard let resumes = state.withLock({ $0.enterSink(at: now) }) else { return .abort }
    var flow = BodyFlow.abort
    var fault: DispatchError?
    do { flow = try body(sink) } catch { fault = error }
    if let fault { fail(fault) }
    let pausing = flow == .pause
    if state.withLock({ $0.leaveSink(pausing: pausing, resumesBefore: resumes) }) { deliver() }
    return fault == nil ? flow : .abort
  }
}

// MARK: - Redirects

extension URLDispatchOperation {
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
  /// False: it was decided meanwhile.
  private func follow(_ next: DispatchRequest) -> Bool {
    let now = gate.timers.now
    // Noted before the gate is told, since it may grant the new permit before `move` returns.
    switch state.withLock({ $0.follow(next, at: now) }) {
    case nil: return false
    case .same: startExchange()
    case .other:
      dropTimeout()
      guard let ticket = state.withLock({ $0.ticket }) else { return false }
      // Refused: the gate closes, or a verdict came since and has withdrawn the ticket, which still holds the permit.
      if case .refused = gate.move(ticket, to: next.endPoint) {
        fail(DispatchError(.shutDown))
        gate.finish(ticket)
      }
    }
    return true
  }
}
