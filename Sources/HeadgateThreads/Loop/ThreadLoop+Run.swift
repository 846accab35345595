extension ThreadLoop {
  /// Does the loop's work until the limit has passed, or until ``endRun()`` or ``stop()``. On the loop's own thread.
  ///
  /// Unlike a classic run loop it does not return because there is nothing to wait for: it sleeps, using no processor
  /// time, until another thread sends something. Runs nest: called from inside a closure of the loop, this goes on with
  /// what comes next, in order, before the closure ends; a handler of a source or a repeating timer is never called
  /// inside itself. Each turn has an autorelease pool of its own where Objective-C exists, and does at most 256 items
  /// and timers and what is ready besides, so that no flood of one kind holds up another.
  ///
  /// - Parameter deadline: When to return at the latest; one that has passed gives a single turn that does not wait.
  /// - Returns: Why it ended: never `performed`.
  /// - Throws: ``LoopError``: `wrongThread`, or `onCooperativeThread` where a task of Swift's runs on a thread that
  ///   isn't Headgate's. A loop that has stopped is no error: the answer is `stopped`.
  @available(*, noasync)
  @discardableResult
  public func run(until deadline: Deadline = .distantFuture) throws(LoopError) -> LoopRunEnd {
    try checkThread()
    return core.run(.turns, until: deadline)
  }

  /// Waits until there is something to do, does it (a turn's share), and returns. On the loop's own thread.
  ///
  /// Zero, the default, does not wait: for a long job in pieces that looks at its loop between any two of them. Such a
  /// look that finds nothing costs well under a microsecond.
  ///
  /// - Parameter timeout: How long to wait at most; zero and less: not at all.
  /// - Returns: `performed` if anything was done.
  /// - Throws: As ``run(until:)``.
  @available(*, noasync)
  @discardableResult
  public func runOnce(timeout: Duration = .zero) throws(LoopError) -> LoopRunEnd {
    try checkThread()
    return core.run(.once, until: timeout <= .zero ? .distantPast : core.now + timeout)
  }

  /// Ends the innermost run once what it does at the moment has returned; what it leaves waits for the next run.
  /// CFRunLoopStop. From any thread.
  ///
  /// False: nobody runs the loop, or only its own thread, which ends with ``stop()``.
  @discardableResult
  public func endRun() -> Bool { core.endRun() }

  private func checkThread() throws(LoopError) {
    guard core.isAtHome else { throw LoopError(.wrongThread, loop: name) }
    if core.mustNotBlock { throw LoopError(.onCooperativeThread, loop: name) }
  }
}

/// How a run of a loop ended.
public enum LoopRunEnd: Hashable, Sendable {
  /// Something was done, as asked of ``ThreadLoop/runOnce(timeout:)``.
  case performed
  /// The limit has passed.
  case timedOut
  /// ``ThreadLoop/endRun()``.
  case ended
  /// The loop has stopped.
  case stopped
  /// The loop's thread was cancelled.
  case cancelled
}
