import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The process's real timer threads, which no virtual clock stands in for.
@Suite struct TimeLimitThreadTests {
  @Test("a completion that blocks after its time limit does not delay a timed wait", arguments: [true, false])
  func blocking(hasDeadline: Bool) async throws {
    let dispatcher = URLDispatcher(transport: ScriptedTransport(), limits: .standard)
    let (isBlocking, hasEnded) = (Latch(), Latch())
    let blocked = Locked<Waiter?>(nil)
    let outcome = Locked(Waiter.Outcome.pending)
    var request = try DispatchRequest("http://a.test/")
    if hasDeadline { request.deadline = .milliseconds(20) } else { request.timeout = .milliseconds(1) }
    dispatcher.dispatch(request) { _ in
      let waiter = Waiter.ofThread()
      blocked.withLock { $0 = waiter }
      isBlocking.countDown()
      // Blocks until the timed wait has ended. With the fault, only this limit ends both.
      let end = waiter.wait(until: .after(.seconds(20)))
      outcome.withLock { $0 = end }
      hasEnded.countDown()
    }
    try await isBlocking.wait()
    await #expect(throws: WaitError.self) { try await Latch().wait(until: .after(.milliseconds(10))) }
    blocked.withLock { $0 }?.end(.woken)
    try await hasEnded.wait()
    #expect(outcome.withLock { $0 } == .woken)
  }
}
