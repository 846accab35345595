/// What makes calls at given times, once or repeatedly: a ``TimerThread``, or a ``ThreadLoop`` on its own thread.
///
/// A call is never early. Calls are made in the order of their deadlines, those with equal deadlines in the order in
/// which they were set. Another type conforms by forwarding to one of the two.
public protocol TimedCaller: AnyObject, Sendable {
  /// Its calls that have not ended, and its clock.
  var timedCalls: TimedCalls { get }
}

/// The calls of a ``TimedCaller`` that have not ended, and its clock.
public struct TimedCalls: Sendable {
  let calls: TimerCalls
  let service: any TimerService
}

extension TimedCaller {
  /// Makes a call once, after `deadline` has passed, like `performSelector:onTarget:withObject:afterDelay:` and similar
  /// methods.
  ///
  /// - Parameters:
  ///   - deadline: When to make the call: at once if it has passed, in the next turn of a loop, never for
  ///     ``Deadline/distantFuture``.
  ///   - place: Where to make the call; by default on the timer thread or the loop itself. A slow call there delays all
  ///     other timers of the thread: deliver it to a pool.
  ///   - owner: The owner of the call, for ``cancelAll(owner:)``. Not retained. An owner should cancel its calls when
  ///     it ends, and may do so in its `deinit`.
  ///   - key: Identifies the call among the owner's, for ``cancelAll(owner:key:)``: a name, or a struct of name and
  ///     argument.
  ///   - body: The call. Its error goes to the `onError` of the timer thread or the loop.
  ///   - onDrop: Called once if the call is cancelled before it starts: by `cancel`, `cancelAll`, the end of the timer
  ///     thread or the loop, or a delivery target that refuses it. It runs on the thread that cancels, without a lock.
  ///     Every call ends with either `body` or this.
  /// - Throws: ``TimerError``: `disposed` if the timer thread was disposed of or the loop has stopped, or `full` at the
  ///   limit.
  /// - Complexity: O(1) for a timer thread, O(log n) for a loop with n timers.
  @discardableResult
  public func perform(
    at deadline: Deadline, on place: Delivery = .inline, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    let timed = timedCalls
    return try timed.calls.start(
      on: timed.service, at: deadline, place: place, owner: owner, key: key, body, onDrop: onDrop)
  }

  /// Makes a call once, after `delay` has passed. See ``perform(at:on:owner:key:_:onDrop:)``.
  @discardableResult
  public func perform(
    after delay: Duration, on place: Delivery = .inline, owner: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    try perform(at: timedCalls.service.now + delay, on: place, owner: owner, key: key, body, onDrop: onDrop)
  }

  /// Makes a call repeatedly, by rate or by delay, until it is cancelled. The calls never overlap, not even in a
  /// nested run of a loop.
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
  ///   - onDrop: Called once when the timer is cancelled, the thread is disposed of or the loop stops.
  /// - Throws: ``TimerError``: `invalidInterval` for zero or less, `disposed`, or `full` at the limit.
  @discardableResult
  public func perform(
    repeating repetition: TimerRepetition, startingAt first: Deadline? = nil, on place: Delivery = .inline,
    owner: AnyObject? = nil, key: (any Hashable & Sendable)? = nil, _ body: @escaping @Sendable () throws -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws(TimerError) -> TimerHandle {
    let timed = timedCalls
    return try timed.calls.start(
      on: timed.service, at: first ?? timed.service.now + repetition.interval, place: place, repetition: repetition,
      owner: owner, key: key, body, onDrop: onDrop)
  }

  /// Cancels all calls of an owner, like `cancelPreviousPerformRequestsWithTarget:`. Returns their number.
  ///
  /// - Complexity: O(n) in the number of the owner's calls.
  @discardableResult
  public func cancelAll(owner: AnyObject) -> Int { timedCalls.calls.cancelAll(owner: ObjectIdentifier(owner)) }

  /// Cancels all calls of an owner with an equal key, like `cancelPreviousPerformRequestsWithTarget:selector:object:`.
  /// Returns their number.
  ///
  /// - Complexity: O(n) in the number of calls with that key.
  @discardableResult
  public func cancelAll(owner: AnyObject, key: some Hashable & Sendable) -> Int {
    timedCalls.calls.cancelAll(owner: ObjectIdentifier(owner), key: AnyHashable(key))
  }
}
