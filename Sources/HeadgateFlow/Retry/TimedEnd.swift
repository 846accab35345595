import HeadgateThreads

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
