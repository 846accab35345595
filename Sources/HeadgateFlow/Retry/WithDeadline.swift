import HeadgateThreads

/// Runs a function until it ends or a deadline passes.
///
///     let page = try await withDeadline(.after(.seconds(3))) { try await client.page(url) }
///
/// At the deadline the function is cancelled. A value that it returns later is not the result, since the caller was
/// promised an answer in time.
///
/// - Parameters:
///   - deadline: When the function must have ended. A deadline in the past cancels it at once; `Deadline.distantFuture`
///     never does.
///   - losers: What happens to the function at the deadline, or when the task is cancelled: ``Losers/join`` waits for
///     its end, ``Losers/abandon`` returns at once.
///   - timers: The clock of the deadline.
///   - discard: Receives a success that comes too late.
///   - operation: The function to run.
/// - Returns: The value that the function returned.
/// - Throws: The function's error. ``FlowError``: `timedOut`. `CancellationError` if the task was cancelled.
nonisolated(nonsending)
  public func withDeadline<Success: Sendable>(
    _ deadline: Deadline, losers: Losers = .join, on timers: any TimerService = TimerThread.deadlines,
    discard: (@Sendable (Success) -> Void)? = nil, _ operation: @escaping @Sendable () async throws -> Success
  ) async throws -> Success
{
  let start = timers.now
  guard losers == .join else {
    return try await awaitCallback(
      "withDeadline", until: deadline, on: timers, discard: discard, callbackFunction(operation))
  }
  switch await TimedEnd.of(operation, until: deadline, on: timers, discard) {
  case .success(let value): return value
  case .failure(let failure): throw failure
  case .timedOut: throw FlowError(.timedOut, operation: "withDeadline", waited: timers.now - start)
  case .cancelled: throw CancellationError()
  }
}

/// Runs a function for a limited time. Like the form with a deadline, which is `limit` from now.
///
///     let page = try await withDeadline(.seconds(3)) { try await client.page(url) }
///
/// - Parameters:
///   - limit: The time that the function has; with zero or less it is cancelled at once.
///   - losers: What happens to the function at the limit, or when the task is cancelled.
///   - timers: The clock of the limit.
///   - discard: Receives a success that comes too late.
///   - operation: The function to run.
/// - Returns: The value that the function returned.
/// - Throws: Like the form with a deadline.
nonisolated(nonsending)
  public func withDeadline<Success: Sendable>(
    _ limit: Duration, losers: Losers = .join, on timers: any TimerService = TimerThread.deadlines,
    discard: (@Sendable (Success) -> Void)? = nil, _ operation: @escaping @Sendable () async throws -> Success
  ) async throws -> Success
{
  try await withDeadline(timers.now + limit, losers: losers, on: timers, discard: discard, operation)
}
