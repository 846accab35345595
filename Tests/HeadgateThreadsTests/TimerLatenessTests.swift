import HeadgateThreads
import Testing

@Suite struct TimerLatenessTests {
  /// The original library's own test, without its limit of 50 ms. How late a thread wakes up depends on the machine,
  /// and is measured by `Benchmarks/run threads`.
  @Test("P80 twenty random timers come in the order of their times, none early")
  func twentyTimers() throws {
    let timers = TimerThread(name: "test-lateness")
    defer { timers.dispose() }
    var random = SeededRandom(seed: 80)
    let start = Deadline.now
    let deadlines = (0..<20).map { _ in start + .microseconds(Int.random(in: 0...20_000, using: &random)) }
    let called = Record<Deadline>()
    let early = Record<Duration>()
    let done = Latch(20)
    for deadline in deadlines {
      try timers.perform(at: deadline) {
        if .now < deadline { early.add(deadline - .now) }
        called.add(deadline)
        done.countDown()
      }
    }
    #expect(done.wait())
    #expect(early.events == [])
    // All were set before the first could come, unless the machine stalled. Timers that were set late come late.
    #expect(called.events.sorted() == deadlines.sorted())
  }
}
