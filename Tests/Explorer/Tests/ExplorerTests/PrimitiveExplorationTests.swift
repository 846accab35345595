import Exploring
import HeadgateThreads
import Synchronization
import Testing

extension Explorations {
  /// A wake-up at a deadline, for each of the primitives: whoever gets it, no waiter is left asleep.
  @Suite struct PrimitiveExplorationTests {
    private static func explore(_ name: String, _ make: () -> Explorer.Script) throws {
      #expect(try Explorer(preemptions: Explorer.usualBound).explore(name, make) > 5, "\(name)")
    }

    private static var soon: Deadline { .now + .milliseconds(1) }

    @Test("a permit released at a deadline goes to its waiter or to the next")
    func semaphore() throws {
      try Self.explore("semaphore") {
        let semaphore = Semaphore(permits: 0)
        return Explorer.Script(threads: [
          { if (try? semaphore.wait(until: Self.soon)) != nil { semaphore.signal() } },
          { try? semaphore.wait() },
          { semaphore.signal() },
        ]) { semaphore.freePermits == 0 && semaphore.waitingCount == 0 ? nil : "a permit is left" }
      }
    }

    @Test("a notification at a deadline goes to its waiter, to the next, or is kept")
    func notify() throws {
      try Self.explore("notify") {
        let notify = Notify()
        return Explorer.Script(threads: [
          { if (try? notify.wait(until: Self.soon)) != nil { notify.notifyOne() } },
          { try? notify.wait() },
          { notify.notifyOne() },
        ]) { notify.waitingCount == 0 ? nil : "one is left in line" }
      }
    }

    @Test("an update as a deadline passes lets each waiter look again")
    func condition() throws {
      try Self.explore("condition") {
        let count = Condition(0)
        return Explorer.Script(threads: [
          { try? count.wait(until: Self.soon) { $0 == 2 } },
          { _ = try? count.take { $0 > 0 ? ($0 -= 1) : nil } },
          { count.update { $0 = 2 } },
        ]) { count.waitingCount == 0 && count.read { $0 } == 1 ? nil : "a waiter is left, or took nothing" }
      }
    }

    @Test("a latch that opens as a deadline passes releases all waiters")
    func latch() throws {
      try Self.explore("latch") {
        let latch = Latch(count: 2)
        return Explorer.Script(threads: [
          { if (try? latch.wait(until: Self.soon)) == nil { latch.countDown() } },
          { try? latch.wait() },
          { latch.countDown(by: 2) },
        ]) { latch.isOpen ? nil : "it is closed" }
      }
    }

    @Test("a round that is complete as a deadline passes ends for all of its parties")
    func barrier() throws {
      try Self.explore("barrier") {
        let barrier = Barrier(parties: 2)
        let passed = Mutex(0)
        return Explorer.Script(threads: [
          {
            // In a round with one of the others: the third one then waits only for this one.
            if (try? barrier.wait(until: Self.soon)) != nil { barrier.leave() }
          },
          { if (try? barrier.wait()) != nil { passed.withLock { $0 += 1 } } },
          { if (try? barrier.wait()) != nil { passed.withLock { $0 += 1 } } },
        ]) {
          passed.withLock { $0 } == 2 && barrier.waitingCount == 0 ? nil : "a party is left"
        }
      }
    }

    @Test("a value that is set during a wait reaches the waiter")
    func oneShot() throws {
      try Self.explore("one value") {
        let shot = OneShot<Int>()
        let isSet = Mutex(0)
        let set: @Sendable () -> Void = { if shot.set(1) { isSet.withLock { $0 += 1 } } }
        return Explorer.Script(threads: [{ _ = shot.wait() }, set, { _ = shot.wait(until: Self.soon) }, set]) {
          isSet.withLock { $0 } == 1 ? nil : "it was set more than once"
        }
      }
    }
  }
}
