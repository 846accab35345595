import Dispatch
import HeadgateThreads
import Measure

/// The timer thread with many timers pending, and how late timers of 1 ms are: `Timers schedule|perform rates PENDING
/// SECONDS`, `Timers schedule|perform lateness PENDING COUNT`. `schedule` is the bare timer, `perform` the call with a
/// target, a handle and an owner.
@main
struct TimersBenchmark {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let pending = Int(arguments[3]), let amount = Double(arguments[4]), amount > 0 else {
      complain("usage: \(arguments[0]) schedule|perform rates|lateness PENDING SECONDS|COUNT")
    }
    switch (arguments[1], arguments[2]) {
    case ("schedule", "rates"): scheduleRates(pending: pending, seconds: amount)
    case ("perform", "rates"): try performRates(pending: pending, seconds: amount)
    case ("schedule", "lateness"): lateness(pending: pending, count: Int(amount)) { _ = timers.schedule(at: $0, $1) }
    case ("perform", "lateness"):
      try lateness(pending: pending, count: Int(amount)) { try timers.perform(at: $0, $1) }
    default: complain("a timer is of schedule or perform; measured are rates or lateness")
    }
  }

  static let timers = TimerThread.shared

  static func scheduleRates(pending: Int, seconds: Double) {
    let timers = timers
    measureTimers("headgate", pending: pending, seconds: seconds) { delay in
      timers.schedule(at: .now + .microseconds(delay)) { complain("a timer fired that should not") }
    } cancel: { timer in
      timer.cancel()
    }
  }

  static func performRates(pending: Int, seconds: Double) throws {
    let timers = timers
    try measureTimers("headgate-perform", pending: pending, seconds: seconds) { delay in
      try timers.perform(at: .now + .microseconds(delay)) { complain("a timer fired that should not") }
    } cancel: { timer in
      timer.cancel()
    }
  }

  static func lateness(
    pending: Int, count: Int, start timer: (Deadline, @escaping @Sendable () -> Void) throws -> Void
  ) rethrows {
    var delays = TimerDelays()
    for _ in 0..<pending { try timer(.now + .microseconds(delays.next())) {} }
    let fired = DispatchSemaphore(value: 0)
    // Written by the timer thread before it signals, read by this thread after its wait.
    nonisolated(unsafe) var late: [Int] = []
    let start = Usage.now
    for _ in 0..<count {
      let due = monotonicNanoseconds() + 1_000_000
      try timer(.now + .milliseconds(1)) {
        late.append(monotonicNanoseconds() - due)
        fired.signal()
      }
      fired.wait()
    }
    printLateness("headgate", late: late, used: Usage.now.since(start))
  }
}
