import Dispatch
import HeadgateThreads
import Measure

/// The timer thread with many timers pending, and how late timers of 1 ms are: `Timers rates PENDING SECONDS`,
/// `Timers lateness PENDING COUNT`.
@main
struct TimersBenchmark {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let pending = Int(arguments[2]), let amount = Double(arguments[3]), amount > 0,
      ["rates", "lateness"].contains(arguments[1])
    else {
      complain("usage: \(arguments[0]) rates PENDING SECONDS\n       \(arguments[0]) lateness PENDING COUNT")
    }
    if arguments[1] == "rates" {
      rates(pending: pending, seconds: amount)
    } else {
      lateness(pending: pending, count: Int(amount))
    }
  }

  static func rates(pending: Int, seconds: Double) {
    let timers = TimerThread.shared
    measureTimers("headgate", pending: pending, seconds: seconds) { delay in
      timers.schedule(at: .now + .microseconds(delay)) { complain("a timer fired that should not") }
    } cancel: { timer in
      timer.cancel()
    }
  }

  static func lateness(pending: Int, count: Int) {
    let timers = TimerThread.shared
    var delays = TimerDelays()
    for _ in 0..<pending { _ = timers.schedule(at: .now + .microseconds(delays.next())) {} }
    let fired = DispatchSemaphore(value: 0)
    // Written by the timer thread before it signals, read by this thread after it waited.
    nonisolated(unsafe) var late: [Int] = []
    let start = Usage.now
    for _ in 0..<count {
      let due = monotonicNanoseconds() + 1_000_000
      _ = timers.schedule(at: .now + .milliseconds(1)) {
        late.append(monotonicNanoseconds() - due)
        fired.signal()
      }
      fired.wait()
    }
    printLateness("headgate", late: late, used: Usage.now.since(start))
  }
}
