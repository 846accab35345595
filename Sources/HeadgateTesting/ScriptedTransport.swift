import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// A transport controlled by a test: the dispatcher starts exchanges, and the test responds to them on its own
/// thread.
///
/// It counts the exchanges at each end-point, like a server, and records every violation of an end-point's limit.
public final class ScriptedTransport: Transport {
  private struct State {
    var started: [ScriptedExchange] = []
    var startedCount = 0
    var waiters = WaitList()
    var running: [EndPoint: Int] = [:]
    var peak: [EndPoint: Int] = [:]
    var violations: [String] = []
    // End-points where one socket carries several exchanges.
    var multiplexing: Set<EndPoint> = []
    var isShutDown = false
    var sockets: GateSockets?
  }

  private let state = Locked(State())
  /// The capabilities that it declares.
  public let capabilities: TransportCapabilities
  private let answer: (@Sendable (ScriptedExchange) -> Void)?
  let endsWhenCancelled: Bool

  /// Creates a scripted transport.
  ///
  /// - Parameters:
  ///   - endsWhenCancelled: Whether a cancelled exchange ends at once; if false, the test must end it.
  ///   - capabilities: The capabilities to declare. Default: none.
  ///   - answer: Responds to each exchange inside its start. If nil, exchanges are returned by ``next()``.
  public init(
    endsWhenCancelled: Bool = true, capabilities: TransportCapabilities = [],
    answer: (@Sendable (ScriptedExchange) -> Void)? = nil
  ) {
    self.endsWhenCancelled = endsWhenCancelled
    self.capabilities = capabilities
    self.answer = answer
  }

  /// Stores the gate's limits.
  public func use(_ sockets: GateSockets) { state.withLock { $0.sockets = sockets } }

  /// Starts an exchange: calls `answer`, or makes it available to ``next()``.
  public func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let scripted = ScriptedExchange(exchange, events, self)
    let endPoint = exchange.request.endPoint
    let most = state.withLock { $0.sockets }?.limit(of: endPoint) ?? .max
    let waiter = state.withLock { state -> Waiter? in
      let running = state.running[endPoint, default: 0] + 1
      state.running[endPoint] = running
      state.peak[endPoint] = max(running, state.peak[endPoint] ?? 0)
      if running > most, !state.multiplexing.contains(endPoint) {
        state.violations.append("\(running) at \(endPoint)")
      }
      if state.isShutDown { state.violations.append("a start at \(endPoint) after the shutdown") }
      state.startedCount += 1
      guard answer == nil else { return nil }
      state.started.append(scripted)
      return state.waiters.claimFirst()
    }
    if let answer { answer(scripted) } else { waiter?.wake() }
    return scripted
  }

  /// Records the shutdown.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    state.withLock { $0.isShutDown = true }
    whenClosed()
  }

  /// The next exchange that was started and not returned yet. Suspends until there is one.
  ///
  /// - Throws: `WaitError` with the code `cancelled` if the task is cancelled: it says how many exchanges were
  ///   started, and how many of them run.
  public func next() async throws(WaitError) -> ScriptedExchange {
    while true {
      let waiter = Waiter.ofTask()
      let exchange = state.withLock { state -> ScriptedExchange? in
        if !state.started.isEmpty { return state.started.removeFirst() }
        state.waiters.append(waiter)
        return nil
      }
      if let exchange { return exchange }
      try await waiter.waitInTest {
        let (started, running) = state.withLock { ($0.startedCount, $0.running.values.reduce(0, +)) }
        return "wait for the next exchange (\(started) were started, \(running) of them run)"
      }
    }
  }

  /// The next exchange that was started and not returned yet; nil if there is none.
  public func takeStarted() -> ScriptedExchange? {
    state.withLock { $0.started.isEmpty ? nil : $0.started.removeFirst() }
  }

  /// The number of running exchanges at an end-point.
  public func running(at endPoint: EndPoint) -> Int { state.withLock { $0.running[endPoint] ?? 0 } }

  /// The maximum number of concurrent exchanges at an end-point so far.
  public func peak(at endPoint: EndPoint) -> Int { state.withLock { $0.peak[endPoint] ?? 0 } }

  /// The violations: more exchanges than sockets, starts after the shutdown, events after the end.
  public var violations: [String] { state.withLock { $0.violations } }

  /// Whether the dispatcher has shut the transport down.
  public var isShutDown: Bool { state.withLock { $0.isShutDown } }

  func setMultiplexing(_ multiplexes: Bool, at endPoint: EndPoint) {
    state.withLock { state in
      if multiplexes { state.multiplexing.insert(endPoint) } else { state.multiplexing.remove(endPoint) }
    }
  }

  func ended(at endPoint: EndPoint) { state.withLock { $0.running[endPoint, default: 0] -= 1 } }
  func violated(_ rule: String) { state.withLock { $0.violations.append(rule) } }
}

/// An exchange controlled by a test.
public final class ScriptedExchange: ExchangeControl {
  private struct State {
    var isOver = false
    var isCancelled = false
    var waitsForSocket = false
    var phase = DispatchError.Phase.connecting
  }

  /// The exchange that the dispatcher started.
  public let exchange: Exchange
  private let events: any ExchangeEvents
  private let transport: ScriptedTransport
  private let state = Locked(State())
  /// Opens when the dispatcher has cancelled the exchange. If the exchange ends at once, it has ended by then.
  public let cancelled = Gate("the cancellation of an exchange")
  /// Opens when the dispatcher resumes the exchange.
  public let resumed = Gate("the resumption of an exchange")

  init(_ exchange: Exchange, _ events: any ExchangeEvents, _ transport: ScriptedTransport) {
    self.exchange = exchange
    self.events = events
    self.transport = transport
  }

  /// The request.
  public var request: DispatchRequest { exchange.request }
  /// Whether the dispatcher has cancelled the exchange.
  public var isCancelled: Bool { state.withLock { $0.isCancelled } }
  /// The phase that the test has reached.
  public var phase: DispatchError.Phase { state.withLock { $0.phase } }

  /// Called by the dispatcher to end the exchange: opens ``cancelled``.
  public func cancel() {
    let isFirst = state.withLock { state in
      defer { state.isCancelled = true }
      return !state.isCancelled
    }
    guard isFirst else { return }
    if transport.endsWhenCancelled { end(DispatchError(.cancelled, phase: phase)) }
    // Last, so that a test that waits for it finds the permit returned.
    cancelled.open()
  }

  /// Called by the dispatcher to resume the exchange: opens ``resumed``.
  public func resume() { resumed.open() }

  /// Delivers the response's head.
  ///
  /// - Parameters:
  ///   - statusCode: The status.
  ///   - fields: The header fields.
  ///   - isFromPrivateAddress: Whether the server's address is private; nil if unknown.
  @discardableResult
  public func head(
    _ statusCode: Int = 200, _ fields: HTTPFields = [:], isFromPrivateAddress: Bool? = nil
  ) -> BodyFlow {
    head(ResponseHead(statusCode: statusCode, headerFields: fields, isFromPrivateAddress: isFromPrivateAddress))
  }

  /// Delivers the response's head, as created by a transport.
  @discardableResult
  public func head(_ head: ResponseHead) -> BodyFlow {
    guard mayTell("a head") else { return .abort }
    state.withLock { $0.phase = .receiving }
    return events.received(head)
  }

  /// Reports activity without an event of its own, such as a part of the head.
  public func reportActivity() {
    if mayTell("activity") { events.receivedActivity() }
  }

  /// Delivers a piece of the body.
  @discardableResult
  public func body(_ bytes: [UInt8]) -> BodyFlow {
    guard mayTell("a piece of the body") else { return .abort }
    return bytes.withUnsafeBytes { events.received($0) }
  }

  /// Delivers the trailer fields.
  public func trailers(_ fields: HTTPFields) {
    if mayTell("trailers") { events.received(trailers: fields) }
  }

  /// Reports whether the exchange's connection carries several requests at once.
  public func connectionMultiplexes(_ multiplexes: Bool) {
    guard mayTell("a kind of connection") else { return }
    transport.setMultiplexing(multiplexes, at: exchange.request.endPoint)
    events.connectionMultiplexes(multiplexes)
  }

  /// Reports that the exchange waits for a socket.
  public func startSocketWait() {
    guard mayTell("a wait") else { return }
    state.withLock { $0.waitsForSocket = true }
    events.socketWaitStarted()
  }

  /// Reports that the wait is over.
  public func endSocketWait() {
    guard mayTell("the end of a wait") else { return }
    state.withLock { $0.waitsForSocket = false }
    events.socketWaitEnded()
  }

  /// Ends the exchange. One that waits for a socket was not sent.
  ///
  /// - Parameters:
  ///   - failure: The error; nil for a complete response.
  ///   - connectionWasStale: Whether a reused connection turned out to be closed.
  public func end(_ failure: DispatchError? = nil, connectionWasStale: Bool = false) {
    let (isFirst, wasSent) = state.withLock { state in
      defer { state.isOver = true }
      return (!state.isOver, !state.waitsForSocket)
    }
    guard isFirst else { return }
    transport.ended(at: exchange.request.endPoint)
    events.ended(ExchangeEnd(failure: failure, connectionWasStale: connectionWasStale, wasSent: wasSent))
  }

  /// Delivers head and body, and ends the exchange.
  public func respond(
    _ statusCode: Int = 200, _ fields: HTTPFields = [:], body: String = "", isFromPrivateAddress: Bool? = nil
  ) {
    if case .abort = head(statusCode, fields, isFromPrivateAddress: isFromPrivateAddress) {
      return end(DispatchError(.cancelled, phase: .receiving))
    }
    if !body.isEmpty, case .abort = self.body(Array(body.utf8)) {
      return end(DispatchError(.cancelled, phase: .receiving))
    }
    end()
  }

  private func mayTell(_ what: String) -> Bool {
    let isOver = state.withLock { $0.isOver }
    if isOver { transport.violated("\(what) after the end") }
    return !isOver
  }
}
