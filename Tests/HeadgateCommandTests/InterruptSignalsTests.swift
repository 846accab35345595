import HeadgateLibC
import HeadgateThreads
import Testing

@testable import HeadgateCommand

@Suite struct InterruptSignalsTests {
  @Test func `C16 A signal that is ignored from the start stays ignored`() async throws {
    signal(SIGUSR2, SIG_IGN)
    defer { signal(SIGUSR2, SIG_DFL) }
    #expect(InterruptSignals([SIGUSR2]) {}.isEmpty)
    kill(getpid(), SIGUSR2)
    // Another one has its effect, several times, although the program ignores it by itself on some systems.
    for _ in 0..<2 {
      let hasArrived = Semaphore(permits: 0)
      let signals = InterruptSignals([SIGURG]) { hasArrived.signal() }
      #expect(!signals.isEmpty)
      kill(getpid(), SIGURG)
      try await hasArrived.wait()
      signals.cancel()
    }
  }
}
