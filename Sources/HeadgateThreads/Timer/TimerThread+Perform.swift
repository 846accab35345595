extension TimerThread {
  /// Makes a call once, after `deadline` has passed, like `performSelector:onTarget:withObject:afterDelay:` and similar
  /// methods.
  ///
  /// - Parameters:
  ///   - deadline: When to make the call: at once if it has passed, never for ``Deadline/distantFuture``.
  ///   - place: Where to make the call; by default on the timer thread itself. A slow call there delays all other
  ///     timers of the thread: deliver it to a pool.
  ///   - owner: The owner of the call, for ``cancelAll(owner:)``. Not retained. An owner should cancel its calls when
  ///     it ends, and may do so in its `deinit`.
  ///   - key: Identifies the call among the owner's, for ``cancelAll(owner:key:)``: a name, or a struct of name and
  ///     argument.
  ///   - body: The call. Its error goes to the timer thread's `onError`.
  ///   - onDrop: Called once if the call is cancelled before it starts: by `cancel`, `cancelAll`, ``dispose()`` or a
  ///     delivery target that refuses it. It runs on the thread that cancels, without a lock. Every call ends with
  ///     either `body` or this.
  /// - Throws: ``TimerError``: `disposed`, or `full` at the limit.
  /// - Complexity: O(1).
  @discardableResult
  public func perform(
    at deadline: Deadline, on place: Delivery = .inline, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try calls.start(on: self, at: deadline, place: place, owner: owner, key: key, body, onDrop: onDrop)
  }

  /// Makes a call once, after `delay` has passed. See ``perform(at:on:owner:key:_:onDrop:)``.
  @discardableResult
  public func perform(
    after delay: Duration, on place: Delivery = .inline, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try perform(at: now + delay, on: place, owner: owner, key: key, body, onDrop: onDrop)
  }

  /// Makes a call repeatedly, by rate or by delay, until it is cancelled. The calls never overlap.
  ///
  /// An error of a call is reported, and the timer continues. The parameters are those of
  /// ``perform(at:on:owner:key:_:onDrop:)``. `onDrop` is called once, when the timer is cancelled, possibly while a
  /// call is still running.
  ///
  /// - Parameters:
  ///   - repetition: How the time of the next call is determined.
  ///   - first: The time of the first call; by default one interval from now.
  ///   - place: Where to make the calls.
  ///   - owner: The owner of the calls, for `cancelAll(owner:)`. Not retained.
  ///   - key: Identifies the calls among the owner's, for `cancelAll(owner:key:)`.
  ///   - body: The call.
  ///   - onDrop: Called once when the timer is cancelled or the thread is disposed of.
  /// - Throws: ``TimerError``: `invalidInterval` for zero or less, `disposed`, or `full` at the limit.
  @discardableResult
  public func perform(
    repeating repetition: TimerRepetition, startingAt first: Deadline? = nil, on place: Delivery = .inline,
    owner: AnyObject? = nil, key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try calls.start(
      on: self, at: first ?? now + repetition.interval, place: place, repetition: repetition, owner: owner, key: key,
      body, onDrop: onDrop)
  }

  /// Cancels all calls of an owner, like `cancelPreviousPerformRequestsWithTarget:`. Returns their number.
  ///
  /// - Complexity: O(n) in the number of the owner's calls.
  @discardableResult
  public func cancelAll(owner: AnyObject) -> Int { calls.cancelAll(owner: ObjectIdentifier(owner)) }

  /// Cancels all calls of an owner with an equal key, like `cancelPreviousPerformRequestsWithTarget:selector:object:`.
  /// Returns their number.
  ///
  /// - Complexity: O(n) in the number of calls with that key.
  @discardableResult
  public func cancelAll(owner: AnyObject, key: some Hashable & Sendable) -> Int {
    calls.cancelAll(owner: ObjectIdentifier(owner), key: AnyHashable(key))
  }

  /// Cancels all calls of the `perform` family. Returns their number.
  @discardableResult
  public func cancelAll() -> Int { calls.cancelAll() }

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
