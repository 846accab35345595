extension TimerService {
  /// One nanosecond: the resolution of a ``Deadline``.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Suspends the task until the deadline has passed; it never resumes earlier. Does not block a thread.
  ///
  /// - Parameters:
  ///   - deadline: When to resume.
  ///   - tolerance: Ignored.
  /// - Throws: `CancellationError` if the task is cancelled before or during the sleep.
  nonisolated(nonsending) public func sleep(until deadline: Deadline, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    if await Waiter.ofTask().wait(until: deadline, on: self) == .cancelled { throw CancellationError() }
  }
}
