import HTTPTypes
import HeadgateThreads

/// An exchange with a body, which is opened before the transport starts the exchange, and closed at its end.
///
/// It sits between the operation and the transport, so that all transports treat bodies alike: a body that can't be
/// read fails the exchange, and a final response other than success stops the upload.
final class PreparedExchange: ExchangeControl {
  private enum Stage {
    /// Its body is being opened.
    case opening
    /// It was passed to the transport.
    case sent
    case over
  }

  private struct State {
    var stage = Stage.opening
    var source: RequestBodySource?
    /// The transport's control.
    var control: (any ExchangeControl)?
    var isCancelled = false
    /// The consumer had room again before the transport's control was known.
    var missedResume = false

    var isOver: Bool { if case .over = stage { true } else { false } }
  }

  private let bare: Exchange
  private let body: RequestBody
  private let report: UploadReport
  private let transport: any Transport
  private let events: any ExchangeEvents
  private let state = Locked(State())

  /// - Parameters:
  ///   - bare: The exchange, without its body.
  ///   - report: Where the progress of the body is reported.
  init(
    _ bare: Exchange, _ body: RequestBody, _ report: UploadReport, _ transport: any Transport,
    _ events: any ExchangeEvents
  ) {
    self.bare = bare
    self.body = body
    self.report = report
    self.transport = transport
    self.events = events
  }

  func start() {
    body.open(report) { [self] opened in
      switch opened {
      case .success(let source): start(with: source)
      case .failure(let error): over(ExchangeEnd(failure: error, wasSent: false))
      }
    }
  }

  private func start(with source: RequestBodySource) {
    let isWanted = state.withLock { state in
      guard !state.isOver else { return false }
      (state.stage, state.source) = (.sent, source)
      return true
    }
    guard isWanted else { return source.stop() }
    var exchange = bare
    exchange.body = source
    let control = transport.start(exchange, events: self)
    let (isCancelled, missedResume) = state.withLock { state in
      if !state.isOver { state.control = control }
      return (state.isCancelled, state.missedResume)
    }
    if isCancelled { control.cancel() } else if missedResume { control.resume() }
  }

  private func over(_ end: ExchangeEnd) {
    let last = state.withLock { state in
      defer { state = State(stage: .over) }
      return state
    }
    guard !last.isOver else { return }
    last.source?.stop()
    var end = end
    if end.failure != nil, let cause = last.source?.failure {
      end = ExchangeEnd(
        failure: cause as? DispatchError ?? DispatchError(body: cause), times: end.times, wasSent: end.wasSent)
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
    case .opening: over(ExchangeEnd(failure: DispatchError(.cancelled, phase: .sending), wasSent: false))
    case .sent: control?.cancel()
    case .over: break
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
    guard let phase = state.withLock({ $0.control })?.phase else { return .sending }
    return phase == .awaitingHead && !report.meter.isSent ? .sending : phase
  }

  /// Whether the server waits because the body's producer has no data, or because the body is not open yet.
  var isHeldByProducer: Bool { state.withLock { $0.source }?.isWaiting ?? true }

  /// When bytes were last sent.
  var lastSent: Deadline { report.meter.lastSent }
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
