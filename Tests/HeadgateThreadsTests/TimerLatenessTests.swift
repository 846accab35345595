import Dispatch
import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct TimerLatenessTests {
  /// The original library's own test. On a machine that is busy with other things every thread wakes up late, ours as
  /// well as any: plain threads that sleep until the same moments, in the system's own sleep, tell by how much. What a
  /// thread waits for a processor is the machine's affair; what is left must be within 50 ms.
  @Test("P80 twenty random timers come within 50 ms of their time, beside what plain threads sleeping so long are late")
  func twentyTimers() throws {
    let timers = TimerThread(name: "test-lateness")
    defer { timers.dispose() }
    var random = SeededRandom(seed: 80)
    // Started and warm before the first moment.
    let ready = Latch()
    try timers.perform(after: .zero) { ready.countDown() }
    #expect(ready.wait())

    let start = Deadline.now
    let deadlines = (0..<20).map { _ in start + .milliseconds(Int.random(in: 20...400, using: &random)) }
    let late = Record<Duration>()
    let early = Record<Duration>()
    let machine = Record<Duration>()
    let done = Latch(40)
    for deadline in deadlines {
      try timers.perform(at: deadline) {
        let difference = Deadline.now - deadline
        (difference < .zero ? early : late).add(difference)
        done.countDown()
      }
      _ = try WorkerThread(name: "test-control") {
        sleepPlainly(until: deadline)
        machine.add(Deadline.now - deadline)
        done.countDown()
      }
    }
    #expect(done.wait())
    #expect(early.events == [])
    let allowance = max(machine.events.max() ?? .zero, .zero)
    for lateness in late.events { #expect(lateness <= .milliseconds(50) + allowance) }
    print("timers late by at most \(late.events.max() ?? .zero), plain sleeps by \(allowance)")
  }

  @Test("P79 the clock is the system's monotonic one, which no step of the wall clock moves")
  func monotonic() {
    // CLOCK_MONOTONIC on Linux, CLOCK_UPTIME_RAW on Apple's systems, as libdispatch reads them.
    func reading() -> UInt64 { DispatchTime.now().uptimeNanoseconds }
    let timers = TimerThread(name: "test-clock")
    defer { timers.dispose() }
    var last = reading()
    for _ in 0..<1000 {
      let now = timers.now.nanoseconds
      #expect(last <= now)
      last = reading()
      #expect(now <= last)
    }
  }
}

/// The system's sleep, nothing of ours.
private func sleepPlainly(until deadline: Deadline) {
  while deadline > .now {
    usleep(UInt32(max(1, (deadline - .now) / .microseconds(1))))
  }
}
