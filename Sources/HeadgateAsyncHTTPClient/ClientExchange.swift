#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import NIOCore
import NIOHTTP1

/// An exchange under way, which controls a task of async-http-client.
///
/// It uses the client's async interface: the body is read piece by piece, unread data stays at the socket, and
/// cancelling the task ends it at any point. Rejected: the interface with a delegate. It would save the task, but it
/// does not end a request that was answered before its body was sent, and a cancel while a piece of the body waits
/// for the socket leaks a promise, which traps in debug builds (1.37).
final class ClientExchange: ExchangeControl {
  private struct State: Sendable {
    var task: Task<Void, Never>?
    var timer: ScheduledTimer?
    var hold: ConnectionHold?
    // The connection carried an earlier request.
    var isReused = false
    // Set when the connection has released this exchange, or when nothing waits for that any more.
    var released = OneShot<Void>()
    var isCancelled = false
    // The attempt has ended and its connection is being closed: nothing more is sent.
    var isEnding = false
    var isOver = false
    // A status of 300 or more has arrived.
    var isAnswered = false
    // A response that was complete before the whole request was sent.
    var answer: EarlyAnswer?
    // A resume is recorded while the consumer is being called, and while it is paused.
    var isTelling = false
    var isResumed = false
    var resting: OneShot<Void>?
    // The error with which the exchange ended itself.
    var verdict: DispatchError?
    var trailers: HTTPFields?
    var phase = DispatchError.Phase.connecting
    var times = ExchangeTimes()
  }

  private let exchange: Exchange
  private let events: any ExchangeEvents
  private let registry: ExchangeRegistry
  private let body: RequestBodySource?
  private let started = Deadline.now
  private let state = Locked(State())

  init(_ exchange: Exchange, _ events: any ExchangeEvents, _ registry: ExchangeRegistry) {
    self.exchange = exchange
    self.events = events
    self.registry = registry
    body = exchange.request.method == .head ? nil : exchange.body
  }

  var phase: DispatchError.Phase { state.withLock { $0.phase } }

  func start(with loan: LentClients.Loan, userAgent: String, on executor: LoopExecutor) {
    // Detached, because priority and task-local values of the caller's task must not apply.
    let task = Task.detached(executorPreference: executor) { [self] in
      let number = registry.add(self)
      let failure = await run(HTTPClientRequest(exchange, number: number, userAgent: userAgent), loan)
      registry.remove(number)
      loan.release()
      end(failure)
    }
    let isCancelled = state.withLock { state in
      if !state.isOver { state.task = task }
      return state.isCancelled || state.verdict != nil
    }
    if isCancelled { task.cancel() }
  }

  func cancel() {
    let (task, resting, released, hold) = state.withLock { state in
      state.isCancelled = true
      return (state.task, state.resting.take(), state.released, state.hold)
    }
    task?.cancel()
    resting?.set()
    released.set()
    // The client closes it too, but from another task.
    hold?.close(for: self)
  }

  func resume() {
    let resting = state.withLock { state in
      if state.isTelling { state.isResumed = true }
      return state.resting.take()
    }
    resting?.set()
  }

  // MARK: The task

  private func run(_ request: HTTPClientRequest, _ loan: LentClients.Loan) async -> DispatchError? {
    var rounds = 0
    while true {
      let failure = await attempt(request, loan.client)
      // A failed attempt may still be sending. The permit must not be returned before that ends.
      let hold = state.withLock { state in
        state.isEnding = true
        return state.hold
      }
      hold?.close(for: self)
      guard let failure, rounds < loan.connections, isMissed(failure) else { return failure }
      rounds += 1
    }
  }

  private func attempt(_ request: HTTPClientRequest, _ client: HTTPClient) async -> DispatchError? {
    begin()
    guard let body else { return await carry(request, client) }
    var request = request
    let reader = BodyReader(body) { [self] in state.withLock { $0.isAnswered } }
    request.body = .stream(OutgoingBody(reader: reader), length: body.length.map { .known($0) } ?? .unknown)
    let failure = await carry(request, client)
    await reader.close()
    return failure
  }

  private func carry(_ request: HTTPClientRequest, _ client: HTTPClient) async -> DispatchError? {
    var delivered = 0
    do {
      let response = try await client.execute(request, deadline: .distantFuture)
      guard await tell({ tellHead(of: response) }) else { return cancelled }
      for try await piece in response.body where piece.readableBytes > 0 {
        delivered += piece.readableBytes
        guard await tell({ piece.withUnsafeReadableBytes { events.received($0) } }) else { return cancelled }
      }
    } catch {
      // The response is or will be complete, and the rest of the request's body is not needed. The error, possibly
      // one of the connection, may arrive before the end of the response and discards data still on its way.
      let (isEarly, released) = state.withLock { ($0.phase == .receiving && body != nil, $0.released) }
      if isEarly { await released.wait() }
      let answer = state.withLock { isEarly ? $0.answer.take() : nil }
      guard let rest = answer?.rest(after: delivered) else { return failure(error) }
      if rest.readableBytes > 0 {
        guard await tell({ rest.withUnsafeReadableBytes { events.received($0) } }) else { return cancelled }
      }
    }
    // For a cancelled task the body simply ends.
    let (isCancelled, verdict, trailers, released) = state.withLock {
      ($0.isCancelled, $0.verdict, $0.trailers.take(), $0.released)
    }
    if let verdict { return verdict }
    if isCancelled { return cancelled }
    if let trailers, !trailers.isEmpty { events.received(trailers: trailers) }
    // A success may arrive while the body is still being sent.
    await released.wait()
    return nil
  }

  private func begin() {
    state.withLock { state in
      state.hold = nil
      state.answer = nil
      state.isReused = false
      state.isEnding = false
      if !state.isCancelled { state.released = OneShot<Void>() }
    }
    guard let limit = exchange.request.connectTimeout else { return }
    let timer = TimerThread.deadlines.schedule(at: .now + limit) { [weak self] in self?.connectTimedOut() }
    // That of an earlier attempt may still be set.
    let superfluous = state.withLock { state in
      if state.isOver { return ScheduledTimer?.some(timer) }
      defer { state.timer = timer }
      return state.timer
    }
    superfluous?.cancel()
  }

  private func connectTimedOut() {
    let task = state.withLock { state -> Task<Void, Never>? in
      guard state.hold == nil, !state.isOver else { return nil }
      state.verdict = DispatchError(.connectTimedOut, phase: .connecting)
      return state.task
    }
    task?.cancel()
  }

  /// Whether the request met a connection that the server had closed while it was idle. If so, it was not processed,
  /// and another connection is tried.
  private func isMissed(_ failure: DispatchError) -> Bool {
    let (isUnsent, isReused) = state.withLock { state in
      (state.hold == nil, state.isReused && state.times.firstByte == .zero && !state.isCancelled)
    }
    guard failure.code == .connectionLost, isUnsent || isReused && exchange.request.isIdempotent else {
      return false
    }
    return body?.rewind() ?? true
  }

  private func tellHead(of response: HTTPClientResponse) -> BodyFlow {
    let elapsed = Deadline.now - started
    let status = Int(response.status.code)
    let isReused = state.withLock { state in
      state.phase = .receiving
      state.times.firstByte = elapsed
      state.isAnswered = status >= 300
      return state.isReused
    }
    return events.received(
      ResponseHead(
        statusCode: status, headerFields: HTTPFields(response.headers),
        version: ResponseHead.Version(major: response.version.major, minor: response.version.minor),
        isConnectionReused: isReused))
  }

  /// Calls the consumer, and waits if it pauses. Returns false if it wants no more.
  private func tell(_ what: () -> BodyFlow) async -> Bool {
    let isWanted = state.withLock { state in
      (state.isTelling, state.isResumed) = (true, false)
      return !state.isCancelled
    }
    guard isWanted else { return false }
    switch what() {
    case .more:
      state.withLock { $0.isTelling = false }
      return true
    case .abort: return false
    case .pause:
      let resting = state.withLock { state -> OneShot<Void>? in
        state.isTelling = false
        guard !state.isResumed, !state.isCancelled else { return nil }
        let resting = OneShot<Void>()
        state.resting = resting
        return resting
      }
      await resting?.wait()
      return state.withLock { !$0.isCancelled }
    }
  }

  private var cancelled: DispatchError { DispatchError(.cancelled, phase: phase) }

  private func failure(_ error: any Error) -> DispatchError {
    let (verdict, isCancelled, isConnected, phase) = state.withLock { state in
      (state.verdict, state.isCancelled, state.hold != nil, state.phase)
    }
    if let verdict { return verdict }
    if isCancelled { return cancelled }
    return DispatchError(client: error, isConnected: isConnected, phase: phase)
  }

  /// Reports the end, once.
  func end(_ failure: DispatchError?) {
    let elapsed = Deadline.now - started
    let (times, timer) = state.withLock { state -> (ExchangeTimes?, ScheduledTimer?) in
      guard !state.isOver else { return (nil, nil) }
      state.isOver = true
      state.task = nil
      state.hold = nil
      state.times.total = elapsed
      return (state.times, state.timer.take())
    }
    timer?.cancel()
    if let times { events.ended(ExchangeEnd(failure: failure, times: times)) }
  }

  // MARK: The connection's side

  /// The request is about to be sent. Returns false if it must not be, because it was cancelled or has ended. If a
  /// cancel arrives between the client's queue and the connection, the client sends the request anyway (1.37), and
  /// the permit may have been returned by then.
  func isOnConnection(_ hold: ConnectionHold, isNew: Bool) -> Bool {
    let elapsed = Deadline.now - started
    let (isWanted, timer) = state.withLock { state -> (Bool, ScheduledTimer?) in
      guard !state.isCancelled, !state.isEnding, !state.isOver, state.verdict == nil else { return (false, nil) }
      state.hold = hold
      state.isReused = !isNew
      state.phase = .awaitingHead
      // With TLS, the end of the handshake is the only observable time.
      if isNew, exchange.request.isSecure { state.times.tls = elapsed }
      if isNew, !exchange.request.isSecure { state.times.connect = elapsed }
      return (true, state.timer.take())
    }
    timer?.cancel()
    // The client does not ask for an empty body.
    if isWanted, let body, body.length == 0 { body.sentAll() }
    return isWanted
  }

  func answerEnded(_ trailers: HTTPHeaders?, _ early: EarlyAnswer?) {
    let fields = trailers.map { HTTPFields($0) }
    state.withLock { state in
      state.answer = early
      if let fields { state.trailers = fields }
    }
  }

  func leftConnection() {
    let released = state.withLock { $0.released }
    released.set()
  }
}
#endif
