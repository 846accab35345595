import HeadgateThreads
import Synchronization
import Testing

/// There is one exploration at a time in a process.
@Suite(.serialized) struct Explorations {}

extension Explorations {
  /// The explorer itself, on programs whose faults are known.
  @Suite struct ExplorerTests {
    @Test("two threads that add without an atomic lose a count in one of their interleavings")
    func lostUpdate() {
      #expect(throws: Explorer.Failure.self) {
        try Explorer().explore {
          let word = Word()
          let body: @Sendable () -> Void = {
            word.cell.store(word.cell.load(ordering: .relaxed) + 1, ordering: .relaxed)
          }
          return Explorer.Script(threads: [body, body]) {
            word.cell.load(ordering: .relaxed) == 2 ? nil : "a count was lost"
          }
        }
      }
    }

    @Test("two threads that add with an atomic, or under the lock, never do")
    func noLostUpdate() throws {
      let runs = try Explorer().explore {
        let word = Word()
        let locked = LockedBox(0)
        let body: @Sendable () -> Void = {
          word.cell.add(1, ordering: .relaxed)
          locked.withLock { $0 += 1 }
        }
        return Explorer.Script(threads: [body, body, body]) {
          word.cell.load(ordering: .relaxed) == 3 && locked.withLock({ $0 }) == 3 ? nil : "a count was lost"
        }
      }
      #expect(runs > 10)
    }

    @Test(
      "a wake-up that comes between the look and the sleep is lost without a recheck, and the explorer says who sleeps")
    func lostWakeUp() throws {
      func script(rechecks: Bool) -> Explorer.Script {
        let (ready, asleep, parker) = (Word(), Word(), Parker())
        return Explorer.Script(threads: [
          {
            if ready.cell.load(ordering: .acquiring) == 1 { return }
            asleep.cell.store(1, ordering: .releasing)
            if rechecks, ready.cell.load(ordering: .acquiring) == 1 { return }
            _ = parker.park()
          },
          {
            ready.cell.store(1, ordering: .releasing)
            if asleep.cell.load(ordering: .acquiring) == 1 { parker.unpark() }
          },
        ]) { nil }
      }
      #expect(throws: Explorer.Failure.self) { try Explorer().explore { script(rechecks: false) } }
      #expect(try Explorer().explore { script(rechecks: true) } > 5)
    }

    @Test("a waiter that is woken as its deadline passes ends once, in every interleaving")
    func waiterEndsOnce() throws {
      let outcomes = Outcomes()
      try Explorer().explore {
        let slot = Slot()
        return Explorer.Script(threads: [
          {
            let waiter = Waiter.ofThread()
            slot.waiter.withLock { $0 = waiter }
            slot.outcome.withLock { $0 = waiter.wait(until: .now + .milliseconds(1)) }
          },
          { slot.isWoken.withLock { $0 = slot.waiter.withLock { $0 }?.end(.woken) ?? false } },
        ]) {
          let (outcome, isWoken) = (slot.outcome.withLock { $0 }, slot.isWoken.withLock { $0 })
          outcomes.add(outcome)
          return (outcome == .woken) == isWoken ? nil : "the two don't agree: \(outcome), woken: \(isWoken)"
        }
      }
      // Both ends were among the interleavings.
      #expect(outcomes.seen == [.woken, .timedOut])
    }
  }
}

/// A word that closures can share.
final class Word: Sendable {
  let cell = AtomicCell<Int>(0)
}

private final class Slot: Sendable {
  let waiter = LockedBox<Waiter?>(nil)
  let outcome = LockedBox(Waiter.Outcome.pending)
  let isWoken = LockedBox(false)
}

private final class Outcomes: Sendable {
  private let outcomes = Mutex<Set<Waiter.Outcome>>([])
  var seen: Set<Waiter.Outcome> { outcomes.withLock { $0 } }
  func add(_ outcome: Waiter.Outcome) { outcomes.withLock { _ = $0.insert(outcome) } }
}
