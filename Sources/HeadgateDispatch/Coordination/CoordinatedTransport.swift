import HTTPTypes
import HeadgateThreads

/// A transport whose exchanges each need a permit of a coordinator, besides the gate's.
///
/// An exchange waits for its permit as it would for a socket: the time counts as waiting, cancelling ends it at once,
/// and an exchange that never began is not counted by the gate's rates.
final class CoordinatedTransport: Transport {
  private let transport: any Transport
  private let coordinator: any GateCoordinator
  private let sockets: GateSockets

  init(_ transport: any Transport, _ coordinator: any GateCoordinator, _ sockets: GateSockets) {
    (self.transport, self.coordinator, self.sockets) = (transport, coordinator, sockets)
  }

  var capabilities: TransportCapabilities { transport.capabilities }
  var taskExecutor: (any TaskExecutor)? { transport.taskExecutor }

  func use(_ sockets: GateSockets) { transport.use(sockets) }

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let request = exchange.request
    let demand = SharedDemand(
      for: request.endPoint, lane: exchange.isLong ? .long : .short, scopes: request.scopes, weights: request.weights,
      limits: sockets.limits)
    let coordinated = CoordinatedExchange(exchange, events, transport, sockets)
    coordinated.start(demand, at: coordinator)
    return coordinated
  }

  func shutDown(whenClosed: @escaping @Sendable () -> Void) { transport.shutDown(whenClosed: whenClosed) }
}

/// An exchange that waits for its permit, then runs, and returns the permit before its end is reported.
final class CoordinatedExchange: ExchangeControl {
  private struct State {
    var request: (any SharedPermitRequest)?
    var permit: (any SharedPermit)?
    var slot = ControlSlot()
  }

  private let exchange: Exchange
  private let events: any ExchangeEvents
  private let transport: any Transport
  private let sockets: GateSockets
  private let state = Locked(State())

  init(_ exchange: Exchange, _ events: any ExchangeEvents, _ transport: any Transport, _ sockets: GateSockets) {
    (self.exchange, self.events, self.transport, self.sockets) = (exchange, events, transport, sockets)
  }

  /// Whether it waits for its permit.
  var isWaiting: Bool { state.withLock { $0.permit == nil && !$0.slot.isOver } }

  /// The wait for the permit begins or ends.
  private func note(_ change: Int) { sockets.noteCoordinated(change, at: exchange.request.endPoint) }

  /// Asks for the permit. No other method is called before it returns.
  func start(_ demand: SharedDemand, at coordinator: any GateCoordinator) {
    let answer = OneShot<Result<any SharedPermit, DispatchError>>()
    let request = coordinator.requestPermit(demand) { answer.set($0) }
    if let early = answer.value { return answered(early) }
    state.withLock { $0.request = request }
    note(1)
    events.socketWaitStarted()
    // An answer that has come in the meantime is handled only now, so that the wait is reported before its end.
    answer.whenSet { [self] result in
      note(-1)
      if case .success = result, isWaiting { events.socketWaitEnded() }
      answered(result)
    }
  }

  private func answered(_ result: Result<any SharedPermit, DispatchError>) {
    switch result {
    case .success(let permit): begin(permit)
    case .failure(let error): over(ExchangeEnd(failure: error))
    }
  }

  private func begin(_ permit: any SharedPermit) {
    let isWanted = state.withLock { state in
      guard !state.slot.isOver, !state.slot.isCancelled else { return false }
      (state.permit, state.request) = (permit, nil)
      return true
    }
    guard isWanted else {
      permit.release()
      return
    }
    exchange.weighedStart?.join(permit)
    let control = transport.start(exchange, events: self)
    control.run(state.withLock { $0.slot.store(control) })
  }

  // MARK: The operation's side

  func cancel() {
    let (control, request, isUnsent) = state.withLock { ($0.slot.cancel(), $0.request.take(), $0.permit == nil) }
    request?.cancel()
    control?.cancel()
    if isUnsent { over(ExchangeEnd(failure: DispatchError(.cancelled))) }
  }

  func resume() {
    let control = state.withLock { $0.slot.resume() }
    control?.resume()
  }

  var phase: DispatchError.Phase {
    let (control, isHeld) = state.withLock { ($0.slot.control, $0.permit == nil) }
    return control?.phase ?? (isHeld ? .waiting : .connecting)
  }
}

// MARK: - The transport's side

extension CoordinatedExchange: ExchangeEvents {
  func received(_ head: ResponseHead) -> BodyFlow { events.received(head) }
  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow { events.received(bytes) }
  func received(trailers: HTTPFields) { events.received(trailers: trailers) }
  func connectionMultiplexes(_ multiplexes: Bool) { events.connectionMultiplexes(multiplexes) }
  func socketWaitStarted() { events.socketWaitStarted() }
  func socketWaitEnded() { events.socketWaitEnded() }
  func receivedActivity() { events.receivedActivity() }
  func ended(_ end: ExchangeEnd) { over(end) }

  private func over(_ end: ExchangeEnd) {
    // The control and the request are released outside the lock.
    let (last, request, permit) = state.withLock { ($0.slot.end(), $0.request.take(), $0.permit) }
    guard last.isFirst else { return }
    withExtendedLifetime((last.control, request)) {}
    permit?.release()
    events.ended(end)
  }
}
