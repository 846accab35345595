#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import NIOCore
import NIOHTTP1

/// One exchange under way: the dispatcher's hold on a task of async-http-client.
///
/// Of the client's two interfaces this is the asynchronous one. Its body is read piece by piece, and what is not asked for
/// stays at the socket; a cancelled task ends it wherever it is. The other one, with a delegate, would save the task, but
/// it does not end a request that was answered before its body was sent, and can't be cancelled while a piece of it waits
/// for the socket without a promise that nobody keeps, which stops a debug build (1.37).
final class ClientExchange: ExchangeControl {
  private struct State: Sendable {
    var task: Task<Void, Never>?
    var timer: ScheduledTimer?
    var hold: ConnectionHold?
    // The connection carried another request before.
    var isReused = false
    // Sent when the connection has let go of this exchange, or nobody waits for that any more.
    var released = Signal()
    var isCancelled = false
    // The attempt has ended, and what it may have left is closed: nothing of it is sent any more.
    var isEnding = false
    var isOver = false
    // A status of 300 and more has come.
    var isAnswered = false
    // The body of an answer that was whole before all of the request had left.
    var answer: ByteBuffer?
    // A resume counts while the consumer is being told something, and while it rests.
    var isTelling = false
    var isResumed = false
    var resting: Signal?
    // Why the exchange ends itself.
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
    // Detached: nothing of the caller's task, its priority or its values, is meant for it.
    let task = Task.detached(executorPreference: executor) { [self] in
      let number = registry.add(self)
      let failure = await run(HTTPClientRequest(exchange, number: number, userAgent: userAgent), loan)
      registry.remove(number)
      loan.giveBack()
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
    resting?.send()
    released.send()
    // The client closes it too, by way of another task.
    hold?.close(for: self)
  }

  func resume() {
    let resting = state.withLock { state in
      if state.isTelling { state.isResumed = true }
      return state.resting.take()
    }
    resting?.send()
  }

  // MARK: The task

  private func run(_ request: HTTPClientRequest, _ loan: LentClients.Loan) async -> DispatchError? {
    var rounds = 0
    while true {
      let failure = await attempt(request, loan.client)
      // What broke off may still be sending; the permit must not go back before.
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
      // The answer is whole, or will be, and the rest of the request's body is not wanted. What is still on its way to here
      // is lost to the error, which may come as one of the connection's and before the answer's end.
      let (isEarly, released) = state.withLock { ($0.phase == .receiving && body != nil, $0.released) }
      if isEarly { await released.wait() }
      let answer = state.withLock { isEarly ? $0.answer.take() : nil }
      guard answer != nil || error is ConnectionTap.AnswerIsWhole else { return failure(error) }
      if var rest = answer, rest.readableBytes > delivered {
        rest.moveReaderIndex(forwardBy: delivered)
        guard await tell({ rest.withUnsafeReadableBytes { events.received($0) } }) else { return cancelled }
      }
    }
    // To a task that was cancelled the body just ends.
    let (isCancelled, verdict, trailers, released) = state.withLock {
      ($0.isCancelled, $0.verdict, $0.trailers.take(), $0.released)
    }
    if let verdict { return verdict }
    if isCancelled { return cancelled }
    if let trailers, !trailers.isEmpty { events.received(trailers: trailers) }
    // A success may come while the body is still being sent.
    await released.wait()
    return nil
  }

  private func begin() {
    state.withLock { state in
      state.hold = nil
      state.answer = nil
      state.isReused = false
      state.isEnding = false
      if !state.isCancelled { state.released = Signal() }
    }
    guard let limit = exchange.request.connectTimeout else { return }
    let timer = TimerThread.shared.schedule(at: .now + limit) { [weak self] in self?.connectTimedOut() }
    let late = state.withLock { state in
      if state.isOver { return true }
      state.timer = timer
      return false
    }
    if late { timer.cancel() }
  }

  private func connectTimedOut() {
    let task = state.withLock { state -> Task<Void, Never>? in
      guard state.hold == nil, !state.isOver else { return nil }
      state.verdict = DispatchError(.connectTimedOut, phase: .connecting)
      return state.task
    }
    task?.cancel()
  }

  /// Whether the request met a connection that the server had closed while it was idle: then nothing became of it, and
  /// another connection is asked.
  private func isMissed(_ failure: DispatchError) -> Bool {
    let (isUnsent, isReused) = state.withLock { state in
      (state.hold == nil, state.isReused && state.times.firstByte == .zero && !state.isCancelled)
    }
    guard failure.code == .connectionLost, isUnsent || isReused && exchange.request.method.isIdempotent else {
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

  /// Tells the consumer something, and rests if it asks for that. False: it wants no more.
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
      let resting = state.withLock { state -> Signal? in
        state.isTelling = false
        guard !state.isResumed, !state.isCancelled else { return nil }
        let resting = Signal()
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

  /// Tells of the end, once.
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

  /// The request is about to be sent. False: it must not be, since it was cancelled or has ended. The client sends it all the
  /// same where a cancel finds it on its way from the queue to its connection (1.37), and the permit may be gone by then.
  func isOnConnection(_ hold: ConnectionHold, isNew: Bool) -> Bool {
    let elapsed = Deadline.now - started
    let (isWanted, timer) = state.withLock { state -> (Bool, ScheduledTimer?) in
      guard !state.isCancelled, !state.isEnding, !state.isOver, state.verdict == nil else { return (false, nil) }
      state.hold = hold
      state.isReused = !isNew
      state.phase = .awaitingHead
      // The handshake's end is all that there is to be seen of a connection with TLS.
      if isNew, exchange.request.isSecure { state.times.tls = elapsed }
      if isNew, !exchange.request.isSecure { state.times.connect = elapsed }
      return (true, state.timer.take())
    }
    timer?.cancel()
    // The client does not ask for what has no bytes.
    if isWanted, let body, body.length == 0 { body.sentAll() }
    return isWanted
  }

  func answerEnded(_ trailers: HTTPHeaders?, _ earlyBody: ByteBuffer?) {
    let fields = trailers.map { HTTPFields($0) }
    state.withLock { state in
      state.answer = earlyBody
      if let fields { state.trailers = fields }
    }
  }

  func leftConnection() {
    let released = state.withLock { $0.released }
    released.send()
  }
}

extension HTTPRequest.Method {
  /// Whether a request may be sent again that perhaps was carried out: RFC 9110 section 9.2.2.
  fileprivate var isIdempotent: Bool { [.get, .head, .put, .delete, .options, .trace].contains(self) }
}
#endif
