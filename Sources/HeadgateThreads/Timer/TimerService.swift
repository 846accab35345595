/// A clock as a parameter: the current time, and calls at a later time.
///
/// ``TimerThread`` is the real clock. The manual clock of `HeadgateTesting` moves only when a test advances it. Both
/// are also Swift `Clock`s, so they work with `measure`, `Task.sleep(until:clock:)`, swift-async-algorithms and other
/// code that takes a clock.
public protocol TimerService: AnyObject, Clock where Instant == Deadline {
  /// The current time.
  var now: Deadline { get }

  /// Calls `action` once, after `deadline` has passed, on the service's own thread.
  ///
  /// The action must return quickly, since other timers wait for it. ``Deadline/distantFuture`` is never reached: such
  /// an action is kept until it is cancelled.
  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer

  /// Cancels a timer. See ``ScheduledTimer/cancel()``.
  func cancel(_ timer: ScheduledTimer) -> Bool
}

extension TimerService {
  /// Calls `action` once, after `delay` has passed; at once for zero or less. See `schedule(at:_:)`.
  public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
    schedule(at: now + delay, action)
  }
}

/// One pending call of a ``TimerService``.
public struct ScheduledTimer: Sendable {
  package let service: any TimerService
  package let key: TimerQueue.Key

  package init(service: any TimerService, key: TimerQueue.Key) {
    self.service = service
    self.key = key
  }

  /// Cancels the call. Returns true if it will not start, false if it has started, ended or was cancelled before.
  ///
  /// The closure and its captures are released at once. O(1), however many timers are pending.
  @discardableResult
  public func cancel() -> Bool { service.cancel(self) }
}

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
