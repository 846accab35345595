import HTTPTypes
import HeadgateThreads

/// An exchange whose request has a body: opens the body, passes it to the transport, and closes it at the end.
///
/// It sits between the operation and the transport, so that all transports treat bodies alike: a body that can't be
/// read fails the exchange, and a final response other than success stops the upload.
final class UploadExchange: ExchangeControl {
  private struct State {
    var slot = ControlSlot()
    var source: RequestBodySource?
  }

  private let bare: Exchange
  private let report: UploadReport
  private let events: any ExchangeEvents
  private let state = Locked(State())

  /// - Parameter bare: The exchange, without its body.
  init(_ bare: Exchange, _ report: UploadReport, _ events: any ExchangeEvents) {
    self.bare = bare
    self.report = report
    self.events = events
  }

  func start(_ body: RequestBody, over transport: any Transport) {
    body.open(report) { [self] opened in
      switch opened {
      case .success(let source): begin(source, transport)
      case .failure(let error): over(ExchangeEnd(failure: error))
      }
    }
  }

  private func begin(_ source: RequestBodySource, _ transport: any Transport) {
    let isWanted = state.withLock { state in
      // A cancellation that found no body reports the end without the transport.
      guard !state.slot.isOver, !state.slot.isCancelled else { return false }
      state.source = source
      return true
    }
    guard isWanted else { return source.stop() }
    var exchange = bare
    exchange.body = source
    let control = transport.start(exchange, events: self)
    control.run(state.withLock { $0.slot.store(control) })
  }

  // MARK: The operation's side

  func cancel() {
    let (control, source) = state.withLock { ($0.slot.cancel(), $0.source) }
    source?.stop()
    control?.cancel()
    // Opening the file may take a long time; a cancellation does not wait for it.
    if source == nil { over(ExchangeEnd(failure: DispatchError(.cancelled, phase: .sending))) }
  }

  func resume() {
    let control = state.withLock { $0.slot.resume() }
    control?.resume()
  }

  var phase: DispatchError.Phase {
    guard let control = state.withLock({ $0.slot.control }) else { return .sending }
    let phase = control.phase
    return phase == .awaitingHead && !report.meter.isSent ? .sending : phase
  }

  /// The transport's control. Nil before the body is open, and at the end.
  var carried: (any ExchangeControl)? { state.withLock { $0.slot.control } }

  /// Whether the server waits because the body's producer has no data.
  var isHeldByProducer: Bool { state.withLock { $0.source }?.isWaiting ?? true }

  /// When bytes were last sent.
  var lastSent: Deadline { report.meter.lastSent }
}

// MARK: - The transport's side

extension UploadExchange: ExchangeEvents {
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

  private func over(_ end: ExchangeEnd) {
    let (last, source) = state.withLock { ($0.slot.end(), $0.source.take()) }
    guard last.isFirst else { return }
    source?.stop()
    withExtendedLifetime(last.control) {}
    var end = end
    if end.failure != nil, let cause = source?.failure {
      end = ExchangeEnd(failure: cause as? DispatchError ?? DispatchError(body: cause), times: end.times)
    }
    events.ended(end)
  }
}
