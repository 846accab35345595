extension ThreadLoop {
  /// Makes a call on the loop once, when `deadline` has passed: `performSelector:withObject:afterDelay:` and its kin.
  ///
  /// Never early; calls come in the order of their deadlines, equal ones in the order of setting. To the nanosecond
  /// where the system can: a thread of the loop's own asks it to; another keeps its timer slack (50 us on Linux), and
  /// Linux before 5.11 rounds up to milliseconds while descriptors are watched.
  ///
  /// - Parameters:
  ///   - deadline: When; in the next turn if it has passed, never for ``Deadline/distantFuture``.
  ///   - owner: On whose behalf, for ``cancelAll(owner:)``. Not kept alive.
  ///   - key: Which of the owner's calls it is, for ``cancelAll(owner:key:)``.
  ///   - body: The call. An error that it throws goes to the loop's `onError`.
  ///   - onCancel: Told once if the call is taken back, or the loop stops, before it starts. On the thread that does
  ///     so.
  /// - Throws: ``TimerError``, `disposed`, when the loop has stopped.
  /// - Complexity: O(log n) in the number of pending timers.
  @discardableResult
  public func perform(
    at deadline: Deadline, owner: AnyObject? = nil, key: (any Hashable & Sendable)? = nil,
    _ body: @escaping @Sendable () throws -> Void, onCancel: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    let options = TimerCalls.Options(ownership: owner.map { TimerOwnership($0, key: key) })
    return try core.timerCalls.start(on: core, at: deadline, options, body, onCancel: onCancel)
  }

  /// Makes a call on the loop once, so long from now. See ``perform(at:owner:key:_:onCancel:)``.
  @discardableResult
  public func perform(
    after delay: Duration, owner: AnyObject? = nil, key: (any Hashable & Sendable)? = nil,
    _ body: @escaping @Sendable () throws -> Void, onCancel: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try perform(at: core.now + delay, owner: owner, key: key, body, onCancel: onCancel)
  }

  /// Makes a call on the loop again and again, by rate or by delay, until it is cancelled or the loop stops: a
  /// repeating NSTimer. Its calls never overlap, not even in a nested run. See ``perform(at:owner:key:_:onCancel:)``.
  ///
  /// - Parameters:
  ///   - repetition: How the next moment is found.
  ///   - first: The first moment; one interval from now unless given.
  ///   - owner: Whose call it is, for `cancelAll(owner:)`. Not held.
  ///   - key: What the owner tells its calls apart by, for `cancelAll(owner:key:)`.
  ///   - body: What is called.
  ///   - onCancel: Called once when the timer is taken back.
  /// - Throws: ``TimerError``: `invalidInterval` for zero and less, `disposed` when the loop has stopped.
  @discardableResult
  public func perform(
    repeating repetition: TimerRepetition, startingAt first: Deadline? = nil, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onCancel: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    let options = TimerCalls.Options(repetition: repetition, ownership: owner.map { TimerOwnership($0, key: key) })
    return try core.timerCalls.start(
      on: core, at: first ?? core.now + repetition.interval, options, body, onCancel: onCancel)
  }

  /// Takes back all timed calls of an owner on this loop. Returns how many.
  @discardableResult
  public func cancelAll(owner: AnyObject) -> Int { core.timerCalls.cancelAll(owner: ObjectIdentifier(owner)) }

  /// Takes back all timed calls of an owner with an equal key on this loop. Returns how many.
  @discardableResult
  public func cancelAll(owner: AnyObject, key: some Hashable & Sendable) -> Int {
    core.timerCalls.cancelAll(owner: ObjectIdentifier(owner), key: AnyHashable(key))
  }
}

extension TimerTarget {
  /// On a loop, which lives as long as the timer does: for calls of a ``TimerThread``. One that a stopped loop does not
  /// take is refused: reported, and told by its `onCancel`. So is one that the loop's stop leaves uncalled.
  ///
  /// - Parameter loop: The loop.
  public static func loop(_ loop: ThreadLoop) -> TimerTarget {
    .submitting { call in
      guard loop.perform(call) else { throw LoopError(.stopped, loop: loop.name) }
    }
  }
}
