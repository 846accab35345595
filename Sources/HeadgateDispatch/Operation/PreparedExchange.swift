import HTTPTypes
import HeadgateThreads

/// An exchange that the transport can't start at once: its body is opened first, and then a coordinator is asked for a
/// permit. At the end the body is closed and the permit returned.
///
/// It sits between the operation and the transport, so that all transports treat bodies alike: a body that can't be
/// read fails the exchange, and a final response other than success stops the upload. The exchange waits for a permit
/// as it would for a socket: the time counts as waiting, and one that never began is not counted by the gate's rates.
final class PreparedExchange: ExchangeControl {
  private enum Stage {
    /// Its body is being opened.
    case opening
    /// A thread takes it from one stage to the next, and then finds out whether it was cancelled.
    case moving
    /// It waits for its permit.
    case waiting(any SharedPermitRequest)
    /// It was passed to the transport.
    case sent
    case over
  }

  private struct State {
    var stage = Stage.opening
    var source: RequestBodySource?
    var permit: (any SharedPermit)?
    /// The transport's control.
    var control: (any ExchangeControl)?
    var isCancelled = false
    /// The consumer had room again before the transport's control was known.
    var missedResume = false

    var isOver: Bool { if case .over = stage { true } else { false } }
  }

  private let bare: Exchange
  private let report: UploadReport?
  private let core: DispatchCore
  private let events: any ExchangeEvents
  private let state = Locked(State())

  /// - Parameters:
  ///   - bare: The exchange, without its body.
  ///   - report: Where the progress of the body is reported. Nil for an exchange without one.
  init(_ bare: Exchange, _ report: UploadReport?, _ core: DispatchCore, _ events: any ExchangeEvents) {
    self.bare = bare
    self.report = report
    self.core = core
    self.events = events
  }

  func start() {
    guard let report, let body = bare.request.body else { return proceed(with: nil) }
    body.open(report) { [self] opened in
      switch opened {
      case .success(let source): proceed(with: source)
      case .failure(let error): over(ExchangeEnd(failure: error))
      }
    }
  }

  private func proceed(with source: RequestBodySource?) {
    guard enter(.moving, { $0.source = source }) else {
      source?.stop()
      return
    }
    if let coordinator = core.coordinator { ask(coordinator) } else { send(nil) }
  }

  private func ask(_ coordinator: any GateCoordinator) {
    let answer = OneShot<Result<any SharedPermit, DispatchError>>()
    let request = coordinator.requestPermit(demand) { answer.set($0) }
    if let early = answer.value { return answered(early) }
    noteWait(1)
    events.socketWaitStarted()
    let isCancelled = state.withLock { state in
      state.stage = .waiting(request)
      return state.isCancelled
    }
    // The first call did not know the request.
    if isCancelled { cancel() }
    // An answer that has come in the meantime is handled only now, so that the wait is reported before its end.
    answer.whenSet { [self] result in
      noteWait(-1)
      if case .success = result, isWaiting { events.socketWaitEnded() }
      answered(result)
    }
  }

  private var demand: SharedDemand {
    let request = bare.request
    return SharedDemand(
      for: request.endPoint, lane: bare.isLong ? .long : .short, scopes: request.scopes, weights: request.weights,
      limits: core.gate.limits)
  }

  /// The wait for the permit begins or ends.
  private func noteWait(_ change: Int) { core.gate.sockets.noteCoordinated(change, at: bare.request.endPoint) }

  private func answered(_ result: Result<any SharedPermit, DispatchError>) {
    switch result {
    case .success(let permit): send(permit)
    case .failure(let error): over(ExchangeEnd(failure: error))
    }
  }

  private func send(_ permit: (any SharedPermit)?) {
    guard enter(.sent, { $0.permit = permit }) else {
      permit?.release()
      return over(ExchangeEnd(failure: DispatchError(.cancelled)))
    }
    if let permit { bare.weighedStart?.join(permit) }
    var exchange = bare
    if let source = state.withLock({ $0.source }) { exchange.body = source }
    let control = core.transport.start(exchange, events: self)
    let (isCancelled, missedResume) = state.withLock { state in
      if !state.isOver { state.control = control }
      return (state.isCancelled, state.missedResume)
    }
    if isCancelled { control.cancel() } else if missedResume { control.resume() }
  }

  /// Returns false if it has ended or was cancelled. Then nothing changes.
  private func enter(_ stage: Stage, _ change: (inout State) -> Void = { _ in }) -> Bool {
    let (last, isWanted) = state.withLock { state in
      let last = state.stage
      guard !state.isOver, !state.isCancelled else { return (last, false) }
      state.stage = stage
      change(&state)
      return (last, true)
    }
    // A request for a permit is released outside the lock.
    return withExtendedLifetime(last) { isWanted }
  }

  private func over(_ end: ExchangeEnd) {
    let last = state.withLock { state in
      defer { state = State(stage: .over) }
      return state
    }
    guard !last.isOver else { return }
    last.source?.stop()
    last.permit?.release()
    var end = end
    if end.failure != nil, let cause = last.source?.failure {
      end = ExchangeEnd(failure: cause as? DispatchError ?? DispatchError(body: cause), times: end.times)
    }
    events.ended(end)
  }

  // MARK: The operation's side

  func cancel() {
    let (stage, source, control) = state.withLock { state in
      state.isCancelled = true
      return (state.stage, state.source, state.control)
    }
    source?.stop()
    switch stage {
    // Opening the file may take a long time; a cancellation does not wait for it.
    case .opening: over(ExchangeEnd(failure: DispatchError(.cancelled, phase: .sending)))
    case .waiting(let request):
      request.cancel()
      over(ExchangeEnd(failure: DispatchError(.cancelled)))
    case .sent: control?.cancel()
    case .moving, .over: break
    }
  }

  func resume() {
    let control = state.withLock { state in
      if state.control == nil { state.missedResume = true }
      return state.control
    }
    control?.resume()
  }

  func lookForUnreadBytes(_ answer: @escaping @Sendable (Bool) -> Void) {
    guard let control = state.withLock({ $0.control }) else { return answer(false) }
    control.lookForUnreadBytes(answer)
  }

  var phase: DispatchError.Phase {
    if isWaiting { return .waiting }
    guard let control = state.withLock({ $0.control }) else { return report == nil ? .awaitingHead : .sending }
    let phase = control.phase
    return phase == .awaitingHead && report?.meter.isSent == false ? .sending : phase
  }

  /// Whether it waits for its permit.
  var isWaiting: Bool { state.withLock { if case .waiting = $0.stage { true } else { false } } }

  /// Whether the server waits because the body's producer has no data, or because the body is not open yet.
  var isHeldByProducer: Bool {
    guard report != nil else { return false }
    return state.withLock { $0.source }?.isWaiting ?? true
  }

  /// When bytes were last sent.
  var lastSent: Deadline { report?.meter.lastSent ?? .distantPast }
}

// MARK: - The transport's side

extension PreparedExchange: ExchangeEvents {
  func received(_ head: ResponseHead) -> BodyFlow {
    // The final response is not a success, so sending the rest of the body is useless.
    if head.statusCode >= 300 { state.withLock { $0.source }?.stop() }
    return events.received(head)
  }

  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { events.received(bytes) }
  func received(trailers: HTTPFields) { events.received(trailers: trailers) }
  func connectionMultiplexes(_ multiplexes: Bool) { events.connectionMultiplexes(multiplexes) }
  func socketWaitStarted() { events.socketWaitStarted() }
  func socketWaitEnded() { events.socketWaitEnded() }
  func receivedActivity() { events.receivedActivity() }
  func ended(_ end: ExchangeEnd) { over(end) }
}
