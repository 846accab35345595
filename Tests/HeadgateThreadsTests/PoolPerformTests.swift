import Synchronization
import Testing

@testable import HeadgateThreads

/// Loops whose iterations run on the threads of a pool.
@Suite(.timeLimit(.minutes(2))) struct PoolPerformTests {
  @Test(
    "Each number is called once, and results are in the order of the inputs", arguments: [0, 1, 2, 7, 1_000, 20_000])
  func all(count: Int) async throws {
    let pool = try ThreadPool(name: "test-pool", size: 3)
    let calls = (0..<count).map { _ in Tally() }
    try await pool.concurrentPerform(count) { calls[$0].add() }
    try inThread { pool.concurrentPerform(count) { calls[$0].add() } }
    #expect(calls.allSatisfy { $0.value == 2 })
    #expect(try await pool.map(Array(0..<count)) { -$0 } == (0..<count).map { -$0 })
    #expect(try inThread { pool.map(Array(0..<count)) { "\($0)" } } == (0..<count).map { "\($0)" })
    try pool.finish()
  }

  @Test("The first error ends the loop, and no call is running when it is thrown")
  func failure() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 3)
    let running = Tally()
    let body = { @Sendable (index: Int) throws(TestFailure) in
      running.add()
      defer { running.add(-1) }
      if index == 100 { throw TestFailure(number: 100) }
    }
    await #expect(throws: TestFailure(number: 100)) { try await pool.concurrentPerform(.max, body) }
    #expect(running.value == 0)
    #expect(throws: TestFailure(number: 100)) { try inThread { try pool.concurrentPerform(.max, body) } }
    #expect(running.value == 0)
    let census = Census()
    #expect(throws: TestFailure(number: 9)) {
      try inThread {
        try pool.map(Array(0..<10)) { index throws(TestFailure) in
          if index == 9 { throw TestFailure(number: 9) }
          return census.token()
        }
      }
    }
    #expect(census.alive == 0)
    try pool.finish()
  }

  @Test("The calling thread needs no thread of the pool: while they are busy, inside a task of it, and after its end")
  func alone() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1, queueBound: 1, policy: .block)
    let plug = try Plug(pool, threads: 1)
    let sum = Tally()
    try inThread { pool.concurrentPerform(100) { sum.add($0) } }
    #expect(sum.value == 4_950 && pool.statistics.queued == 0)
    plug.open()
    try inThread { try pool.submit { pool.concurrentPerform(100) { sum.add($0) } }.wait() }
    #expect(sum.value == 9_900)
    try pool.finish()
    try inThread { pool.concurrentPerform(100) { sum.add($0) } }
    #expect(sum.value == 14_850)
    // A test runs in a task, whose thread must not block.
    func onTheCallingThread() { pool.concurrentPerform(100) { sum.add($0) } }
    onTheCallingThread()
    #expect(sum.value == 19_800)
  }

  @Test("A cancellation reaches a thread that still works when another has found nothing left")
  func cancelledLate() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 2)
    let plug = try Plug(pool, threads: 2)
    let calls = Arrivals()
    let ends = Record<WaitError.Code>()
    let task = Task {
      try await pool.concurrentPerform(1_000) { index in
        calls.add()
        guard index == 0 else { return }
        // The first share of the numbers waits for this one.
        do throws(WaitError) { try ManagedThread.sleep(until: .distantFuture) } catch { ends.add(error.code) }
      }
    }
    plug.open()
    #expect(try await onThread { calls.wait(for: 1 + 1_000 - 1_000 / 6) })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(calls.count < 1_000 && ends.events == [.cancelled])
    try pool.finish()
  }

  @Test("A cancelled task starts no further calls, and running ones see it")
  func cancelled() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 2)
    let inside = Arrivals()
    let ends = Record<WaitError.Code>()
    let task = Task {
      try await pool.concurrentPerform(1_000) { _ in
        inside.add()
        do throws(WaitError) { try ManagedThread.sleep(until: .distantFuture) } catch { ends.add(error.code) }
      }
    }
    #expect(try await onThread { inside.wait(for: 2) })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(inside.count == 2 && ends.events == [.cancelled, .cancelled])
    try pool.finish()
    await #expect(throws: ThreadPoolError.self) { try await pool.concurrentPerform(5) { _ in } }
  }
}
