import HeadgateThreads

/// Runs a function, and again when it has not ended after a while; the first success wins and the rest is cancelled.
///
///     let page = try await hedged(after: .milliseconds(50)) { try await replica.page(url) }
///
/// A failed attempt brings the next one on at once; a hundred thousand that do need the stack of one. Only for what may
/// be done twice. Cancelled at whatever step, it makes no further attempt, and those that run are cancelled; an error
/// thrown in a cancel hook of the form for callbacks goes to the log and stops nothing.
///
/// - Parameters:
///   - delay: How long after the first attempt the second one starts, after the second the third, and so on; with zero
///     all start at once.
///   - attempts: How many there are at most; 1 to 100,000. All are made ready at the start, and take memory.
///   - losers: What becomes of the others at the first success, or when the task is cancelled.
///   - discard: Gets each success that is not the result.
///   - operation: What to run.
/// - Returns: The first success.
/// - Throws: ``FlowError``: `allFailed` with the failures of all attempts, `cancelled` (the task was), `invalidArgument`.
nonisolated(nonsending)
  public func hedged<Success: Sendable, Failure: Error>(
    after delay: Duration, attempts: Int = 2, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async throws(FlowError<Failure>) -> Success
{
  try await hedged(
    after: delay, attempts: attempts, losers: losers, on: TimerThread.shared, discard: discard, operation)
}

nonisolated(nonsending)
  func hedged<Success: Sendable, Failure: Error>(
    after delay: Duration, attempts: Int, losers: Losers, on timers: any TimerService,
    discard: (@Sendable (Success) -> Void)?, _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async throws(FlowError<Failure>) -> Success
{
  let plan = hedgePlan(attempts, losers, discard) as ContestPlan<Success, Failure, Success>
  let title = ContestTitle("hedged", of: attempts)
  guard losers == .join, !plan.isInvalid else {
    let calls = hedgedCallback(plan, after: delay, on: timers, callbackFunction(operation))
    return try await CallWait.suspend(until: .distantFuture, on: timers, settles: true, calls)
      .settled(title.operation, since: title.start)
  }
  let starts = HedgeStarts()
  let start = timers.now
  return try await plan.join(title) { index, slots in
    let waiter = Waiter.ofTask()
    if index > 0 {
      starts.call(at: index) { waiter.end(.woken) }
      let moment = turn(index, start, delay)
      guard await waiter.wait(until: moment, on: timers) != .cancelled else { return .missing }
    }
    do throws(Failure) {
      return slots.putSuccess(try await operation(), at: index)
    } catch {
      let end = slots.putFailure(error, at: index)
      // What ends because it was cancelled brings nothing on.
      if !Task.isCancelled { starts.openNext() }
      return end
    }
  }
}

/// Calls a callback function, and again when it has not answered after a while, and blocks the calling thread until the
/// first success.
///
/// As the async form; the wait holds the calling thread and no other.
///
/// - Parameters:
///   - delay: How long after one attempt the next one starts.
///   - attempts: How many there are at most; 1 to 100,000.
///   - losers: What becomes of the others at the first success.
///   - deadline: When to give up: what runs is cancelled and abandoned.
///   - discard: Gets each success that is not the result.
///   - function: What to call.
/// - Returns: The first success.
/// - Throws: ``FlowError``: as the async form, and `timedOut`, `wouldDeadlock`, `onCooperativeThread`.
@available(*, noasync, message: "blocks the thread; use the form for async functions")
public func hedged<Success: Sendable, Failure: Error>(
  after delay: Duration, attempts: Int = 2, losers: Losers = .join, until deadline: Deadline,
  discard: (@Sendable (Success) -> Void)? = nil, _ function: @escaping CallbackFunction<Success, Failure>
) throws(FlowError<Failure>) -> Success {
  let title = ContestTitle("hedged", of: attempts)
  let plan = hedgePlan(attempts, losers, discard) as ContestPlan<Success, Failure, Success>
  return try CallWait.block(
    until: deadline, settles: true, hedgedCallback(plan, after: delay, on: TimerThread.shared, function)
  )
  .settled(title.operation, since: title.start)
}

/// The same as a callback function: it blocks nobody, can be started with
/// ``startCallback(on:discard:_:_:)``, and can be a part of another combinator.
public func hedged<Success: Sendable, Failure: Error>(
  after delay: Duration, attempts: Int = 2, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
  _ function: @escaping CallbackFunction<Success, Failure>
) -> CallbackFunction<Success, FlowError<Failure>> {
  hedgedCallback(hedgePlan(attempts, losers, discard), after: delay, on: TimerThread.shared, function)
}

func hedgePlan<Success: Sendable, Failure: Error>(
  _ attempts: Int, _ losers: Losers, _ discard: (@Sendable (Success) -> Void)?
) -> ContestPlan<Success, Failure, Success> {
  // All count as started; each but the first waits for its turn before it does anything. None may be: it is refused.
  ContestPlan(
    "hedged", .firstToSucceed, .winner, count: max(attempts, 0), atMost: attempts > 100_000 ? 0 : attempts,
    losers: losers, discard: discard)
}

func hedgedCallback<Success: Sendable, Failure: Error>(
  _ plan: ContestPlan<Success, Failure, Success>, after delay: Duration, on timers: any TimerService,
  _ function: @escaping CallbackFunction<Success, Failure>
) -> CallbackFunction<Success, FlowError<Failure>> {
  { completion in
    let starts = HedgeStarts()
    let start = timers.now
    let calls = plan.asCallback { index, completion in
      let timer = LockedBox<ScheduledTimer?>(nil)
      let attempt = completion.beneath { (end: CallEnd<Success, Failure>) -> CallEnd<Success, Failure> in
        timer.withLock { $0.take() }?.cancel()
        // What ends because it was cancelled brings nothing on.
        if end.isFailure, !completion.isCancelled { starts.openNext() }
        return end
      } discard: {
        completion.call.drop($0)
      }
      guard index > 0 else { return function(attempt) }
      let scheduled = timers.schedule(at: turn(index, start, delay)) { starts.open(index) }
      timer.withLock { $0 = scheduled }
      // Letting go of the start lets go of its completion, which ends it.
      attempt.onCancel { starts.drop(index) }
      starts.call(at: index) {
        function(attempt)
        return true
      }
    }
    calls(completion)
  }
}

/// When an attempt starts by itself. Saturates.
private func turn(_ index: Int, _ start: Deadline, _ delay: Duration) -> Deadline {
  let (distance, overflow) = max(delay, .zero).wholeNanoseconds.multipliedReportingOverflow(by: Int64(index))
  return overflow ? .distantFuture : start.advanced(byNanoseconds: distance)
}

extension CallEnd {
  fileprivate var isFailure: Bool {
    switch self {
    case .failure, .missing: true
    case .success: false
    }
  }
}
