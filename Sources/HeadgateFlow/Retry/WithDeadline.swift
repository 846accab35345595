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

/// How a function with a deadline ended.
enum TimedEnd<Success: Sendable, Failure: Error>: Sendable {
  case success(Success)
  case failure(Failure)
  /// It did not end in time; a late result is discarded.
  case timedOut
  /// It failed because the task was cancelled. A success counts even then.
  case cancelled

  /// Runs a function and waits for its end. With a deadline, it runs as a child task that is cancelled at the deadline.
  nonisolated(nonsending) static func of(
    _ operation: @escaping @Sendable () async throws(Failure) -> Success, until deadline: Deadline,
    on timers: any TimerService, _ discard: (@Sendable (Success) -> Void)?
  ) async -> TimedEnd {
    guard deadline != .distantFuture else {
      do throws(Failure) { return .success(try await operation()) } catch {
        return Task.isCancelled ? .cancelled : .failure(error)
      }
    }
    let waiter = Waiter.ofTask()
    return await withTaskGroup(of: Result<Success, Failure>?.self) { group in
      group.addTask {
        defer { waiter.end(.woken) }
        // If it is cancelled before it runs, the function is not called.
        if Task.isCancelled { return nil }
        do throws(Failure) { return .success(try await operation()) } catch { return .failure(error) }
      }
      let isTimedOut = await waiter.wait(until: deadline, on: timers) == .timedOut
      if isTimedOut { group.cancelAll() }
      switch await group.next() ?? nil {
      case .success(let value) where isTimedOut: discard?(value)
      case .success(let value): return .success(value)
      case .failure(let failure) where !isTimedOut && !Task.isCancelled: return .failure(failure)
      case .failure, nil: break
      }
      return isTimedOut ? .timedOut : .cancelled
    }
  }
}
