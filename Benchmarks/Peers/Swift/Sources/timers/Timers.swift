// Swift's other timers: DispatchSourceTimer on a serial queue, and Task.sleep, each in its simplest form; -strict
// requests the smallest possible lateness. `timers dispatch rates PENDING SECONDS`,
// `timers dispatch|dispatch-strict|task|task-strict lateness PENDING COUNT`.
import Dispatch
import Measure

@main
struct Timers {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let pending = Int(arguments[3]), let amount = Double(arguments[4]), amount > 0 else {
      complain("usage: \(arguments[0]) dispatch|dispatch-strict|task|task-strict rates|lateness PENDING SECONDS|COUNT")
    }
    let (peer, count) = (arguments[1], Int(amount))
    switch (peer, arguments[2]) {
    case ("dispatch", "rates"): dispatchRates(pending: pending, seconds: amount)
    case ("dispatch", "lateness"), ("dispatch-strict", "lateness"):
      dispatchLateness(peer, flags: peer == "dispatch" ? [] : .strict, pending: pending, count: count)
    case ("task", "lateness"), ("task-strict", "lateness"):
      try await taskLateness(peer, tolerance: peer == "task" ? nil : .zero, pending: pending, count: count)
    default: complain("timers are dispatch, dispatch-strict, task or task-strict; rates are there for dispatch only")
    }
  }

  static func timer(
    _ queue: DispatchQueue, flags: DispatchSource.TimerFlags = [], microseconds: Int,
    handler: @escaping @Sendable @convention(block) () -> Void
  ) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(flags: flags, queue: queue)
    timer.setEventHandler(handler: handler)
    timer.schedule(deadline: .now() + .microseconds(microseconds))
    timer.activate()
    return timer
  }

  static func dispatchRates(pending: Int, seconds: Double) {
    let queue = DispatchQueue(label: "timers")
    measureTimers("dispatch", pending: pending, seconds: seconds) { delay in
      timer(queue, microseconds: delay) { complain("a timer fired that should not") }
    } cancel: { timer in
      timer.cancel()
      return timer.isCancelled
    }
  }

  static func dispatchLateness(_ peer: String, flags: DispatchSource.TimerFlags, pending: Int, count: Int) {
    let queue = DispatchQueue(label: "timers")
    var delays = TimerDelays()
    let waiting = (0..<pending).map { _ in timer(queue, microseconds: delays.next()) {} }
    let fired = DispatchSemaphore(value: 0)
    // Written by the queue before it signals, read by this thread after its wait.
    nonisolated(unsafe) var late: [Int] = []
    let start = Usage.now
    for _ in 0..<count {
      let due = monotonicNanoseconds() + 1_000_000
      let one = timer(queue, flags: flags, microseconds: 1000) {
        late.append(monotonicNanoseconds() - due)
        fired.signal()
      }
      fired.wait()
      one.cancel()
    }
    printLateness(peer, late: late, used: Usage.now.since(start))
    withExtendedLifetime(waiting) {}
  }

  static func taskLateness(_ peer: String, tolerance: Duration?, pending: Int, count: Int) async throws {
    var delays = TimerDelays()
    let waiting = (0..<pending).map { _ in
      let delay = delays.next()
      return Task { try await Task.sleep(for: .microseconds(delay)) }
    }
    var late: [Int] = []
    let start = Usage.now
    for _ in 0..<count {
      let due = monotonicNanoseconds() + 1_000_000
      try await Task.sleep(for: .milliseconds(1), tolerance: tolerance)
      late.append(monotonicNanoseconds() - due)
    }
    printLateness(peer, late: late, used: Usage.now.since(start))
    for task in waiting { task.cancel() }
  }
}
