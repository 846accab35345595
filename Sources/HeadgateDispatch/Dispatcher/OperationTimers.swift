import HeadgateThreads

/// The timers that one operation keeps, by their keys: they all belong to the gate's one service.
struct OperationTimers {
  enum Kind { case timeout, deadline, idle, rest }

  var timeout: TimerQueue.Key?
  var deadline: TimerQueue.Key?
  var idle: TimerQueue.Key?
  /// The wake-up for the next attempt.
  var rest: TimerQueue.Key?

  var isEmpty: Bool { timeout == nil && deadline == nil && idle == nil && rest == nil }

  /// Returns what stood there.
  mutating func set(_ timer: TimerQueue.Key?, _ kind: Kind) -> TimerQueue.Key? {
    switch kind {
    case .timeout: exchange(&timeout, timer)
    case .deadline: exchange(&deadline, timer)
    case .idle: exchange(&idle, timer)
    case .rest: exchange(&rest, timer)
    }
  }

  private func exchange(_ place: inout TimerQueue.Key?, _ timer: TimerQueue.Key?) -> TimerQueue.Key? {
    defer { place = timer }
    return place
  }

  func cancel(on service: any TimerService) {
    if let timeout { _ = service.cancel(ScheduledTimer(service: service, key: timeout)) }
    if let deadline { _ = service.cancel(ScheduledTimer(service: service, key: deadline)) }
    if let idle { _ = service.cancel(ScheduledTimer(service: service, key: idle)) }
    if let rest { _ = service.cancel(ScheduledTimer(service: service, key: rest)) }
  }
}
