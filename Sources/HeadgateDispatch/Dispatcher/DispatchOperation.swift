import CHeadgate
import HTTPTypes
import HeadgateThreads

/// One request on its way through a dispatcher: waiting, running, ended.
///
/// Every form of a request is one of these beneath. The gate, the transport and the timers call it; its state decides what
/// follows.
// Unchecked, as a class that another one inherits from has to be: all of it is constant and may be sent. Rejected: what
// observers need as an optional part, which every request that waits would pay for.
class DispatchOperation: @unchecked Sendable {
  /// The request as it was submitted.
  let request: DispatchRequest

  let core: DispatchCore
  let state: Locked<OperationState>
  let sink: any ResponseSink
  /// Counts what is sent of its body; nil for a request that has none.
  let meter: UploadMeter?
  /// Counts what comes of its response; nil for a request without a limit on that.
  let download: DownloadMeter?
  /// When it was submitted; for one on behalf of another, when that was.
  let submitted: Deadline
  let submittedClass: RequestLane
  /// Whether observers hear of it: then it is an ``ObservedOperation``. Most often nobody does.
  let isObserved: Bool
  /// Whether anybody hears of it, observers or the log.
  let isWatched: Bool
  /// Whether interceptors have to do with it.
  let kind: Kind

  /// What interceptors have to do with a request.
  enum Kind {
    /// Nothing: there are none.
    case plain
    /// They prepare it, and look at what comes of it.
    case intercepted
    /// One of them sends it, and none works on it.
    case onBehalf
  }

  /// An operation for a request, which observers may put header fields into.
  ///
  /// - Parameter age: When the request was submitted that this one is on behalf of.
  @inline(__always)
  static func make(
    _ request: DispatchRequest, _ lane: RequestLane, _ core: consuming DispatchCore,
    _ sink: consuming any ResponseSink, _ kind: Kind = .plain, age: Deadline? = nil
  ) -> DispatchOperation {
    let now = core.now
    guard core.hasObservers else {
      return DispatchOperation(request, lane, core, sink, kind, age: age, at: now)
    }
    return makeObserved(request, lane, core, sink, kind, age: age, at: now)
  }

  @inline(never)
  private static func makeObserved(
    _ request: DispatchRequest, _ lane: RequestLane, _ core: consuming DispatchCore,
    _ sink: consuming any ResponseSink, _ kind: Kind, age: Deadline?, at now: Deadline
  ) -> DispatchOperation {
    var request = request
    guard let beginning = Observation.begin(&request, lane, core, at: now) else {
      return DispatchOperation(request, lane, core, sink, kind, age: age, at: now)
    }
    return ObservedOperation(beginning, request, lane, core, sink, kind, age: age, at: now)
  }

  // Only an `ObservedOperation` is observed. Core and sink are handed over, and the core is stored last: else each would be
  // counted once more and once less.
  init(
    _ request: DispatchRequest, _ lane: RequestLane, _ core: consuming DispatchCore,
    _ sink: consuming any ResponseSink, _ kind: Kind, age: Deadline?, at now: Deadline, isObserved: Bool = false
  ) {
    self.kind = kind
    submitted = age ?? now
    self.request = request
    self.isObserved = isObserved
    isWatched = isObserved || HeadgateLog.isEnabled(.dispatcher)
    submittedClass = lane
    self.sink = sink
    // An interceptor may give it one.
    meter = request.fields.hasBody || kind == .intercepted ? UploadMeter(copy core) : nil
    download = request.fields.hasDownloadLimits ? DownloadMeter(request.fields) : nil
    let deadline = request.fields.deadlineNanoseconds.map { now.advanced(byNanoseconds: $0) }
    state = Locked(OperationState(lane, submitted: now, deadline: deadline))
    core.owe()
    self.core = core
  }

  /// Where it is for; after a redirect, where that points.
  var endPoint: EndPoint { (state.withLock { $0.later } ?? request).endPoint }

  /// Whether it stands in the queue.
  var isWaiting: Bool { state.withLock { $0.isWaiting } }

  /// How urgent it is now.
  var priority: RequestPriority { state.withLock { $0.priority } ?? request.priority }

  /// Makes it more or less urgent. Does nothing once it has ended.
  func setPriority(_ priority: RequestPriority) {
    let ticket = state.withLock { state in
      state.priority = priority
      return state.ticket
    }
    // Without a ticket it is on its way to the gate: whoever brings it there looks again.
    if let ticket { _ = core.gate.setPriority(priority, of: ticket) }
  }

  /// Ends it at once with the error `cancelled`: in the queue its place is free, while running its connection is
  /// closed. Does nothing once it has ended. From any thread.
  func cancel() { fail(DispatchError(.cancelled)) }

  /// Tells its observers what happened. Here nobody hears of it.
  func tell(_ event: SpanTree.Event, at moment: Deadline) {}

  /// Another request than the one that was submitted, as its observers see it.
  func observed(_ later: DispatchRequest) -> ObservedRequest? { nil }

  // MARK: Submission

  /// Brings it to the gate. Refusals come through the sink like every other end.
  func submit(patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool) {
    if let refusal = offer(patience: patience, mayBeHeld: mayBeHeld) { fail(refusal) }
  }

  /// Brings it to the gate. Returns why that did not take it: then the caller ends it.
  func offer(patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool) -> DispatchError? {
    // One that is observed is owed twice: its observers' last call is owed too.
    guard !core.isClosed || kind == .onBehalf && core.ledger.hasOthers(beside: isObserved ? 2 : 1) else {
      return DispatchError(.shutDown, endPoint: request.endPoint)
    }
    if request.fields.mayRetry { enterBudget() }
    if request.fields.deadlineNanoseconds != nil, let deadline = state.withLock({ $0.deadline }) {
      armDeadline(at: deadline)
    }
    let refusal: DispatchError?
    if kind == .intercepted {
      refusal = offerForPreparing(patience: patience, mayBeHeld: mayBeHeld)
    } else {
      let now = kind == .plain ? submitted : core.now
      observeWaiting(request, .submission, at: now)
      refusal = bring(
        request, submittedClass, request.priority, patience: patience, mayBeHeld: mayBeHeld, at: now,
        as: kind == .plain ? .new : .onBehalf(age: submitted.nanoseconds))
    }
    if let refusal { return refusal }
    // A dispatcher that shares its gate may have closed since: it can't have seen this one.
    if core.isClosed, kind != .onBehalf { fail(DispatchError(.shutDown)) }
    return nil
  }

  /// Brings what it asks for now, for its first attempt or another, to the gate. Returns why that did not take it.
  func bring(
    _ request: DispatchRequest, _ lane: RequestLane, _ priority: RequestPriority,
    patience: Scheduler<any GateClient>.Patience, mayBeHeld: Bool, at now: Deadline,
    as admission: Scheduler<any GateClient>.Admission = .new
  ) -> DispatchError? {
    switch core.submit(
      self, request, lane, priority: priority, patience: patience, mayBeHeld: mayBeHeld, at: now, as: admission)
    {
    case .started: break
    case .accepted(let ticket):
      accepted(ticket)
      sink.accepted()
    case .held(let ticket): accepted(ticket)
    case .refused(let refusal): return DispatchError(refusal.code, endPoint: request.endPoint)
    }
    return nil
  }

  /// It stands in the queue. What was asked of it on the way there is done now.
  private func accepted(_ ticket: Ticket) {
    let (late, priority) = state.withLock { ($0.accepted(ticket), $0.priority) }
    if let late { _ = core.gate.withdraw(late) }
    if let priority { _ = core.gate.setPriority(priority, of: ticket) }
  }

  /// A verdict from outside: a cancel, a limit on time, a fault of the sink.
  func fail(_ reason: DispatchError) {
    let error = reason.endPoint == nil ? reason.at(endPoint) : reason
    let now = core.now
    let phase = state.withLock { $0.control }?.phase
    guard let consequences = state.withLock({ $0.fail(error, phase: phase, at: now) }) else { return }
    // `running` means that a start is on its way to us, or a redirect is being moved: either finds the verdict.
    if let ticket = consequences.withdraw { _ = core.gate.withdraw(ticket) }
    consequences.cancel?.cancel()
    consequences.work?.cancel()
    if let ticket = consequences.finish { core.finish(ticket) }
    if let outcome = consequences.outcome { deliver(outcome) }
    if kind == .intercepted { forgetExpectation() }
  }

  func deliver(_ outcome: consuming OperationState.Outcome) {
    core.cancel(outcome.timers)
    if let key = download?.end() { drop(key) }
    if request.fields.mayRetry || kind == .intercepted { core.leaveRest(self) }
    observeEnd(outcome)
    DeliveryFrame.mark(core.gateIdentity) { sink.end(outcome.error, outcome.times, told: core) }
  }

  /// Calls the sink, unless the verdict is there already.
  func enterSink(
    with bytes: Int, _ head: ResponseHead? = nil, asks: Bool = false,
    _ body: (any ResponseSink, DispatchRequest) throws(DispatchError) -> BodyFlow
  ) -> BodyFlow {
    let entered = activity
    let later: DispatchRequest?
    let resumes: Int
    switch state.withLock({ $0.enterSink(with: bytes, head, asks: asks, at: entered) }) {
    case .unwanted: return .abort
    case .redirect(let drained): return redirectBodyFlow(drained)
    case .enters(let present, let count, let timeout):
      (later, resumes) = (present, count)
      if let timeout { drop(timeout) }
    }
    var flow = BodyFlow.abort
    var fault: DispatchError?
    DeliveryFrame.mark(core.gateIdentity) {
      do throws(DispatchError) { flow = try body(sink, later ?? request) } catch { fault = error }
    }
    if let fault { fail(fault) }
    let pausing = flow == .pause
    if state.withLock({ $0.leaveSink(pausing: pausing, resumesBefore: resumes) }) {
      let now = core.now
      if let outcome = state.withLock({ $0.claimOutcome(at: now) }) { deliver(outcome) }
    }
    return fault == nil ? flow : .abort
  }

  /// The consumer has room again.
  func resume() {
    let now = core.now
    let control = state.withLock { $0.resumed(at: now) }
    control?.resume()
  }
}

// MARK: - The gate's side

extension DispatchOperation: GateClient {
  package func granted(_ ticket: Ticket, maxSockets: Int, at moment: Deadline?) {
    readAhead()
    let now = moment ?? core.now
    guard let launch = state.withLock({ $0.granted(ticket, maxSockets: maxSockets, at: now) }) else {
      return core.finish(ticket)
    }
    sink.accepted()
    if kind == .intercepted, isOutdated(launch) { return prepareLate(at: now) }
    startExchange(launch, at: now)
  }

  /// Has the processor read the request's settings while the start is decided: they stand by themselves, and after a long
  /// wait in none of its caches. As many bytes as they have.
  @inline(__always)
  private func readAhead() {
    headgate_prepare_to_read(Unmanaged.passUnretained(request.fields).toOpaque(), 192)
  }

  package func admitted() { sink.accepted() }
  package func turnedAway(_ code: DispatchError.Code) { fail(DispatchError(code)) }
  package func asked(toEndBecause error: DispatchError) { fail(error) }

  /// Starts the exchange, then its clocks.
  func startExchange(_ launch: OperationState.Launch, at now: Deadline) {
    observeSending(launch, at: now)
    var exchange = Exchange(
      request: launch.later ?? request, maxSockets: launch.maxSockets, mayPause: sink.mayPause, isLong: launch.isLong)
    exchange.needsNewConnection = launch.needsNewConnection
    // As of a transport that ends an exchange inside its start.
    if let failure = exchange.unmet(by: core.capabilities) { return ended(ExchangeEnd(failure: failure)) }
    if let download { beginSpan(download, at: now) }
    let control = carry(exchange)
    switch state.withLock({ $0.started(control, hop: launch.hop, at: now) }) {
    case .past: break
    case .unwanted: control.cancel()
    case .running(let mustResume, let needsTimeout, let needsIdle, let ran):
      if mustResume { control.resume() }
      if needsTimeout { armTimeout(from: now, after: ran, hop: launch.hop) }
      if needsIdle, let limit = request.fields.idleNanoseconds { armIdle(from: now, after: limit) }
    }
  }
}

// MARK: - The transport's side

extension DispatchOperation: ExchangeEvents {
  func received(_ head: ResponseHead) -> BodyFlow {
    observeHead(head)
    if Redirect.isRedirect(head.statusCode), let flow = redirected(head) { return flow }
    if request.fields.mayRetry, let flow = retried(head) { return flow }
    if kind == .intercepted, kept(head) { return .more }
    return told(head)
  }

  /// A head that nothing else is made of.
  @inline(__always)
  func told(_ head: ResponseHead) -> BodyFlow {
    var head = head
    head.redirects = state.withLock { $0.redirects }
    let asks = sink.asks(about: head)
    return enterSink(with: 0, head, asks: asks) { sink, request throws(DispatchError) in
      if let download, !asks { try download.take(head, hasBody: head.bringsBody(to: request.method)) }
      return try sink.received(head, url: request.url)
    }
  }

  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    download?.came(bytes.count)
    if kind == .intercepted, let flow = kept(bytes) { return flow }
    return enterSink(with: bytes.count) { sink, _ throws(DispatchError) in
      try download?.take(bytes.count)
      return try sink.received(bytes)
    }
  }

  func ended(_ end: ExchangeEnd) {
    let now = core.now
    observeExchangeEnd(end, at: now)
    if end.metClosedConnection { planRepeat(after: end.failure) }
    if request.fields.mayRetry { planRetry(after: end.failure) }
    if kind == .intercepted, let failure = end.failure { kept(failure) }
    // Observers and interceptors take a while: what is decided now is decided at the present, or that while would count as
    // the next hop's.
    settle(end, at: isWatched || kind == .intercepted ? core.now : now)
  }

  @inline(__always)
  func settle(_ end: ExchangeEnd, at now: Deadline) {
    if kind == .intercepted, let kept = state.withLock({ $0.keptEnd(end, at: now) }) {
      return review(kept, end, at: now)
    }
    let ending = state.withLock { $0.ended(end, of: request, at: now) }
    guard let next = ending.next else { return conclude(ending) }
    if let wait = ending.rest { rest(next, for: wait, at: now) } else { follow(next, at: now) }
  }

  func conclude(_ ending: consuming OperationState.Ending) {
    // The permit first: the next request starts here and now, before the caller of this one is told.
    if let ticket = ending.ticket { core.finish(ticket) }
    if let outcome = ending.outcome { deliver(outcome) }
    if kind == .intercepted { forgetExpectation() }
  }
}
