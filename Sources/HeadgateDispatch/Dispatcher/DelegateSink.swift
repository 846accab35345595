import DequeModule
import HeadgateThreads

/// Passes events to a delegate, one call at a time, on the target it asked for. Pauses the transport's reading of the
/// socket while the delegate lags behind.
final class DelegateSink: ResponseSink {
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
    // The pieces in calls that have not returned.
    var backlog = Backlog.bytes
    // A job is queued at the target or running there. At most one at a time.
    var isScheduled = false
    // No more calls are added: the end is queued, the submission threw, or the target accepts no calls.
    var isClosed = false
    // The challenge for the next head; the number of credentials given; whether incoming data still belongs to the
    // response that carried the challenge.
    var challenge: AuthenticationChallenge?
    var answers = 0
    var isSkipping = false
    // Nil until the submission is decided: until then no call is made, because a throwing submission must not reach the
    // delegate. Nil again after the last call.
    var operation: DispatchOperation?
  }

  // Unsafe: written once, in the initializer. Concurrent reads of weak references are safe. (`weak let`, which says this,
  // needs Swift 6.3.)
  private nonisolated(unsafe) weak var delegate: (any URLDispatchDelegate)?
  private let target: Delivery
  // Whether the target is the dispatcher's own pool.
  private let isUsual: Bool
  private let state = Locked(State())

  init(_ delegate: any URLDispatchDelegate, _ target: Delivery?, usually usual: Delivery) {
    self.delegate = delegate
    self.target = target ?? usual
    isUsual = target == nil
  }

  /// Starts the delivery, including what arrived while the submission was undecided. Called once.
  func begin(_ operation: DispatchOperation) { change { $0.operation = operation } }

  /// Discards all calls: the submission threw, and its caller has the error.
  func discard() { fallSilent() }

  // MARK: The operation's side

  var mayPause: Bool { true }
  var timeoutEndsWithHead: Bool { true }
  var usualIdleLimit: Int64? { RequestFields.usualIdleLimit }

  func asks(about head: ResponseHead) -> Bool {
    let answers = state.withLock { $0.answers }
    let challenge = answers < Self.mostAnswers ? AuthenticationChallenge(head, previousFailures: answers) : nil
    return state.withLock { state in
      // Also without a challenge: that of an earlier exchange stays if the exchange was given up before its head was
      // delivered.
      state.challenge = challenge
      return challenge != nil && !state.isClosed
    }
  }

  func received(_ head: ResponseHead, url: String, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    let challenge = state.withLock { state in
      state.isSkipping = false
      return state.challenge.take()
    }
    _ = add(challenge.map { .challenge($0) } ?? .response(head))
    return .more
  }

  func received(_ bytes: UnsafeRawBufferPointer, of operation: DispatchOperation) throws(DispatchError) -> BodyFlow {
    bytes.isEmpty ? .more : add(.data(Array(bytes)), size: Backlog.size(ofPiece: bytes.count))
  }

  private func add(_ call: Call, size: Int = 0) -> BodyFlow {
    change { state in
      guard !state.isClosed, size == 0 || !state.isSkipping else { return .more }
      state.calls.append(call)
      return state.backlog.add(size)
    }
  }

  /// Keeps only the latest progress while the delegate is busy.
  func sent(_ progress: TransferProgress) {
    change { state in
      guard !state.isClosed else { return }
      if case .sent = state.calls.last { state.calls.removeLast() }
      state.calls.append(.sent(progress))
    }
  }

  func end(_ outcome: OperationState.Outcome, of operation: DispatchOperation) {
    let core = operation.core
    let isHeard = change { state in
      guard !state.isClosed else { return false }
      state.isClosed = true
      if outcome.error?.code == .cancelled { state.calls = [] }
      state.calls.append(.end(outcome.error, core))
      return true
    }
    if !isHeard { core.operations.remove() }
  }

  /// Changes the state, and schedules a job at the target if there are calls to make and none is scheduled.
  private func change<Result: Sendable>(_ event: (inout State) -> Result) -> Result {
    let (result, operation) = state.withLock { state -> (Result, DispatchOperation?) in
      let result = event(&state)
      guard !state.isScheduled, !state.calls.isEmpty, let operation = state.operation else { return (result, nil) }
      state.isScheduled = true
      return (result, operation)
    }
    if let operation { schedule(operation) }
    return result
  }

  // MARK: The target's side

  private func schedule(_ operation: DispatchOperation) {
    let turn = Parcel { [self] in
      drain(operation)
    } comeBack: { [self] error in
      // The system refused a thread and the pool has none, so the caller's thread makes the calls.
      if isUsual { drain(operation) } else { lost(because: error) }
    }
    DeliveryFrame.mark(operation.core.gateIdentity) { target.submit(turn) }
  }

  /// Makes the calls that were queued at the start. Later ones are scheduled again, so that one busy operation does
  /// not occupy a thread.
  private func drain(_ operation: DispatchOperation) {
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
      if state.withLock({ $0.backlog.remove(Backlog.size(ofPiece: bytes.count)) }) { operation.resume() }
    case .end(_, let core):
      // Breaks the reference cycle between operation and sink.
      state.withLock { $0.operation = nil }
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
    state.withLock { state in
      state.answers += 1
      state.isSkipping = true
      state.backlog = .bytes
      state.calls.removeAll { if case .data = $0 { true } else { false } }
    }
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
      state.isClosed = true
      defer { state.calls = [] }
      return (state.calls, state.operation.take())
    }
    for case .end(_, let core) in calls { core.operations.remove() }
    return operation
  }
}
