extension TimerThread {
  /// Suspends the task until the deadline has passed; it never resumes earlier. Does not block a thread.
  ///
  /// Threads sleep with `ManagedThread.sleep` instead.
  ///
  /// - Parameters:
  ///   - deadline: When to resume.
  ///   - tolerance: Ignored.
  /// - Throws: `CancellationError` if the task is cancelled before or during the sleep; ``WaitError`` with `closed` if
  ///   the timer thread is disposed of.
  nonisolated(nonsending) public func sleep(until deadline: Deadline, tolerance: Duration? = nil) async throws {
    let start = now
    try Task.checkCancellation()
    // Waits for the disposal, with the end of the sleep as the deadline. The timeout is the normal case.
    do {
      try await disposal.pass("sleep", until: deadline)
    } catch let error as WaitError where error.code == .timedOut {
      return
    }
    throw WaitError(.closed, operation: "sleep on \"\(name)\"", waited: now - start)
  }
}
