import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// A transport that a test plays: exchanges are started by the dispatcher and answered by the test, on its thread.
///
/// It counts what runs at each end-point, as a server would, and notes every exchange beyond the end-point's limit.
public final class ScriptedTransport: Transport {
  private struct State {
    var started: [ScriptedExchange] = []
    var waiters: [@Sendable (ScriptedExchange) -> Void] = []
    var running: [EndPoint: Int] = [:]
    var peak: [EndPoint: Int] = [:]
    var violations: [String] = []
    // Where one socket carries several exchanges.
    var multiplexing: Set<EndPoint> = []
    var isShutDown = false
    var sockets: GateSockets?
  }

  private let state = Locked(State())
  /// What it says that it can do.
  public let capabilities: TransportCapabilities
  private let answer: (@Sendable (ScriptedExchange) -> Void)?
  let endsWhenCancelled: Bool

  /// A scripted transport.
  ///
  /// - Parameters:
  ///   - endsWhenCancelled: Whether a cancelled exchange ends at once; else the test ends it.
  ///   - capabilities: What it says that it can do; nothing beyond the plain exchange unless given.
  ///   - answer: Plays each exchange inside its start; without it exchanges are handed out by ``next()``.
  public init(
    endsWhenCancelled: Bool = true, capabilities: TransportCapabilities = [],
    answer: (@Sendable (ScriptedExchange) -> Void)? = nil
  ) {
    self.endsWhenCancelled = endsWhenCancelled
    self.capabilities = capabilities
    self.answer = answer
  }

  /// Notes whose limits hold.
  public func use(_ sockets: GateSockets) { state.withLock { $0.sockets = sockets } }

  /// Plays the exchange, or hands it to whoever calls ``next()``.
  public func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    let scripted = ScriptedExchange(exchange, events, self)
    let endPoint = exchange.request.endPoint
    let most = state.withLock { $0.sockets }?.limit(of: endPoint) ?? .max
    let waiter = state.withLock { state -> (@Sendable (ScriptedExchange) -> Void)? in
      let running = state.running[endPoint, default: 0] + 1
      state.running[endPoint] = running
      state.peak[endPoint] = max(running, state.peak[endPoint] ?? 0)
      if running > most, !state.multiplexing.contains(endPoint) {
        state.violations.append("\(running) at \(endPoint)")
      }
      if state.isShutDown { state.violations.append("a start at \(endPoint) after the shutdown") }
      guard answer == nil else { return nil }
      if !state.waiters.isEmpty { return state.waiters.removeFirst() }
      state.started.append(scripted)
      return nil
    }
    if let answer { answer(scripted) } else { waiter?(scripted) }
    return scripted
  }

  /// Notes the shutdown.
  public func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    state.withLock { $0.isShutDown = true }
    whenClosed()
  }

  /// The next exchange that was started and not handed out yet; suspends until there is one.
  public func next() async -> ScriptedExchange {
    await withContinuation { continuation in
      let exchange = state.withLock { state -> ScriptedExchange? in
        if !state.started.isEmpty { return state.started.removeFirst() }
        state.waiters.append { continuation.resume(returning: $0) }
        return nil
      }
      if let exchange { continuation.resume(returning: exchange) }
    }
  }

  /// Takes an exchange that was started and not handed out yet; nil when there is none.
  public func takeStarted() -> ScriptedExchange? {
    state.withLock { $0.started.isEmpty ? nil : $0.started.removeFirst() }
  }

  /// Exchanges under way at an end-point.
  public func running(at endPoint: EndPoint) -> Int { state.withLock { $0.running[endPoint] ?? 0 } }

  /// The most exchanges that were under way at once at an end-point.
  public func peak(at endPoint: EndPoint) -> Int { state.withLock { $0.peak[endPoint] ?? 0 } }

  /// Whatever was against the rules: more exchanges than sockets, starts after the shutdown, calls after the end.
  public var violations: [String] { state.withLock { $0.violations } }

  /// Whether the dispatcher has shut it down.
  public var isShutDown: Bool { state.withLock { $0.isShutDown } }

  func multiplexes(_ does: Bool, at endPoint: EndPoint) {
    state.withLock { state in
      if does { state.multiplexing.insert(endPoint) } else { state.multiplexing.remove(endPoint) }
    }
  }

  func ended(at endPoint: EndPoint) { state.withLock { $0.running[endPoint, default: 0] -= 1 } }
  func violated(_ rule: String) { state.withLock { $0.violations.append(rule) } }
}

/// One exchange in a test's hands.
public final class ScriptedExchange: ExchangeControl {
  private struct State {
    var isOver = false
    var isCancelled = false
    var phase = DispatchError.Phase.connecting
  }

  /// What the dispatcher asked for.
  public let exchange: Exchange
  private let events: any ExchangeEvents
  private let transport: ScriptedTransport
  private let state = Locked(State())
  /// Opens when the dispatcher cancels it.
  public let cancelled = Gate()
  /// Opens when the dispatcher resumes it.
  public let resumed = Gate()

  init(_ exchange: Exchange, _ events: any ExchangeEvents, _ transport: ScriptedTransport) {
    self.exchange = exchange
    self.events = events
    self.transport = transport
  }

  /// The request.
  public var request: DispatchRequest { exchange.request }
  /// Whether the dispatcher has cancelled it.
  public var isCancelled: Bool { state.withLock { $0.isCancelled } }
  /// How far the script has brought it.
  public var phase: DispatchError.Phase { state.withLock { $0.phase } }

  /// The dispatcher wants it to end: opens ``cancelled``.
  public func cancel() {
    let isFirst = state.withLock { state in
      defer { state.isCancelled = true }
      return !state.isCancelled && !state.isOver
    }
    cancelled.open()
    if isFirst, transport.endsWhenCancelled { end(DispatchError(.cancelled, phase: phase)) }
  }

  /// The dispatcher wants it to go on: opens ``resumed``.
  public func resume() { resumed.open() }

  /// The response's head comes.
  ///
  /// - Parameters:
  ///   - statusCode: The status.
  ///   - fields: The header fields.
  ///   - isFromPrivateAddress: What the transport knows of the server's address.
  @discardableResult
  public func head(
    _ statusCode: Int = 200, _ fields: HTTPFields = [:], isFromPrivateAddress: Bool? = nil
  ) -> BodyFlow {
    head(ResponseHead(statusCode: statusCode, headerFields: fields, isFromPrivateAddress: isFromPrivateAddress))
  }

  /// The response's head comes, as a transport makes it.
  @discardableResult
  public func head(_ head: ResponseHead) -> BodyFlow {
    guard mayTell("a head") else { return .abort }
    state.withLock { $0.phase = .receiving }
    return events.received(head)
  }

  /// Something comes that is told in no other way: a part of the head.
  public func hear() {
    if mayTell("a sign of life") { events.heard() }
  }

  /// A piece of the body comes.
  @discardableResult
  public func body(_ bytes: [UInt8]) -> BodyFlow {
    guard mayTell("a piece of the body") else { return .abort }
    return bytes.withUnsafeBytes { events.received($0) }
  }

  /// The fields after the body come.
  public func trailers(_ fields: HTTPFields) {
    if mayTell("trailers") { events.received(trailers: fields) }
  }

  /// It has shown that its connection carries several requests at once, or that it does not.
  public func multiplexes(_ does: Bool) {
    guard mayTell("a kind of connection") else { return }
    transport.multiplexes(does, at: exchange.request.endPoint)
    events.multiplexes(does)
  }

  /// It waits for a socket.
  public func waitForSocket() {
    if mayTell("a wait") { events.waitsForSocket() }
  }

  /// It waits no longer.
  public func goOn() {
    if mayTell("the end of a wait") { events.goesOn() }
  }

  /// The exchange ends: whole, or with a failure.
  ///
  /// - Parameters:
  ///   - failure: Why it failed; nil: the response was whole.
  ///   - metClosedConnection: Whether a connection that was kept open turned out to be closed.
  public func end(_ failure: DispatchError? = nil, metClosedConnection: Bool = false) {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    guard isFirst else { return }
    transport.ended(at: exchange.request.endPoint)
    events.ended(ExchangeEnd(failure: failure, metClosedConnection: metClosedConnection))
  }

  /// Head, body and end in one.
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
