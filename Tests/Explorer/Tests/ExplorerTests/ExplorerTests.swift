import Exploring
import HeadgateThreads
import Programs
import Synchronization
import Testing

/// There is one exploration at a time in a process.
@Suite(.serialized) struct Explorations {}

extension Explorations {
  /// The explorer itself, on programs whose faults are known.
  @Suite struct ExplorerTests {
    @Test("two threads that add without an atomic lose a count in one of their interleavings")
    func lostUpdate() {
      #expect(failure { .lostUpdate() } == "a count was lost")
    }

    @Test("two threads that add with an atomic, or under the lock, never do")
    func noLostUpdate() throws {
      #expect(try Explorer().explore { Explorer.Script(.noLostUpdate()) } > 10)
    }

    @Test(
      "a wake-up that comes between the look and the sleep is lost without a recheck, and the explorer says who sleeps")
    func lostWakeUp() throws {
      #expect(failure { .lostWakeUp(rechecks: false) } == "threads [0] sleep and nobody will wake them")
      #expect(failure { .lostWakeUp(rechecks: true) } == nil)
    }

    @Test("plain memory that two threads touch is a race if nothing orders them, in whichever interleaving")
    func race() throws {
      #expect(failure(preemptions: 0) { .plainValue(isLocked: false) }?.hasSuffix("nothing orders the two") == true)
      #expect(failure { .plainValue(isLocked: true) } == nil)
    }

    @Test("a relaxed store hands nothing over, a releasing one does")
    func orders() throws {
      #expect(failure(preemptions: 0) { .handover(isOrdered: false) }?.hasSuffix("nothing orders the two") == true)
      #expect(failure { .handover(isOrdered: true) } == nil)
    }

    @Test(
      "who looks again and again sees the change in some interleavings and gives up in others, without a preemption")
    func spinning() throws {
      let outcomes = Outcomes<Bool>()
      try Explorer(preemptions: 0).explore { Explorer.Script(.spin(outcomes.add)) }
      #expect(outcomes.seen == [true, false])
    }

    @Test("a search that ends before it has seen all is a failure")
    func truncated() {
      var explorer = Explorer()
      explorer.mostRuns = 3
      #expect(throws: Explorer.Failure.self) { try explorer.explore { Explorer.Script(.noLostUpdate()) } }
    }

    private func failure(preemptions: Int = 2, _ program: () -> Program) -> String? {
      do {
        try Explorer(preemptions: preemptions).explore { Explorer.Script(program()) }
        return nil
      } catch { return error.reason }
    }
  }
}

extension Explorer.Script {
  init(_ program: Program) { self.init(threads: program.threads, verdict: program.verdict) }
}

/// How the runs of a script ended.
final class Outcomes<Outcome: Hashable & Sendable>: Sendable {
  private let outcomes = Mutex<Set<Outcome>>([])
  var seen: Set<Outcome> { outcomes.withLock { $0 } }
  @Sendable func add(_ outcome: Outcome) { outcomes.withLock { _ = $0.insert(outcome) } }
}
