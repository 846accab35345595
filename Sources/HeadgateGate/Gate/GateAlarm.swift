import HeadgateThreads

/// The only timer of a gate's timed waits, or of those for one bandwidth limit. The driver arms and cancels timers with no
/// lock held, so each order has a number: if two orders cross, the later one counts.
struct GateAlarm: Sendable {
  /// The next step for the driver.
  enum Order: Sendable {
    case arm(at: Deadline, number: UInt64)
    case cancel(ScheduledTimer)
  }

  private var moment: Deadline?
  private var number: UInt64 = 0
  private var timer: ScheduledTimer?

  var isArmed: Bool { moment != nil }

  /// Returns the order for the earliest moment at which a request may start. A timer that fires too early is left
  /// alone: it finds nothing to do, and is armed again.
  mutating func order(for wakeAt: Deadline?) -> Order? {
    guard let wakeAt else { return end().map { .cancel($0) } }
    if let moment, moment <= wakeAt { return nil }
    moment = wakeAt
    number += 1
    return .arm(at: wakeAt, number: number)
  }

  /// Stores a timer that was armed. Returns the timer to cancel: that of an earlier order, or this one if a later order
  /// came.
  mutating func keep(_ armed: ScheduledTimer, number: UInt64) -> ScheduledTimer? {
    guard number == self.number, moment != nil else { return armed }
    defer { timer = armed }
    return timer
  }

  /// The timer fires. Returns false if a later order came, whose timer counts.
  mutating func rings(number: UInt64) -> Bool {
    guard number == self.number else { return false }
    (moment, timer) = (nil, nil)
    return true
  }

  /// Nothing waits any more. Returns the timer to cancel.
  mutating func end() -> ScheduledTimer? {
    number += 1
    moment = nil
    return timer.take()
  }
}
