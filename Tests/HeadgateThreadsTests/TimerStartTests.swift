import Testing

@testable import HeadgateThreads

@Suite struct TimerStartTests {
  /// A system that refuses a number of threads, and whose moments pass when the test says so.
  private final class Scarcity: Sendable {
    private let refusals: LockedBox<Int>
    private let later = LockedBox<[@Sendable () -> Void]>([])
    let attempts = Tally()

    init(refusals: Int) { self.refusals = LockedBox(refusals) }

    var system: TimerThread.System {
      TimerThread.System(
        spawn: { [self] name, kind, body in
          attempts.add()
          let isRefused = refusals.withLock { refusals in
            refusals -= 1
            return refusals >= 0
          }
          if isRefused { throw Oops() }
          _ = try WorkerThread(name: name, stackSize: 0, kind: kind, body)
        },
        later: { [self] action in later.withLock { $0.append(action) } })
    }

    /// Lets a moment pass. Returns the number of attempts that waited for it.
    func pass() -> Int {
      let actions = later.withLock { later in
        defer { later = [] }
        return later
      }
      for action in actions { action() }
      return actions.count
    }
  }

  @Test("A timer is called, though the system had no thread for it and no other timer follows")
  func retried() {
    let scarcity = Scarcity(refusals: 2)
    let timers = TimerThread(name: "test-timer", scarcity.system)
    let called = Latch()
    _ = timers.schedule(at: .distantPast) { called.countDown() }
    #expect(scarcity.pass() == 1)
    #expect(scarcity.pass() == 1)
    #expect(called.wait())
    #expect(scarcity.pass() == 0 && scarcity.attempts.value == 3)
    timers.dispose()
  }

  @Test("One attempt follows, however many timers are set meanwhile, and none for cancelled ones")
  func once() {
    let scarcity = Scarcity(refusals: 2)
    let timers = TimerThread(name: "test-timer", scarcity.system)
    let set = (0..<3).map { _ in timers.schedule(at: .distantFuture) {} }
    for timer in set { #expect(timer.cancel()) }
    #expect(scarcity.pass() == 1)
    #expect(scarcity.pass() == 0 && scarcity.attempts.value == 1)
    // The next timer starts anew.
    let called = Latch()
    _ = timers.schedule(at: .distantPast) { called.countDown() }
    #expect(scarcity.pass() == 1)
    #expect(called.wait() && scarcity.attempts.value == 3)
    timers.dispose()
  }

  @Test("A disposed timer thread is not started any more")
  func disposed() {
    let scarcity = Scarcity(refusals: 1)
    let timers = TimerThread(name: "test-timer", scarcity.system)
    _ = timers.schedule(at: .distantPast) {}
    timers.dispose()
    #expect(scarcity.pass() == 1)
    #expect(scarcity.attempts.value == 1)
  }

  @Test("By default, the next attempt comes by itself")
  func byDefault() {
    let scarcity = Scarcity(refusals: 1)
    var system = scarcity.system
    system.later = TimerThread.System().later
    let timers = TimerThread(name: "test-timer", system)
    let called = Latch()
    _ = timers.schedule(at: .distantPast) { called.countDown() }
    #expect(called.wait())
    timers.dispose()
  }
}
