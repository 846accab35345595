import HTTPTypes
import HeadgateGate
import HeadgateThreads

/// The bandwidth limits that apply to one direction of a request's exchange.
struct Throttle: Sendable {
  let operation: DispatchOperation
  let flow: BandwidthFlow

  private let hold: ExchangeState.Holds

  /// Nil if no limit applies.
  ///
  /// - Parameter hold: How the operation counts the wait: by direction, because both may wait at once.
  init?(_ operation: DispatchOperation, to endPoint: EndPoint, as hold: ExchangeState.Holds) {
    guard let flow = operation.core.gate.bandwidth.flow(to: endPoint) else { return nil }
    (self.operation, self.flow, self.hold) = (operation, flow, hold)
  }

  /// Whether no more may move before the next turn. If so, the request waits until then, and `whenTurn` is called once:
  /// on any thread, perhaps before this method returns.
  func mustWait(left: Int?, _ whenTurn: @escaping @Sendable () -> Void) -> Bool {
    let waits = flow.mustWait(left: left) {
      operation.waitEnded(for: hold)
      whenTurn()
    }
    guard waits else { return false }
    operation.waitStarted(for: hold)
    // The turn may have come before the wait was recorded.
    if !flow.isWaiting { operation.waitEnded(for: hold) }
    return true
  }
}

/// An exchange under a bandwidth limit. It sits between the operation and the transport, and pauses the response while
/// it waits for its turn. A request's body waits where the transport reads it: see ``RequestBodySource``.
final class ThrottledExchange: ExchangeControl {
  /// Why the transport is paused.
  private struct Holds: OptionSet {
    let rawValue: UInt8

    static let consumer = Holds(rawValue: 1)
    static let turn = Holds(rawValue: 2)
  }

  private struct State {
    var holds: Holds = []
    /// Whether the transport calls. What it is told then is the result of that call.
    var isCalled = false
    /// Whether it was told to pause, and not to resume since. Some transports deliver what they have all the same.
    var isPaused = false
    var isOver = false
    var control: (any ExchangeControl)?
    /// It may continue, but the transport's control was not known yet.
    var missedResume = false
    /// The bytes to come, if the length was declared.
    var left: Int?
  }

  private let throttle: Throttle
  private let method: HTTPRequest.Method
  private let state = Locked(State())
  private var operation: DispatchOperation { throttle.operation }

  /// - Parameter method: The method of the exchange.
  init(_ throttle: Throttle, _ method: HTTPRequest.Method) { (self.throttle, self.method) = (throttle, method) }

  /// Takes the transport's control, once it has started the exchange.
  func started(_ control: any ExchangeControl) {
    let missedResume = state.withLock { state in
      // It may have ended inside its start. Its control has a reference to this object.
      if !state.isOver { state.control = control }
      return state.missedResume
    }
    if missedResume { control.resume() }
  }

  /// The control of the exchange below, for an operation that asks about the request's body.
  var below: (any ExchangeControl)? { state.withLock { $0.control } }

  // MARK: The operation's side

  func cancel() { below?.cancel() }
  var phase: DispatchError.Phase { below?.phase ?? .awaitingHead }

  func lookForUnreadBytes(_ answer: @escaping @Sendable (Bool) -> Void) {
    guard let control = below else { return answer(false) }
    control.lookForUnreadBytes(answer)
  }

  /// The consumer has room again.
  func resume() { leave(.consumer) }

  private func leave(_ hold: Holds) {
    let control = state.withLock { state in
      state.holds.subtract(hold)
      return Self.resuming(&state)
    }
    control?.resume()
  }

  /// The control to resume, if the transport is paused and nothing holds it any more.
  private static func resuming(_ state: inout State) -> (any ExchangeControl)? {
    guard state.isPaused, state.holds.isEmpty, !state.isCalled, !state.isOver else { return nil }
    state.isPaused = false
    if state.control == nil { state.missedResume = true }
    return state.control
  }

  // MARK: The transport's side

  /// Passes a part of the response, and waits for the next turn if the bandwidth is used up and more is to come.
  private func pass(_ deliver: () -> BodyFlow) -> BodyFlow {
    // A turn, or room at the consumer, may come before the calls below return.
    let left = state.withLock { state in
      (state.holds, state.isCalled) = ([.consumer, .turn], true)
      return state.left
    }
    let delivered = deliver()
    guard delivered != .abort else { return .abort }
    let waits = left != 0 && throttle.mustWait(left: left) { [self] in leave(.turn) }
    let (flow, control) = state.withLock { state -> (BodyFlow, (any ExchangeControl)?) in
      if delivered == .more { state.holds.remove(.consumer) }
      if !waits { state.holds.remove(.turn) }
      state.isCalled = false
      if state.holds.isEmpty { return (.more, Self.resuming(&state)) }
      state.isPaused = true
      return (.pause, nil)
    }
    control?.resume()
    return flow
  }
}

extension ThrottledExchange: ExchangeEvents {
  func received(_ head: ResponseHead) -> BodyFlow {
    let declared = head.bringsBody(to: method) ? head.declaredLength : 0
    state.withLock { $0.left = declared }
    // Before the first byte too: otherwise many small responses would never wait.
    return pass { operation.received(head) }
  }

  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    throttle.flow.moved(bytes.count)
    // More than was declared arrives if the transport decompresses it.
    state.withLock { $0.left = $0.left.flatMap { $0 == 0 ? nil : max(0, $0 - bytes.count) } }
    return pass { operation.received(bytes) }
  }

  func ended(_ end: ExchangeEnd) {
    state.withLock { $0.isOver = true }
    throttle.flow.end()
    operation.ended(end)
    // Not before: until then, the operation may ask for the phase. Released with no lock held.
    _ = state.withLock { $0.control.take() }
  }

  func received(trailers: HTTPFields) { operation.received(trailers: trailers) }
  func connectionMultiplexes(_ multiplexes: Bool) { operation.connectionMultiplexes(multiplexes) }
  func socketWaitStarted() { operation.socketWaitStarted() }
  func socketWaitEnded() { operation.socketWaitEnded() }
  func receivedActivity() { operation.receivedActivity() }
}
