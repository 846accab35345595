import HTTPTypes
import HeadgateThreads

@testable import HeadgateDispatch

/// The exchanges that the transports of a script start, to be played by its threads, and the number of running ones at
/// each end-point.
final class ScriptServer: Sendable {
  private struct State {
    var isOpen: [ScriptExchange] = []
    var running: [EndPoint: Int] = [:]
    var faults: [String] = []
  }

  private let state = Unseen(State())
  /// The maximum number of concurrent exchanges at an end-point.
  let limit: Int

  init(limit: Int) { self.limit = limit }

  /// The violations of the rules.
  var faults: [String] { state.use { $0.faults } }

  /// An exchange that has not ended and that no thread plays; from now on the caller plays it.
  func next(for path: String = "") -> ScriptExchange? {
    state.use { $0.isOpen.first { $0.request.url.hasSuffix(path) && $0.beginPlay() } }
  }

  fileprivate func start(_ exchange: ScriptExchange) {
    state.use { state in
      let running = state.running[exchange.request.endPoint, default: 0] + 1
      state.running[exchange.request.endPoint] = running
      state.isOpen.append(exchange)
      if running > limit { state.faults.append("\(running) run at \(exchange.request.endPoint)") }
    }
  }

  fileprivate func end(_ exchange: ScriptExchange) {
    state.use { state in
      state.running[exchange.request.endPoint, default: 0] -= 1
      state.isOpen.removeAll { $0 === exchange }
    }
  }

  func violated(_ rule: String) { state.use { $0.faults.append(rule) } }

  /// One dispatcher's transport to the server.
  final class Transport: HeadgateDispatch.Transport {
    private let server: ScriptServer
    private let ends = Unseen(0)

    init(_ server: ScriptServer) { self.server = server }

    /// How often it was shut down.
    var endCount: Int { ends.use { $0 } }

    func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
      if endCount > 0 { server.violated("a start after the shutdown") }
      let exchange = ScriptExchange(exchange.request, events, server)
      server.start(exchange)
      // Another thread may play it before its control is known.
      Here.step()
      return exchange
    }

    func shutDown(whenClosed: @escaping @Sendable () -> Void) {
      ends.use { $0 += 1 }
      whenClosed()
    }
  }
}

/// One exchange, played by a script's threads.
final class ScriptExchange: ExchangeControl {
  private struct State {
    var events: (any ExchangeEvents)?
    var isPlayed = false
    var isCancelled = false
    var isResumed = false
  }

  let request: DispatchRequest
  private let server: ScriptServer
  private let state: Unseen<State>

  fileprivate init(_ request: DispatchRequest, _ events: any ExchangeEvents, _ server: ScriptServer) {
    self.request = request
    self.server = server
    state = Unseen(State(events: events))
  }

  var phase: DispatchError.Phase { .receiving }

  /// An exchange that a thread plays is ended by that thread; any other is ended here.
  func cancel() {
    let mustEnd = state.use { state in
      state.isCancelled = true
      return !state.isPlayed
    }
    if mustEnd { end() }
  }

  func resume() { state.use { $0.isResumed = true } }

  /// False: another thread plays it.
  func beginPlay() -> Bool {
    state.use { state in
      defer { state.isPlayed = true }
      return !state.isPlayed
    }
  }

  private var events: (any ExchangeEvents)? { state.use { $0.events } }
  private var isCancelled: Bool { state.use { $0.isCancelled } }

  /// Delivers the head, a number of pieces of a body, and the end, like a transport that notices a cancellation only at
  /// the end.
  func respond(
    _ statusCode: Int = 200, _ fields: HTTPFields = [:], pieces: Int = 0, waits: Bool = false,
    failure: DispatchError? = nil
  ) {
    guard let events else { return }
    if waits {
      events.socketWaitStarted()
      events.socketWaitEnded()
    }
    var flow = events.received(ResponseHead(statusCode: statusCode, headerFields: fields))
    for piece in 0..<pieces where flow == .more {
      state.use { $0.isResumed = false }
      flow = [UInt8(piece)].withUnsafeBytes { events.received($0) }
      if flow == .pause {
        while state.use({ !$0.isResumed && !$0.isCancelled }) { Here.yield() }
        flow = .more
      }
    }
    end(flow == .abort ? DispatchError(.cancelled) : failure)
  }

  /// It continues though its request has ended.
  var isForgotten: Bool {
    guard let operation = events as? DispatchOperation, !isCancelled else { return false }
    return operation.state.withLock { $0.isDecided }
  }

  /// Ends it.
  func end(_ failure: DispatchError? = nil) {
    guard let events = state.use({ $0.events.take() }) else { return }
    server.end(self)
    events.ended(ExchangeEnd(failure: isCancelled ? DispatchError(.cancelled) : failure))
  }
}
