import DequeModule
import HeadgateFlow
import HeadgateThreads

/// Tells a delegate what comes, one call at a time, where it asked to be called; stops the transport, at the socket,
/// while the delegate has much to catch up with.
final class DelegateSink: ResponseSink {
  /// Where the transport is stopped, and where it goes on: bytes that the delegate has not returned from.
  static let highWater = StreamingSink.highWater
  static let lowWater = StreamingSink.lowWater

  // A server that refuses so many answers is not asked again.
  private static let mostAnswers = 5

  private enum Call {
    case challenge(AuthenticationChallenge)
    case response(ResponseHead)
    case data([UInt8])
    case sent(UploadProgress)
    case end(DispatchError?, DispatchCore)
  }

  private struct State {
    var calls: Deque<Call> = []
    var bytes = 0
    var isStopped = false
    // The submission is not decided yet: nothing is told that a throw might take back.
    var isHeld = true
    // A job is on its way to the target or running there: one at a time.
    var isScheduled = false
    // Nobody is told any more: the submission was refused aloud, or the target takes no calls.
    var isDeaf = false
    var hasEnd = false
    // The challenge of the head that comes next, how many were answered with a credential, and whether what comes
    // still belongs to the response before the credential.
    var challenge: AuthenticationChallenge?
    var answers = 0
    var isSkipping = false
    var operation: DispatchOperation?
  }

  private weak let delegate: (any URLDispatchDelegate)?
  private let target: DelegateTarget
  private let pool: DelegatePool
  private let state = Locked(State())

  init(_ delegate: any URLDispatchDelegate, _ target: DelegateTarget, _ pool: DelegatePool) {
    self.delegate = delegate
    self.target = target
    self.pool = pool
  }

  /// The submission is decided: tells what has come by now, and what comes. Once.
  func begin(_ operation: DispatchOperation) {
    let mustSchedule = state.withLock { state in
      state.operation = operation
      state.isHeld = false
      return Self.mustSchedule(&state)
    }
    if mustSchedule { schedule() }
  }

  /// The submission was refused, and its caller gets the error: the delegate hears nothing.
  func discard() { fallSilent() }

  // MARK: The operation's side

  var mayPause: Bool { true }

  func asks(about head: ResponseHead) -> Bool {
    let answers = state.withLock { $0.answers }
    guard answers < Self.mostAnswers, let challenge = AuthenticationChallenge(head, previousFailures: answers) else {
      return false
    }
    return state.withLock { state in
      state.challenge = challenge
      return !state.isDeaf
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

  func end(_ error: DispatchError?, _ times: DispatchTimes, told core: DispatchCore) {
    _ = add(.end(error, core), dropsData: error?.code == .cancelled)
  }

  /// Only the latest count is kept while the delegate is busy.
  func sent(_ progress: UploadProgress) {
    let mustSchedule = state.withLock { state in
      guard !state.isDeaf, !state.hasEnd else { return false }
      if case .sent = state.calls.last { state.calls.removeLast() }
      state.calls.append(.sent(progress))
      return Self.mustSchedule(&state)
    }
    if mustSchedule { schedule() }
  }

  private func add(_ call: Call, bytes: Int = 0, dropsData: Bool = false) -> BodyFlow {
    let (dropped, isDeaf, isStopped, mustSchedule) = state.withLock { state in
      guard !state.isDeaf else { return (Deque<Call>(), true, false, false) }
      if bytes > 0, state.isSkipping { return (Deque<Call>(), false, false, false) }
      var dropped: Deque<Call> = []
      if dropsData { swap(&dropped, &state.calls) }
      state.calls.append(call)
      if case .end = call { state.hasEnd = true }
      state.bytes += bytes
      if state.bytes >= Self.highWater { state.isStopped = true }
      return (dropped, false, state.isStopped, Self.mustSchedule(&state))
    }
    _ = consume dropped
    if isDeaf, case .end(_, let core) = call { core.operations.remove() }
    if mustSchedule { schedule() }
    return isStopped ? .pause : .more
  }

  private static func mustSchedule(_ state: inout State) -> Bool {
    guard !state.isHeld, !state.isScheduled, !state.calls.isEmpty else { return false }
    state.isScheduled = true
    return true
  }

  // MARK: The target's side

  private func schedule() {
    guard let operation = state.withLock({ $0.operation }) else { return }
    guard let delivery = target.delivery else { return pool.run { [self] in drain() } }
    let turn = Parcel { [self] in
      drain()
    } comeBack: { [self] error in
      lost(because: error)
    }
    DeliveryFrame.mark(operation.core.gateIdentity) { delivery.submit(turn) }
  }

  /// Makes the calls that are there, on the target. What comes meanwhile takes its turn anew, so that one busy
  /// operation does not keep a thread from others.
  private func drain() {
    guard let operation = state.withLock({ $0.operation }) else { return }
    for _ in 0..<state.withLock({ $0.calls.count }) {
      guard let call = state.withLock({ $0.calls.popFirst() }) else { break }
      make(call, operation)
    }
    let goesOn = state.withLock { state in
      state.isScheduled = false
      return Self.mustSchedule(&state)
    }
    if goesOn { schedule() }
  }

  private func make(_ call: Call, _ operation: DispatchOperation) {
    if let delegate {
      DeliveryFrame.mark(operation.core.gateIdentity) {
        tell(delegate, call, URLDispatchOperation(operation: operation))
      }
    } else {
      // Nobody is left who would hear of the rest.
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
      // The cycle between the two ends here.
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
    if case .sendAgain = answer { skip() }
    operation.operation.answer(answer)
    if case .proceed = answer { delegate.dispatchOperation(operation, didReceiveResponse: challenge.response) }
  }

  /// The body of a response that asked is passed over, up to the head of the next one.
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

  // MARK: Silence

  /// The target takes no calls: the request ends, since nobody can hear of it.
  private func lost(because error: (any Error)?) {
    let operation = fallSilent()
    guard let operation else { return }
    let cause = error.map { "\($0)" } ?? "it takes no more calls"
    HeadgateLog.warn(
      .dispatcher, "A delegate of a request to \(operation.endPoint) could not be called where it asked to be: \(cause)"
    )
    operation.fail(DispatchError(.deliveryFailed, detail: cause, underlying: error))
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
