extension TimerThread {
  /// Makes a call once, when `deadline` has passed: `performSelector:onTarget:withObject:afterDelay:` and its kin.
  ///
  /// - Parameters:
  ///   - deadline: When; at once if it has passed, never for ``Deadline/distantFuture``.
  ///   - target: Where the call runs.
  ///   - owner: On whose behalf it runs, for ``cancelAll(owner:)``. Not kept alive; an owner that ends should cancel, and
  ///     may do so in its `deinit`.
  ///   - key: Which of the owner's calls it is, for ``cancelAll(owner:key:)``: a name, or a struct of name and argument.
  ///   - body: The call. An error that it throws goes to the timer thread's `onError`.
  ///   - onCancel: Told, once, if the call is taken back before it starts: by `cancel`, `cancelAll`, ``dispose()`` or a
  ///     target that refuses. On the thread that takes it back, with no lock held. Every call ends by `body` or by this.
  /// - Throws: ``TimerError``: `disposed`, or `full` at the limit.
  /// - Complexity: O(1).
  @discardableResult
  public func perform(
    at deadline: Deadline, on target: TimerTarget = .timerThread, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onCancel: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    let options = TimerCalls.Options(target: target, ownership: owner.map { TimerOwnership($0, key: key) })
    return try calls.start(on: self, at: deadline, options, body, onCancel: onCancel)
  }

  /// Makes a call once, so long from now. See ``perform(at:on:owner:key:_:onCancel:)``.
  @discardableResult
  public func perform(
    after delay: Duration, on target: TimerTarget = .timerThread, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onCancel: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try perform(at: now + delay, on: target, owner: owner, key: key, body, onCancel: onCancel)
  }

  /// Makes a call again and again, by rate or by delay, until it is cancelled. Its calls never overlap.
  ///
  /// An error that a call throws is reported, and the timer goes on. The other parameters are those of
  /// ``perform(at:on:owner:key:_:onCancel:)``; `onCancel` comes once, when the timer is taken back, possibly beside a
  /// call that still runs.
  ///
  /// - Parameters:
  ///   - repetition: How the next moment is found.
  ///   - first: The first moment; one interval from now unless given.
  ///   - target: Where the calls are made.
  ///   - owner: Whose call it is, for `cancelAll(owner:)`. Not held.
  ///   - key: What the owner tells its calls apart by, for `cancelAll(owner:key:)`.
  ///   - body: What is called.
  ///   - onCancel: Called once when the timer is taken back.
  /// - Throws: ``TimerError``: `invalidInterval` for zero and less, `disposed`, or `full` at the limit.
  @discardableResult
  public func perform(
    repeating repetition: TimerRepetition, startingAt first: Deadline? = nil, on target: TimerTarget = .timerThread,
    owner: AnyObject? = nil, key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onCancel: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    let options = TimerCalls.Options(
      target: target, repetition: repetition, ownership: owner.map { TimerOwnership($0, key: key) })
    return try calls.start(on: self, at: first ?? now + repetition.interval, options, body, onCancel: onCancel)
  }

  /// Takes back all calls of an owner, as `cancelPreviousPerformRequestsWithTarget:` did. Returns how many.
  ///
  /// - Complexity: O(the owner's calls).
  @discardableResult
  public func cancelAll(owner: AnyObject) -> Int { calls.cancelAll(owner: ObjectIdentifier(owner)) }

  /// Takes back all calls of an owner with an equal key, as `cancelPreviousPerformRequestsWithTarget:selector:object:`
  /// did. Returns how many.
  ///
  /// - Complexity: O(the calls with that key).
  @discardableResult
  public func cancelAll(owner: AnyObject, key: some Hashable & Sendable) -> Int {
    calls.cancelAll(owner: ObjectIdentifier(owner), key: AnyHashable(key))
  }

  /// Takes back all calls of the `perform` family. Returns how many.
  @discardableResult
  public func cancelAll() -> Int { calls.cancelAll() }
}
