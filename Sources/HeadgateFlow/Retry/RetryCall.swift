import HeadgateThreads

/// A retry of a callback function under way.
///
/// One attempt at a time, started in a loop: attempts that fail inside their own starts need the stack of one.
final class RetryCall<Success: Sendable, Failure: Error>: Sendable {
  typealias Attempt = CallbackCall<Success, Failure>

  /// What decides about another attempt besides the plan; called with no lock held.
  struct Questions: Sendable {
    let isRetryable: @Sendable (Failure) -> Bool
    let delay: @Sendable (Failure) -> Duration?
  }

  private struct State {
    /// Nil while somebody works it out, and at the end.
    var plan: RetryPlan<Failure>?
    /// The attempt that runs; nil during a wait.
    var attempt: Attempt?
    var timer: ScheduledTimer?
    /// Until the end.
    var completion: Completion<Success, FlowError<Failure>>?
    /// Why it is being ended from outside.
    var reason: FlowErrorCode?
    /// Whether somebody is in the loop of starts, and whether there is another one to make.
    var isStarting = false
    var mustStart = false
  }

  private let state: Locked<State>
  private let timers: any TimerService
  private let start: Deadline
  private let outer: CallbackCall<Success, FlowError<Failure>>
  private let questions: Questions
  private let discard: (@Sendable (Success) -> Void)?
  private let function: CallbackFunction<Success, Failure>

  init(
    _ plan: RetryPlan<Failure>, _ timers: any TimerService, _ completion: Completion<Success, FlowError<Failure>>,
    _ questions: Questions, _ discard: (@Sendable (Success) -> Void)?,
    _ function: @escaping CallbackFunction<Success, Failure>
  ) {
    state = Locked(State(plan: plan, completion: completion))
    self.timers = timers
    start = timers.now
    outer = completion.call
    self.questions = questions
    self.discard = discard
    self.function = function
  }

  // MARK: Attempts

  /// Makes the next attempt: here, or in the loop that somebody is in.
  func next() {
    let isMine = state.withLock { state in
      state.mustStart = true
      defer { state.isStarting = true }
      return !state.isStarting
    }
    guard isMine else { return }
    while let attempt = nextAttempt() { function(Completion(attempt)) }
  }

  private func nextAttempt() -> Attempt? {
    state.withLock { state in
      guard state.mustStart, state.completion != nil else {
        state.isStarting = false
        return nil
      }
      state.mustStart = false
      let attempt = Attempt(duties: outer.duties, discard: { [self] in lose($0) }) { [self] end in
        ended(end)
        return true
      }
      state.attempt = attempt
      return attempt
    }
  }

  private func ended(_ end: CallEnd<Success, Failure>) {
    switch end {
    case .success(let value): conclude { _ in .success(value) }
    case .missing(let code, _): conclude { [self] plan in .failure(error(code, plan)) }
    case .failure(let failure): failed(failure)
    }
  }

  private func failed(_ failure: Failure) {
    let (isRetryable, asked) = (questions.isRetryable(failure), questions.delay(failure))
    let (taken, _) = state.withLock { state in (state.plan.take(), state.attempt.take()) }
    guard var plan = taken else { return }
    var random = SystemRandom()
    let verdict = plan.fail(failure, isRetryable: isRetryable, asked: asked, now: timers.now, using: &random)
    let reason = state.withLock { [plan] state in
      state.plan = plan
      return state.reason
    }
    switch verdict {
    // What fails because it was cancelled is no decision.
    case _ where reason != nil: conclude { [self] plan in .failure(error(reason ?? .cancelled, plan)) }
    case .end(let code): conclude { [self] plan in .failure(error(code, plan)) }
    case .again(.zero): next()
    case .again(let delay): wait(delay)
    }
  }

  private func wait(_ delay: Duration) {
    let timer = timers.schedule(after: delay) { [self] in next() }
    let isOver = state.withLock { state in
      state.timer = timer
      return state.completion == nil
    }
    if isOver { timer.cancel() }
  }

  // MARK: The end

  /// It is ended from outside: at once during a wait or for a deadline, else when the attempt has ended.
  func cancel(_ code: FlowErrorCode) {
    let (attempt, isWaiting) = state.withLock { state -> (Attempt?, Bool) in
      guard state.completion != nil else { return (nil, false) }
      state.reason = code
      return (state.attempt, state.attempt == nil && state.plan != nil)
    }
    attempt?.cancel(code)
    if code == .timedOut { attempt?.giveUp() }
    if isWaiting || code == .timedOut { conclude { [self] plan in .failure(error(code, plan)) } }
  }

  func conclude(_ result: (RetryPlan<Failure>?) -> Result<Success, FlowError<Failure>>) {
    let (completion, plan, timer, _) = state.withLock { state in
      (state.completion.take(), state.plan.take(), state.timer.take(), state.attempt.take())
    }
    let result = result(plan)
    timer?.cancel()
    if let completion { return completion(result) }
    if case .success(let value) = result { lose(value) }
  }

  /// A success that nobody takes. Without a way of its own it goes the way of the caller.
  private func lose(_ value: Success) {
    if let discard { discard(value) } else { outer.drop(value) }
  }

  func error(_ code: FlowErrorCode, _ plan: RetryPlan<Failure>?) -> FlowError<Failure> {
    let now = timers.now
    return plan?.error(code, since: start, now: now) ?? FlowError(code, operation: "retry", waited: now - start)
  }
}
