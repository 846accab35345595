import HeadgateThreads

/// The one timer of a gate, for all that waits for the time: which moment it is armed for. The driver arms and cancels with
/// no lock held, so that each order has a number: of two that cross, the later one counts.
struct GateAlarm: Sendable {
  /// What the driver does next.
  enum Order: Sendable {
    case arm(at: Deadline, number: UInt64)
    case cancel(ScheduledTimer)
  }

  private var moment: Deadline?
  private var number: UInt64 = 0
  private var timer: ScheduledTimer?

  var isArmed: Bool { moment != nil }

  /// What has to be done for the first moment at which something may start. A timer that rings too early is left as it is: it
  /// finds nothing, and is armed again.
  mutating func order(for wakeAt: Deadline?) -> Order? {
    guard let wakeAt else {
      guard moment != nil else { return nil }
      moment = nil
      number += 1
      return timer.take().map { .cancel($0) }
    }
    if let moment, moment <= wakeAt { return nil }
    moment = wakeAt
    number += 1
    return .arm(at: wakeAt, number: number)
  }

  /// Keeps a timer that was armed. Returns the one to cancel: that of an earlier order, or this one if a later order came.
  mutating func keep(_ armed: ScheduledTimer, number: UInt64) -> ScheduledTimer? {
    guard number == self.number, moment != nil else { return armed }
    defer { timer = armed }
    return timer
  }

  /// It rings. False: a later order came, whose timer is the one that counts.
  mutating func rings(number: UInt64) -> Bool {
    guard number == self.number else { return false }
    (moment, timer) = (nil, nil)
    return true
  }

  /// Takes the timer back for good.
  mutating func end() -> ScheduledTimer? {
    number += 1
    moment = nil
    return timer.take()
  }
}
