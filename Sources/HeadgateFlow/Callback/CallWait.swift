import HeadgateThreads

/// A call of a callback function that a thread or a task waits for: what all blocking forms, and the async ones over
/// callbacks, are made of.
struct CallWait<Success: Sendable, Failure: Error>: Sendable {
  private let slot = CallSlot<Success, Failure>()
  private let call: CallbackCall<Success, Failure>

  /// How the wait ended.
  enum Outcome {
    case ended(CallEnd<Success, Failure>)
    /// Timed out, cancelled or refused; the function has been told.
    case left(FlowErrorCode)
  }

  init(duties: ThreadDuties?, discard: (@Sendable (Success) -> Void)? = nil) {
    call = CallbackCall(duties: duties, discard: discard) { [slot] end in slot.put(end) }
  }

  /// Calls the function and blocks the thread until it has answered.
  ///
  /// - Parameter settles: Whether the function is a combinator that itself answers when it is cancelled (see
  ///   `CallbackCall.Combinator`): its answer, which knows more, is what counts then.
  @available(*, noasync)
  static func block(
    until deadline: Deadline, calledOn target: Delivery = .inline, settles: Bool = false,
    discard: (@Sendable (Success) -> Void)? = nil, _ function: CallbackFunction<Success, Failure>
  ) -> Outcome {
    guard !WorkerThread.mustNotBlock else { return .left(.onCooperativeThread) }
    let duties = ThreadDuties.current
    guard !target.needs(duties) else { return .left(.wouldDeadlock) }
    let wait = CallWait(duties: duties, discard: discard)
    function(Completion(wait.call))
    var outcome = wait.sleep(until: deadline)
    if outcome == .cancelled, settles {
      wait.call.cancel(.cancelled)
      outcome = wait.sleep(until: deadline, cancellable: false)
    }
    return wait.conclude(outcome, settles: settles)
  }

  /// Calls the function and suspends the task until it has answered; returns at once when the task is cancelled.
  nonisolated(nonsending) static func suspend(
    until deadline: Deadline, on timers: any TimerService, settles: Bool = false,
    discard: (@Sendable (Success) -> Void)? = nil, _ function: CallbackFunction<Success, Failure>
  ) async -> Outcome {
    let wait = CallWait(duties: nil, discard: discard)
    let waiter = Waiter.ofTask()
    guard !Task.isCancelled else { return .left(.cancelled) }
    function(Completion(wait.call))
    guard wait.slot.listen(waiter) else { return wait.conclude(.woken, settles: settles) }
    return wait.conclude(await waiter.wait(until: deadline, on: timers), settles: settles)
  }

  private func sleep(until deadline: Deadline, cancellable: Bool = true) -> Waiter.Outcome {
    let waiter = Waiter.ofThread()
    guard slot.listen(waiter) else { return .woken }
    return waiter.wait(until: deadline, cancellable: cancellable)
  }

  private func conclude(_ outcome: Waiter.Outcome, settles: Bool) -> Outcome {
    let code: FlowErrorCode = outcome == .cancelled ? .cancelled : .timedOut
    if outcome != .woken, settles { call.cancel(code) }
    if let end = slot.close() { return .ended(end) }
    // The hooks run once nobody waits any more, so that what they answer is late, whichever thread they do it on.
    if !settles { call.cancel(code) }
    call.giveUp()
    return .left(code)
  }
}

extension CallWait.Outcome {
  /// For a plain function.
  func value(_ operation: String, since start: Deadline) throws(FlowError<Failure>) -> Success {
    switch self {
    case .ended(.success(let value)): return value
    case .ended(.failure(let failure)):
      throw FlowError(.failed, failures: [failure], deciding: 0, operation: operation, waited: .now - start)
    case .ended(.missing(let code, let error)):
      throw FlowError(code, operation: operation, waited: .now - start, underlying: error)
    case .left(let code): throw FlowError(code, operation: operation, waited: .now - start)
    }
  }

  /// For a combinator, whose failures are such errors themselves.
  func settled<Inner: Error>(
    _ operation: String, since start: Deadline
  ) throws(FlowError<Inner>) -> Success where Failure == FlowError<Inner> {
    switch self {
    case .ended(.success(let value)): return value
    case .ended(.failure(let error)): throw error
    case .ended(.missing(let code, let error)):
      throw FlowError(code, operation: operation, waited: .now - start, underlying: error)
    case .left(let code): throw FlowError(code, operation: operation, waited: .now - start)
    }
  }
}
