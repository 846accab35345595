extension ThreadLoop {
  /// Makes a call on the loop once, after `deadline` has passed, like `performSelector:withObject:afterDelay:` and
  /// similar methods.
  ///
  /// Never early. Calls are made in the order of their deadlines, those with equal deadlines in the order in which they
  /// were set. The precision is a nanosecond where the system supports it: a loop's own thread requests it; any other
  /// thread keeps its timer slack (50 µs on Linux). Linux before 5.11 rounds up to milliseconds while descriptors are
  /// watched.
  ///
  /// - Parameters:
  ///   - deadline: When to make the call: in the next turn if it has passed, never for ``Deadline/distantFuture``.
  ///   - owner: The owner of the call, for ``cancelAll(owner:)``. Not retained.
  ///   - key: Identifies the call among the owner's, for ``cancelAll(owner:key:)``.
  ///   - body: The call. Its error goes to the loop's `onError`.
  ///   - onDrop: Called once if the call is cancelled or the loop stops before it starts, on the thread that does so.
  /// - Throws: ``TimerError``, `disposed`, if the loop has stopped.
  /// - Complexity: O(log n) in the number of pending timers.
  @discardableResult
  public func perform(
    at deadline: Deadline, owner: AnyObject? = nil, key: (any Hashable & Sendable)? = nil,
    _ body: @escaping @Sendable () throws -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try core.timerCalls.start(on: core, at: deadline, owner: owner, key: key, body, onDrop: onDrop)
  }

  /// Makes a call on the loop once, after `delay` has passed. See ``perform(at:owner:key:_:onDrop:)``.
  @discardableResult
  public func perform(
    after delay: Duration, owner: AnyObject? = nil, key: (any Hashable & Sendable)? = nil,
    _ body: @escaping @Sendable () throws -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try perform(at: core.now + delay, owner: owner, key: key, body, onDrop: onDrop)
  }

  /// Makes a call on the loop repeatedly, by rate or by delay, until it is cancelled or the loop stops, like a
  /// repeating NSTimer. The calls never overlap, not even in a nested run. See ``perform(at:owner:key:_:onDrop:)``.
  ///
  /// - Parameters:
  ///   - repetition: How the time of the next call is determined.
  ///   - first: The time of the first call; by default one interval from now.
  ///   - owner: The owner of the calls, for `cancelAll(owner:)`. Not retained.
  ///   - key: Identifies the calls among the owner's, for `cancelAll(owner:key:)`.
  ///   - body: The call.
  ///   - onDrop: Called once when the timer is cancelled or the loop stops.
  /// - Throws: ``TimerError``: `invalidInterval` for zero or less, `disposed` if the loop has stopped.
  @discardableResult
  public func perform(
    repeating repetition: TimerRepetition, startingAt first: Deadline? = nil, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try core.timerCalls.start(
      on: core, at: first ?? core.now + repetition.interval, repetition: repetition, owner: owner, key: key, body,
      onDrop: onDrop)
  }

  /// Cancels all timed calls of an owner on this loop. Returns their number.
  @discardableResult
  public func cancelAll(owner: AnyObject) -> Int { core.timerCalls.cancelAll(owner: ObjectIdentifier(owner)) }

  /// Cancels all timed calls of an owner with an equal key on this loop. Returns their number.
  @discardableResult
  public func cancelAll(owner: AnyObject, key: some Hashable & Sendable) -> Int {
    core.timerCalls.cancelAll(owner: ObjectIdentifier(owner), key: AnyHashable(key))
  }
}
