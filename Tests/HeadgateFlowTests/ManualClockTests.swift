import HeadgateTesting
import HeadgateThreads
import Testing

@Suite struct ManualClockTests {
  @Test("a timer that is set while the clock advances past it is called, or its caller sees the new time")
  func setDuringAdvance() async throws {
    let rounds = 5000
    let clocks = (0..<rounds).map { _ in ManualClock() }
    let start = Barrier(parties: 2)
    let missed = Locked(0)
    let setter = try ManagedThread.spawn { () throws(WaitError) in
      for clock in clocks {
        let due = clock.now + .seconds(1)
        let isCalled = LockedBox(false)
        try start.wait()
        _ = clock.schedule(at: due) { isCalled.withLock { $0 = true } }
        let isPast = clock.now >= due
        // The advance is over.
        try start.wait()
        if !isPast, !isCalled.withLock({ $0 }) { missed.withLock { $0 += 1 } }
      }
    }
    let advancer = try ManagedThread.spawn { () throws(WaitError) in
      for clock in clocks {
        try start.wait()
        clock.advance(by: .seconds(1))
        try start.wait()
      }
    }
    try await setter.value()
    try await advancer.value()
    #expect(missed.withLock { $0 } == 0)
  }
}
