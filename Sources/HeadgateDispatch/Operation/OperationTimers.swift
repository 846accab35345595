import HeadgateThreads

/// A start of the request's `timeout`, which counts only running time.
struct TimeoutStart {
  let number: Int
  /// How long the request has run before, in nanoseconds.
  let ran: Int64
}

/// The timers of one operation, by purpose. All belong to the gate's timer service.
struct OperationTimers {
  /// The purpose of a timer.
  enum Purpose {
    /// The request's `deadline`.
    case deadline
    /// The next check for activity.
    case idle
    /// The request's `timeout`, started with this number.
    case timeout(start: Int)
    /// The next attempt, after this number of attempts.
    case backOff(attempts: Int)
    /// The end of the time for which the exchange with this number keeps its permit unused. Shares the place of the
    /// backoff: a request that backs off has no permit.
    case renewal(number: Int)
  }

  var deadline: TimerQueue.Key?
  var idle: TimerQueue.Key?
  var timeout: TimerQueue.Key?
  var backoff: TimerQueue.Key?

  /// Stores a timer. Returns the one that it replaces.
  mutating func keep(_ timer: TimerQueue.Key, for purpose: Purpose) -> TimerQueue.Key? {
    switch purpose {
    case .deadline: exchange(&deadline, with: timer)
    case .idle: exchange(&idle, with: timer)
    case .timeout: exchange(&timeout, with: timer)
    case .backOff, .renewal: exchange(&backoff, with: timer)
    }
  }

  var isEmpty: Bool { timeout == nil && deadline == nil && idle == nil && backoff == nil }

  func cancel(on service: any TimerService) {
    for timer in [deadline, idle, timeout, backoff] {
      if let timer { _ = service.cancel(ScheduledTimer(service: service, key: timer)) }
    }
  }
}
