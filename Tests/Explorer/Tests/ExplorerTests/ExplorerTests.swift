import Exploring
import HeadgateThreads
import Programs
import Synchronization
import Testing

/// There is one exploration at a time in a process.
@Suite(.serialized) struct Explorations {}

extension Explorations {
  /// The explorer itself, on programs with known faults.
  @Suite struct ExplorerTests {
    @Test("two threads that add without an atomic lose a count in one of their interleavings")
    func lostUpdate() {
      #expect(failure { .lostUpdate() } == "a count was lost")
    }

    @Test("two threads that add with an atomic, or under the lock, never lose a count")
    func noLostUpdate() throws {
      #expect(try Explorer().explore { Explorer.Script(.noLostUpdate()) } > 10)
    }

    @Test(
      "without a recheck a wake-up between the check and the sleep is lost, and the explorer names the sleeper")
    func lostWakeUp() throws {
      #expect(failure { .lostWakeUp(rechecks: false) } == "threads [0] sleep and nobody will wake them")
      #expect(failure { .lostWakeUp(rechecks: true) } == nil)
    }

    @Test("unordered accesses of two threads to plain memory are a race, in every interleaving")
    func race() throws {
      #expect(failure(preemptions: 0) { .plainValue(isLocked: false) }?.hasSuffix("nothing orders the two") == true)
      #expect(failure { .plainValue(isLocked: true) } == nil)
    }

    @Test("a relaxed store publishes nothing, a releasing store does")
    func orders() throws {
      #expect(failure(preemptions: 0) { .handover(isOrdered: false) }?.hasSuffix("nothing orders the two") == true)
      #expect(failure { .handover(isOrdered: true) } == nil)
    }

    @Test(
      "a polling thread sees the change in some interleavings and gives up in others, without a preemption")
    func spinning() throws {
      let outcomes = Outcomes<Bool>()
      try Explorer(preemptions: 0).explore { Explorer.Script(.spin(outcomes.add)) }
      #expect(outcomes.seen == [true, false])
    }

    @Test("a search that ends before it is complete is a failure")
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
