import HeadgateThreads

/// Runs a function until it ends or a deadline passes.
///
///     let page = try await withDeadline(.after(.seconds(3))) { try await client.page(url) }
///
/// At the deadline the function is cancelled. What it returns after that is not the result, since the caller was promised
/// an answer in time.
///
/// - Parameters:
///   - deadline: When it must have ended. One that has passed ends it at once; `Deadline.distantFuture` never.
///   - losers: What becomes of it at the deadline, or when the task is cancelled: ``Losers/join`` waits for its end,
///     ``Losers/abandon`` returns at once.
///   - discard: Gets a success that came too late.
///   - operation: What to run, in a child task.
/// - Returns: What it returned.
/// - Throws: ``FlowError``: `failed` with what it threw, `timedOut`, `cancelled` (the task was).
nonisolated(nonsending)
  public func withDeadline<Success: Sendable, Failure: Error>(
    _ deadline: Deadline, losers: Losers = .join, discard: (@Sendable (Success) -> Void)? = nil,
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async throws(FlowError<Failure>) -> Success
{
  try await withDeadline(deadline, losers: losers, on: TimerThread.shared, discard: discard, operation)
}

nonisolated(nonsending)
  func withDeadline<Success: Sendable, Failure: Error>(
    _ deadline: Deadline, losers: Losers, on timers: any TimerService, discard: (@Sendable (Success) -> Void)? = nil,
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async throws(FlowError<Failure>) -> Success
{
  let start = timers.now
  let outcome: CallWait<Success, Failure>.Outcome
  if losers == .join {
    outcome = await cutShort(at: deadline, on: timers, discard: discard, operation)
  } else {
    outcome = await CallWait.suspend(until: deadline, on: timers, discard: discard, callbackFunction(operation))
  }
  do throws(FlowError<Failure>) {
    return try outcome.value("withDeadline", since: start)
  } catch {
    throw FlowError(
      error.code, failures: error.failures, deciding: error.failure == nil ? nil : 0, operation: error.operation,
      waited: timers.now - start)
  }
}

/// Runs a child task that is cancelled at the deadline, and waits for its end.
nonisolated(nonsending)
  func cutShort<Success: Sendable, Failure: Error>(
    at deadline: Deadline, on timers: any TimerService, discard: (@Sendable (Success) -> Void)?,
    _ operation: @escaping @Sendable () async throws(Failure) -> Success
  ) async -> CallWait<Success, Failure>.Outcome
{
  let waiter = Waiter.ofTask()
  return await withTaskGroup(of: Result<Success, Failure>.self) { group in
    group.addTask {
      defer { waiter.end(.woken) }
      do throws(Failure) { return .success(try await operation()) } catch { return .failure(error) }
    }
    let outcome = await waiter.wait(until: deadline, on: timers)
    if outcome != .woken { group.cancelAll() }
    let end = await group.next()
    let isSuccess = if case .success? = end { true } else { false }
    let reason: FlowErrorCode? =
      switch outcome {
      case .timedOut: .timedOut
      // What fails because all is cancelled is no decision; what succeeds all the same is.
      case .cancelled: isSuccess ? nil : .cancelled
      case .woken, .pending: !isSuccess && Task.isCancelled ? .cancelled : nil
      }
    switch end {
    case .success(let value):
      guard let reason else { return .ended(.success(value)) }
      discard?(value)
      return .left(reason)
    case .failure(let failure): return reason.map { .left($0) } ?? .ended(.failure(failure))
    case nil: return .left(reason ?? .cancelled)
    }
  }
}

/// A callback function that answers by a deadline. The blocking form is ``waitForCallback(until:calledOn:discard:_:)``.
///
/// At the deadline the function is cancelled through its hooks; what it answers after that is not the result. An error thrown
/// in a hook goes to the log and stops nothing.
///
/// - Parameters:
///   - deadline: When it must have answered.
///   - losers: Whether its own answer is waited for once it was cancelled at the deadline. ``Losers/abandon`` unless
///     given: a function that never answers is why one has a deadline.
///   - discard: Gets a success that came too late.
///   - function: What to call.
/// - Returns: The callback function. Each call of it fails with a ``FlowError``: `failed`, `timedOut`, `cancelled`,
///   `unanswered`.
public func withDeadline<Success: Sendable, Failure: Error>(
  _ deadline: Deadline, losers: Losers = .abandon, discard: (@Sendable (Success) -> Void)? = nil,
  _ function: @escaping CallbackFunction<Success, Failure>
) -> CallbackFunction<Success, FlowError<Failure>> {
  withDeadline(deadline, losers: losers, on: TimerThread.shared, discard: discard, function)
}

func withDeadline<Success: Sendable, Failure: Error>(
  _ deadline: Deadline, losers: Losers, on timers: any TimerService, discard: (@Sendable (Success) -> Void)?,
  _ function: @escaping CallbackFunction<Success, Failure>
) -> CallbackFunction<Success, FlowError<Failure>> {
  { completion in
    let watch = DeadlineWatch<Success, Failure>(completion, timers, losers, discard)
    completion.call.attach(.init(cancelled: { code in watch.end(code) }, discard: discard))
    watch.begin(deadline, function)
  }
}
