import Synchronization
import Testing

@testable import HeadgateThreads

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct LockTests {
  private struct Refusal: Error, Equatable {
    let number: Int
  }

  private struct Single: ~Copyable {
    let token: Census.Token
    var number = 0
  }

  private static func end(_ single: consuming Single?) -> Int? { single?.number }

  // Plain memory: only the lock under test excludes concurrent access.
  private final class Ledger: @unchecked Sendable {
    var inside = 0
    var overlaps = 0
    var visits = 0
  }

  @Test("Eight threads lose no increment of a plain counter")
  func counter() throws {
    let counter = Locked(0)
    try onThreads(8) { _ in
      for _ in 0..<50_000 { counter.withLock { $0 += 1 } }
    }
    #expect(counter.withLock { $0 } == 400_000)
  }

  @Test("Never two inside, though each yields its processor there")
  func exclusion() throws {
    let ledger = Ledger()
    let lock = Locked(0)
    try onThreads(8) { number in
      for round in 0..<500 {
        lock.withLock { _ in
          ledger.inside += 1
          if ledger.inside > 1 { ledger.overlaps += 1 }
          if (number + round) % 3 == 0 { sched_yield() }
          ledger.visits += 1
          ledger.inside -= 1
        }
      }
    }
    #expect(ledger.overlaps == 0)
    #expect(ledger.visits == 4000)
  }

  #if !canImport(Darwin)
  @Test("P10 a sleeping thread gets the lock: no wake-up is lost")
  func asleep() throws {
    let shared = Locked(0)
    for round in 1...200 {
      let ended = Latch(3)
      shared.lock.lock()
      for _ in 0..<3 {
        _ = try WorkerThread(name: "test-sleeper") {
          shared.withLock { $0 += 1 }
          ended.countDown()
        }
      }
      // 2: at least one thread sleeps or is about to.
      let limit = Deadline.after(generous)
      while shared.lock.word.pointee.load(ordering: .relaxed) != 2, .now < limit { sched_yield() }
      #expect(shared.lock.word.pointee.load(ordering: .relaxed) == 2)
      shared.lock.unlock()
      try #require(ended.wait(), "a sleeper was not woken")
      #expect(shared.withLock { $0 } == 3 * round)
    }
    #expect(shared.lock.word.pointee.load(ordering: .relaxed) == 0)
  }
  #endif

  @Test("A closure's error is rethrown, and the lock is free again")
  func errors() throws {
    let lock = Locked(7)
    do throws(Refusal) {
      try lock.withLock { value throws(Refusal) in
        value += 1
        throw Refusal(number: value)
      }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.number == 8)
    }
    // From another thread: if the lock were still held, the assertion would stop this one.
    try onThreads(1) { _ in lock.withLock { $0 += 1 } }
    #expect(lock.withLock { $0 } == 9)
  }

  @Test("Holds values that can't be copied, consumes them, and destroys them once")
  func nonCopyable() {
    let census = Census()
    let lock = Locked<Single?>(Single(token: census.token()))
    #expect(lock.withLock { $0?.number } == 0)
    lock.withLock { $0?.number = 5 }
    let taken = lock.withLock { $0.take() }
    let isEmpty = lock.withLock { $0 == nil }
    #expect(isEmpty)
    #expect(census.alive == 1)
    let number = Self.end(taken)
    #expect(number == 5)
    #expect(census.alive == 0)
    var other: Locked<Single>? = Locked(Single(token: census.token()))
    #expect(other?.withLock { $0.number } == 0)
    #expect(census.alive == 1)
    other = nil
    #expect(census.alive == 0)
  }

  #if DEBUG
  @Test("In debug builds a holder that locks again is stopped instead of waiting forever")
  func locksTwice() async {
    await #expect(processExitsWith: .failure) {
      let lock = Locked(0)
      lock.withLock { _ in lock.withLock { $0 += 1 } }
    }
  }

  @Test("In debug builds the assertions about the holder stop violations, and nothing else")
  func assertions() async throws {
    let lock = Locked(0)
    lock.assertNotHeld()
    lock.withLock { _ in lock.assertHeld() }
    let inside = Latch()
    let looked = Latch()
    let holder = try WorkerThread(name: "test-holder") {
      lock.withLock { _ in
        inside.countDown()
        _ = looked.wait()
      }
    }
    #expect(inside.wait())
    lock.assertNotHeld()
    looked.countDown()
    holder.join()
    await #expect(processExitsWith: .failure) { Locked(0).assertHeld() }
    await #expect(processExitsWith: .failure) {
      let lock = Locked(0)
      lock.withLock { _ in lock.assertNotHeld() }
    }
  }
  #endif
}
