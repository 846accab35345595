import Testing

@testable import HeadgateThreads

/// Tasks of a pool that wait for tasks of a pool.
@Suite struct PoolNestedWaitTests {
  private func pool(_ size: Int) throws -> ThreadPool { try ThreadPool(name: "test-pool", size: size) }

  @Test("P54 tasks that wait for tasks on a single thread: the waiter runs them itself", arguments: [1, 2])
  func help(size: Int) throws {
    let pool = try pool(size)
    @Sendable func sum(_ from: Int, _ to: Int) throws -> Int {
      if to - from < 3 { return (from..<to).reduce(0, +) }
      let middle = (from + to) / 2
      let left = try pool.submit { try sum(from, middle) }
      let right = try pool.submit { try sum(middle, to) }
      return try left.wait() + right.wait()
    }
    let all = try pool.submit { try sum(0, 2000) }
    #expect(try inThread { try all.wait(until: .after(generous)) } == 1999 * 1000)
    try pool.finish()
    #expect(pool.stale == 0)
  }

  @Test("P54 a task that waits for another and runs it: a cancellation of either affects only that one")
  func cancelledHelper() throws {
    let pool = try pool(1)
    let tasks = LockedBox<[Int: PoolTask<[Bool], Never>]>([:])
    let submitted = Latch()
    // Each runs nested in the one before. The second does not see that the first was cancelled before it, nor the third
    // its cancellation of the first. The third sees that it cancels itself. Then each sees its own state.
    let first = try pool.submit { () -> [Bool] in
      _ = submitted.wait()
      tasks.withLock { $0[1] }?.cancel()
      let second = try? pool.submit { () -> [Bool] in
        let before = ThreadPool.isCancelled
        let third = try? pool.submit { () -> [Bool] in
          tasks.withLock { $0[1] }?.cancel()
          let before = ThreadPool.isCancelled
          tasks.withLock { $0[3] }?.cancel()
          return [before, ThreadPool.isCancelled]
        }
        tasks.withLock { $0[3] = third }
        return [before] + ((try? third?.wait()) ?? []) + [ThreadPool.isCancelled]
      }
      return ((try? second?.wait()) ?? []) + [ThreadPool.isCancelled]
    }
    tasks.withLock { $0[1] = first }
    submitted.countDown()
    let seen = try inThread { try first.wait(until: .after(generous)) }
    #expect(seen == [false, false, true, false, true])
    try pool.finish()
  }

  @Test(
    "P54 a cancellation by the thread's handle reaches the running task, and no task that it helps or that helps it"
  )
  func cancelledByHandle() throws {
    let pool = try pool(1)
    let seen = try inThread {
      try pool.submit { () -> [Bool] in
        ManagedThread.current.cancel()
        let before = ThreadPool.isCancelled
        let helped = try? pool.submit { ThreadPool.isCancelled }
        return [before, (try? helped?.wait()) ?? true, ThreadPool.isCancelled]
      }.wait(until: .after(generous))
    }
    #expect(seen == [true, false, true])
    let inner = try inThread {
      try pool.submit { () -> [Bool] in
        let helped = try? pool.submit { () -> Bool in
          ManagedThread.current.cancel()
          return ThreadPool.isCancelled
        }
        return [(try? helped?.wait()) ?? false, ThreadPool.isCancelled]
      }.wait(until: .after(generous))
    }
    #expect(inner == [true, false])
    try pool.finish()
  }

  @Test("P54 a helping task makes room in the queue at once, and not when the helped task has ended")
  func helpMakesRoom() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1, queueBound: 1, policy: .throw)
    let isAccepted = try inThread {
      try pool.submit {
        let helped = try? pool.submit { (try? pool.execute {}) != nil }
        return (try? helped?.wait()) ?? false
      }.wait(until: .after(generous))
    }
    #expect(isAccepted)
    try pool.finish()
  }

  @Test(
    "P54 of two tasks, of one pool or two, that wait for each other one gets an error, and none hangs",
    arguments: [1, 2])
  func cycles(pools count: Int) throws {
    let pools = try (0..<count).map { _ in try pool(2 / count) }
    let handles = LockedBox<[PoolTask<PoolTaskErrorCode?, Never>]>([])
    let ready = Latch()
    @Sendable func waitForTask(_ index: Int) -> PoolTaskErrorCode? {
      guard ready.wait() else { return nil }
      let other = handles.withLock { $0[index] }
      do throws(PoolTaskError<Never>) {
        _ = try other.wait()
        return nil
      } catch {
        return error.code
      }
    }
    let one = try pools[0].submit { waitForTask(1) }
    let two = try pools[count - 1].submit { waitForTask(0) }
    handles.withLock { $0 = [one, two] }
    ready.countDown()
    let codes = [try inThread { try one.wait() }, try inThread { try two.wait() }]
    #expect(codes.count { $0 == .wouldDeadlock } == 1 && codes.count { $0 == nil } == 1)
    handles.withLock { $0 = [] }
    for pool in pools { try pool.finish() }
  }

  @Test("P54 a task that waits for itself, or for the task that it is nested in, gets an error")
  func itself() throws {
    let pool = try pool(1)
    let outer = LockedBox<PoolTask<PoolTaskErrorCode?, Never>?>(nil)
    let given = Latch()
    @Sendable func waitForOuter() -> PoolTaskErrorCode? {
      guard given.wait(), let task = outer.withLock({ $0 }) else { return nil }
      do throws(PoolTaskError<Never>) {
        _ = try task.wait()
        return nil
      } catch {
        return error.code
      }
    }
    let task = try pool.submit { () -> PoolTaskErrorCode? in
      let own = waitForOuter()
      let inner = try? pool.submit { waitForOuter() }
      let nested = try? inner?.wait()
      return own == nested ?? nil ? own : nil
    }
    outer.withLock { $0 = task }
    given.countDown()
    #expect(try inThread { try task.wait() } == .wouldDeadlock)
    outer.withLock { $0 = nil }
    try pool.finish()
  }
}
