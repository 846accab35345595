import DequeModule
import HeadgateThreads

/// Passes events to a delegate, one call at a time, on the target it asked for. Pauses the transport's reading of the
/// socket while the delegate lags behind.
final class DelegateSink: ResponseSink {
  /// The transport pauses at the high mark and resumes at the low one. Counts bytes in calls that have not returned.
  static let highWater = StreamingSink.highWater
  static let lowWater = StreamingSink.lowWater

  // After this many rejected credentials the delegate is not asked again.
  private static let mostAnswers = 5

  private enum Call {
    case challenge(AuthenticationChallenge)
    case response(ResponseHead)
    case data([UInt8])
    case sent(TransferProgress)
    case end(DispatchError?, DispatchCore)
  }

  private struct State {
    var calls: Deque<Call> = []
    var bytes = 0
    var isStopped = false
    // The submission is not decided yet. Calls are held back, because a throwing submission must not reach the
    // delegate.
    var isHeld = true
    // A job is queued at the target or running there. At most one at a time.
    var isScheduled = false
    // No more calls are made: the submission threw, or the target accepts no calls.
    var isDeaf = false
    var hasEnd = false
    // The challenge for the next head; the number of credentials given; whether incoming data still belongs to the
    // response that carried the challenge.
    var challenge: AuthenticationChallenge?
    var answers = 0
    var isSkipping = false
    var operation: DispatchOperation?
  }

  private weak let delegate: (any URLDispatchDelegate)?
  // Nil: the dispatcher's own pool.
  private let target: Delivery?
  private let pool: DelegatePool
  private let state = Locked(State())

  init(_ delegate: any URLDispatchDelegate, _ target: Delivery?, _ pool: DelegatePool) {
    self.delegate = delegate
    self.target = target
    self.pool = pool
  }

  /// Starts the delivery, including what arrived while the submission was undecided. Called once.
  func begin(_ operation: DispatchOperation) {
    change { state in
      state.operation = operation
      state.isHeld = false
    }
  }

  /// Discards all calls: the submission threw, and its caller has the error.
  func discard() { fallSilent() }

  // MARK: The operation's side

  var mayPause: Bool { true }

  func asks(about head: ResponseHead) -> Bool {
    let answers = state.withLock { $0.answers }
    let challenge = answers < Self.mostAnswers ? AuthenticationChallenge(head, previousFailures: answers) : nil
    return state.withLock { state in
      // Also without a challenge: that of an earlier exchange stays if the exchange was given up before its head was
      // delivered.
      state.challenge = challenge
      return challenge != nil && !state.isDeaf
    }
  }

  func received(_ head: ResponseHead, url: String) throws(DispatchError) -> BodyFlow {
    let challenge = state.withLock { state in
      state.isSkipping = false
      return state.challenge.take()
    }
    _ = add(challenge.map { .challenge($0) } ?? .response(head))
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer) throws(DispatchError) -> BodyFlow {
    bytes.isEmpty ? .more : add(.data(Array(bytes)), bytes: bytes.count)
  }

  func end(_ error: DispatchError?, _ times: DispatchTimes, _ weight: SentWeight?, told core: DispatchCore) {
    _ = add(.end(error, core), dropsData: error?.code == .cancelled)
  }

  /// Keeps only the latest progress while the delegate is busy.
  func sent(_ progress: TransferProgress) {
    change { state in
      guard !state.isDeaf, !state.hasEnd else { return }
      if case .sent = state.calls.last { state.calls.removeLast() }
      state.calls.append(.sent(progress))
    }
  }

  private func add(_ call: Call, bytes: Int = 0, dropsData: Bool = false) -> BodyFlow {
    let (dropped, isDeaf, isStopped) = change { state in
      guard !state.isDeaf else { return (Deque<Call>(), true, false) }
      if bytes > 0, state.isSkipping { return (Deque<Call>(), false, false) }
      var dropped: Deque<Call> = []
      if dropsData { swap(&dropped, &state.calls) }
      state.calls.append(call)
      if case .end = call { state.hasEnd = true }
      state.bytes += bytes
      if state.bytes >= Self.highWater { state.isStopped = true }
      return (dropped, false, state.isStopped)
    }
    _ = consume dropped
    if isDeaf, case .end(_, let core) = call { core.operations.remove() }
    return isStopped ? .pause : .more
  }

  /// Changes the state, and schedules a job at the target if there are calls to make and none is scheduled.
  private func change<Result: Sendable>(_ event: (inout State) -> Result) -> Result {
    let (result, mustSchedule) = state.withLock { state in
      let result = event(&state)
      let mustSchedule = !state.isHeld && !state.isScheduled && !state.calls.isEmpty
      if mustSchedule { state.isScheduled = true }
      return (result, mustSchedule)
    }
    if mustSchedule { schedule() }
    return result
  }

  // MARK: The target's side

  private func schedule() {
    guard let operation = state.withLock({ $0.operation }) else { return }
    guard let target else { return pool.run { [self] in drain() } }
    let turn = Parcel { [self] in
      drain()
    } comeBack: { [self] error in
      lost(because: error)
    }
    DeliveryFrame.mark(operation.core.gateIdentity) { target.submit(turn) }
  }

  /// Makes the calls that were queued at the start. Later ones are scheduled again, so that one busy operation does
  /// not occupy a thread.
  private func drain() {
    guard let operation = state.withLock({ $0.operation }) else { return }
    for _ in 0..<state.withLock({ $0.calls.count }) {
      guard let call = state.withLock({ $0.calls.popFirst() }) else { break }
      make(call, operation)
    }
    change { $0.isScheduled = false }
  }

  private func make(_ call: Call, _ operation: DispatchOperation) {
    if let delegate {
      DeliveryFrame.mark(operation.core.gateIdentity) {
        tell(delegate, call, URLDispatchOperation(operation: operation))
      }
    } else {
      // The delegate is gone, so the rest of the response has no receiver.
      operation.cancel()
    }
    switch call {
    case .challenge, .response, .sent: break
    case .data(let bytes):
      let resumes = state.withLock { state in
        state.bytes -= bytes.count
        guard state.isStopped, state.bytes <= Self.lowWater else { return false }
        state.isStopped = false
        return true
      }
      if resumes { operation.resume() }
    case .end(_, let core):
      // Breaks the reference cycle between operation and sink.
      let last = state.withLock { $0.operation.take() }
      _ = consume last
      core.operations.remove()
    }
  }

  private func tell(_ delegate: any URLDispatchDelegate, _ call: Call, _ operation: URLDispatchOperation) {
    switch call {
    case .challenge(let challenge): ask(delegate, challenge, operation)
    case .response(let head): delegate.dispatchOperation(operation, didReceiveResponse: head)
    case .data(let bytes): delegate.dispatchOperation(operation, didReceiveData: bytes)
    case .sent(let progress): delegate.dispatchOperation(operation, didSend: progress)
    case .end(nil, _): delegate.dispatchOperationDidFinish(operation)
    case .end(let error?, _) where error.code == .cancelled: delegate.dispatchOperationWasCancelled(operation)
    case .end(let error?, _): delegate.dispatchOperation(operation, didFailWith: error)
    }
  }

  private func ask(
    _ delegate: any URLDispatchDelegate, _ challenge: AuthenticationChallenge, _ operation: URLDispatchOperation
  ) {
    let answer = delegate.dispatchOperation(operation, didReceiveChallenge: challenge).consequence(of: challenge)
    if case .resend = answer { skip() }
    operation.operation.answer(answer)
    if case .proceed = answer { delegate.dispatchOperation(operation, didReceiveResponse: challenge.response) }
  }

  /// Drops the body of the response that carried the challenge, up to the next head.
  private func skip() {
    let calls = state.withLock { state in
      let calls = state.calls
      state.answers += 1
      state.isSkipping = true
      state.isStopped = false
      state.bytes = 0
      state.calls = calls.filter { if case .data = $0 { false } else { true } }
      return calls
    }
    _ = consume calls
  }

  // MARK: Discarding calls

  /// The target accepts no calls. The request fails, since its delegate cannot be reached.
  private func lost(because error: (any Error)?) {
    let operation = fallSilent()
    guard let operation else { return }
    let cause = error.map { "\($0)" } ?? "it accepts no more calls"
    HeadgateLog.warn(
      .dispatcher, "Cannot call the delegate of a request to \(operation.endPoint) on its target: \(cause)"
    )
    operation.fail(DispatchError(.deliveryFailed, detail: cause, underlyingError: error))
  }

  @discardableResult
  private func fallSilent() -> DispatchOperation? {
    let (calls, operation) = state.withLock { state in
      state.isDeaf = true
      defer { state.calls = [] }
      return (state.calls, state.operation.take())
    }
    for case .end(_, let core) in calls { core.operations.remove() }
    return operation
  }
}
