extension ThreadLoop {
  /// Runs the loop until the limit passes, or until ``endRun()`` or ``stop()``. On the loop's own thread.
  ///
  /// Unlike a classic run loop it does not return when it has nothing to wait for: it sleeps, without using processor
  /// time, until another thread sends something. Runs can be nested: called from inside a closure of the loop, this
  /// continues with the next items, in order, before that closure ends. A source's handler or a repeating timer is
  /// never called inside itself. Each iteration has its own autorelease pool on systems with Objective-C. It performs
  /// at most 256 items and 256 timers, and handles up to 128 ready descriptors, so that a flood of one kind does not
  /// delay the others.
  ///
  /// - Parameter deadline: When to return at the latest. With a deadline in the past, it performs a single turn without
  ///   waiting.
  /// - Returns: Why the run ended; never `performed`.
  /// - Throws: ``LoopError``: `wrongThread`, or `onCooperativeThread` if the calling thread runs Swift tasks and is not
  ///   one of Headgate's. A stopped loop is not an error: the result is `stopped`.
  @available(*, noasync)
  @discardableResult
  public func run(until deadline: Deadline = .distantFuture) throws(LoopError) -> LoopRunEnd {
    try checkThread()
    return core.run(until: deadline)
  }

  /// Waits until there is work, performs one iteration of it, and returns. On the loop's own thread.
  ///
  /// With a timeout of zero, the default, it does not wait. That suits a long job that checks its loop between two
  /// steps. A check that finds nothing takes well under a microsecond.
  ///
  /// - Parameter timeout: How long to wait at most. A negative value counts as zero.
  /// - Returns: `performed` if anything was done.
  /// - Throws: Like ``run(until:)``.
  @available(*, noasync)
  @discardableResult
  public func runOnce(timeout: Duration = .zero) throws(LoopError) -> LoopRunEnd {
    try checkThread()
    return core.run(once: true, until: timeout <= .zero ? .distantPast : core.now + timeout)
  }

  /// Ends the innermost run after the current call has returned; the remaining work waits for the next run. Like
  /// CFRunLoopStop. Can be called from any thread.
  ///
  /// Returns false if there is no run to end. The run of a loop's own thread does not count: ``stop()`` ends it.
  @discardableResult
  public func endRun() -> Bool { core.endRun() }

  private func checkThread() throws(LoopError) {
    guard core.isAtHome else { throw LoopError(.wrongThread, loop: name) }
    if WorkerThread.mustNotBlock { throw LoopError(.onCooperativeThread, loop: name) }
  }
}

/// How a run of a loop ended.
public enum LoopRunEnd: Hashable, Sendable {
  /// Something was performed, in ``ThreadLoop/runOnce(timeout:)``.
  case performed
  /// The limit passed.
  case timedOut
  /// ``ThreadLoop/endRun()`` was called.
  case ended
  /// The loop has stopped.
  case stopped
  /// The loop's thread was cancelled.
  case cancelled
}
