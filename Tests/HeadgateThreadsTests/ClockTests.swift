import HeadgateThreads
import Testing

/// This library's clocks in generic code.
@Suite struct ClockTests {
  private func instant<Time: Clock>(_ duration: Time.Duration, from clock: Time) -> Time.Instant {
    clock.now.advanced(by: duration)
  }

  @Test("the timer thread is a clock for generic code: it measures, and its sleep ends no sooner than asked")
  func real() async throws {
    let clock = TimerThread.shared
    let taken = try await clock.measure { try await Task.sleep(for: .milliseconds(2), clock: clock) }
    #expect(taken >= .milliseconds(2))
    let due = instant(.milliseconds(1), from: clock)
    try await clock.sleep(until: due, tolerance: .seconds(1))
    #expect(Deadline.now >= due)
    #expect(clock.minimumResolution == .nanoseconds(1))
  }

  @Test("a manual clock ends the sleeps that it passes")
  func still() async throws {
    let clock = StillClock()
    let due = clock.now + .seconds(5)
    let sleeper = Task { try await clock.sleep(until: due) }
    let cancelled = Task { try await clock.sleep(until: due + .seconds(500)) }
    clock.advance(by: .seconds(5))
    try await sleeper.value
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(clock.pendingCount == 0)
    let before = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(until: .distantPast)
    }
    await #expect(throws: CancellationError.self) { try await before.value }
  }

  @Test("steps between instants are the durations between them, and saturate at both ends")
  func instants() {
    let now = Deadline.now
    for duration in [Duration.zero, .nanoseconds(1), .seconds(-3), .milliseconds(5)] {
      #expect(now.duration(to: now.advanced(by: duration)) == duration)
      #expect(now.advanced(by: duration) == now + duration)
    }
    #expect(now.advanced(by: .seconds(Int64.max)) < .distantFuture)
    #expect(Deadline.distantFuture.advanced(by: .seconds(-1)) == .distantFuture)
    #expect(Deadline.distantPast.advanced(by: .seconds(-1)) == .distantPast)
  }
}
