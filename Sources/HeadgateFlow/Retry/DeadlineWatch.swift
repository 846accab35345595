import HeadgateThreads

/// A call of a callback function with a deadline of its own.
final class DeadlineWatch<Success: Sendable, Failure: Error>: Sendable {
  private struct State {
    var call: CallbackCall<Success, Failure>?
    var timer: ScheduledTimer?
    /// Until the end.
    var completion: Completion<Success, FlowError<Failure>>?
    /// Why it was ended, while the function's own answer is waited for.
    var reason: FlowErrorCode?
  }

  private let state: Locked<State>
  private let timers: any TimerService
  private let losers: Losers
  private let discard: (@Sendable (Success) -> Void)?
  private let start: Deadline

  init(
    _ completion: Completion<Success, FlowError<Failure>>, _ timers: any TimerService, _ losers: Losers,
    _ discard: (@Sendable (Success) -> Void)?
  ) {
    state = Locked(State(completion: completion))
    self.timers = timers
    self.losers = losers
    self.discard = discard
    start = timers.now
  }

  func begin(_ deadline: Deadline, _ function: CallbackFunction<Success, Failure>) {
    let duties = state.withLock { $0.completion?.call.duties }
    let call = CallbackCall<Success, Failure>(duties: duties, discard: discard) { [self] end in ended(end) }
    state.withLock { $0.call = call }
    if deadline != .distantFuture {
      let timer = timers.schedule(at: deadline) { [self] in end(.timedOut, lets: losers == .abandon) }
      let isOver = state.withLock { state in
        state.timer = timer
        return state.completion == nil
      }
      if isOver { timer.cancel() }
    }
    function(Completion(call))
  }

  /// A cancellation: the function's own answer is waited for, unless the one who waits has no time for that either.
  func end(_ code: FlowErrorCode) { end(code, lets: code == .timedOut) }

  private func end(_ code: FlowErrorCode, lets letsGo: Bool) {
    let call = state.withLock { state -> CallbackCall<Success, Failure>? in
      guard state.completion != nil else { return nil }
      state.reason = code
      return state.call
    }
    call?.cancel(code)
    guard letsGo else { return }
    call?.giveUp()
    conclude(.failure(FlowError(code, operation: "withDeadline", waited: timers.now - start)))
  }

  /// True: the answer was taken.
  private func ended(_ end: CallEnd<Success, Failure>) -> Bool {
    let (reason, waited) = (state.withLock { $0.reason }, timers.now - start)
    func error(_ code: FlowErrorCode, _ underlying: (any Error)? = nil) -> FlowError<Failure> {
      FlowError(code, operation: "withDeadline", waited: waited, underlying: underlying)
    }
    switch end {
    case .success(let value):
      // Before the deadline a success counts, even of a function that was cancelled.
      if reason == .timedOut {
        conclude(.failure(error(.timedOut)))
        return false
      }
      return conclude(.success(value))
    case .failure(let failure):
      if let reason { return conclude(.failure(error(reason))) }
      return conclude(
        .failure(
          FlowError(.failed, failures: [failure], deciding: 0, operation: "withDeadline", waited: waited)))
    case .missing(let code, let underlying): return conclude(.failure(error(reason ?? code, underlying)))
    }
  }

  @discardableResult
  private func conclude(_ result: Result<Success, FlowError<Failure>>) -> Bool {
    let (completion, timer, _) = state.withLock { state in
      (state.completion.take(), state.timer.take(), state.call.take())
    }
    timer?.cancel()
    completion?(result)
    return completion != nil
  }
}
