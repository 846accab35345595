/// The clock as an argument: what the time is, and calls at a later time.
///
/// ``TimerThread`` is the real one; the manual clock of `HeadgateTesting` moves only when a test says so.
public protocol TimerService: AnyObject, Sendable {
  /// The present moment.
  var now: Deadline { get }

  /// Calls `action` once, when `deadline` has passed, on a thread of the service's own.
  ///
  /// The action must return soon: others wait behind it. ``Deadline/distantFuture`` is never reached, so such an action
  /// is only kept until it is cancelled.
  func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer

  /// Takes a timer back. See ``ScheduledTimer/cancel()``.
  func cancel(_ timer: ScheduledTimer) -> Bool
}

extension TimerService {
  /// Calls `action` once, when so much time has passed from now; at once for zero and less. See `schedule(at:_:)`.
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

  /// Takes the call back: true if it will not start, false if it has started, ended or was cancelled before.
  ///
  /// The closure and what it holds are let go at once. O(1), whatever the number of pending timers.
  @discardableResult
  public func cancel() -> Bool { service.cancel(self) }
}
