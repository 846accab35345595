import Testing

@testable import HeadgateThreads

@Suite struct PoolExecutorTests {
  @Test("P39 a task that prefers the pool runs on its threads, between and after its suspensions")
  func preference() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 2)
    let executor = pool.taskExecutor
    let task = Task(executorPreference: executor) { () -> [Bool] in
      var places = [pool.isCurrent]
      await Task.yield()
      places.append(pool.isCurrent)
      try? await Task.sleep(nanoseconds: 1)
      places.append(pool.isCurrent)
      async let child = pool.isCurrent
      places.append(await child)
      return places
    }
    #expect(await task.value == [true, true, true, true])
    await withTaskExecutorPreference(executor) { #expect(pool.isCurrent) }
    #expect(pool.isCurrent == false)
    pool.dispose()
    try await pool.waitUntilDisposed()
  }

  @Test("P39 many tasks with many suspensions end, and leave nothing")
  func many() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 2)
    let census = Census()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        let token = census.token()
        group.addTask(executorPreference: pool.taskExecutor) {
          for _ in 0..<100 { await Task.yield() }
          token.hold()
        }
      }
    }
    #expect(census.alive == 0)
    #expect(pool.statistics.completed >= 50 * 100)
    pool.dispose()
    try await pool.waitUntilDisposed()
  }

  @Test("P39 jobs after the pool's end run elsewhere; waiting ones do too", arguments: [true, false])
  func afterDisposal(now: Bool) async throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let plug = try Plug(pool, threads: 1)
    let waiting = Task(executorPreference: pool.taskExecutor) { () -> Int in
      for _ in 0..<10 { await Task.yield() }
      return 1
    }
    // A task is enqueued at its preferred executor as soon as it is created.
    #expect(pool.statistics.queued == 1)
    pool.dispose(now ? .now : .drain)
    let late = Task(executorPreference: pool.taskExecutor) { () -> Int in
      for _ in 0..<10 { await Task.yield() }
      return 2
    }
    #expect(await late.value == 2)
    if now { #expect(await waiting.value == 1) }
    plug.open()
    #expect(await waiting.value == 1)
    try await pool.waitUntilDisposed()
  }

  @Test("P39 jobs bypass a full queue", arguments: [FullQueuePolicy.throw, .block, .callerRuns, .discardOldest])
  func bounded(policy: FullQueuePolicy) async throws {
    let pool = try ThreadPool(name: "test-pool", size: 1, queueBound: 0, policy: policy)
    let plug = try Plug(pool, threads: 1)
    let tasks = (0..<10).map { number in
      Task(executorPreference: pool.taskExecutor) { () -> Int in
        await Task.yield()
        return number
      }
    }
    #expect(pool.statistics.queued == 10)
    plug.open()
    for (number, task) in tasks.enumerated() { #expect(await task.value == number) }
    pool.dispose()
    try await pool.waitUntilDisposed()
  }

  @Test("A task's priority determines the pool's")
  func priorities() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let plug = try Plug(pool, threads: 1)
    let order = Record<String>()
    let tasks = [TaskPriority.background, .medium, .high].map { (priority: TaskPriority) in
      Task(executorPreference: pool.taskExecutor, priority: priority) { order.add("\(priority.rawValue)") }
    }
    #expect(pool.statistics.queued == 3)
    plug.open()
    for task in tasks { await task.value }
    #expect(order.events == [TaskPriority.high, .medium, .background].map { "\($0.rawValue)" })
    pool.dispose()
    try await pool.waitUntilDisposed()
  }
}

@Suite struct PoolBlockingTests {
  private struct Unique: ~Copyable {
    let number: Int
  }

  private final class Plain {
    var number = 3
  }

  @Test("A blocking call runs on a thread that may block, and its result or error is returned")
  func results() async throws {
    let outside = try await ThreadPool.blocking { withUnsafeCurrentTask { $0 == nil } }
    #expect(outside)
    let unique = try await ThreadPool.blocking { Unique(number: 5) }
    #expect(unique.number == 5)
    let plain = try await ThreadPool.blocking { Plain() }
    plain.number += 1
    #expect(plain.number == 4)
    await #expect(throws: Oops(number: 9)) {
      try await ThreadPool.blocking { () throws(Oops) in throw Oops(number: 9) }
    }
  }

  private static func blocking<Value>(_ call: sending @escaping () -> sending Value) async throws -> sending Value {
    try await ThreadPool.blocking(call)
  }

  @Test("A call that returns nothing ends without an error, also in generic code")
  func void() async throws {
    let calls = Record<Int>()
    try await ThreadPool.blocking { calls.add(1) }
    try await Self.blocking { calls.add(2) }
    #expect(calls.events == [1, 2])
    await #expect(throws: Oops(number: 9)) {
      try await ThreadPool.blocking { () throws(Oops) -> Void in throw Oops(number: 9) }
    }
  }

  @Test("A running call sees the cancellation, and its waits in this library end")
  func cancelledWhile() async throws {
    let inside = Latch()
    let task = Task {
      try await ThreadPool.blocking { () -> Bool in
        inside.countDown()
        return Waiter.ofThread().wait(until: .after(generous)) == .cancelled && ThreadPool.isCancelled
      }
    }
    #expect(inside.wait())
    task.cancel()
    #expect(try await task.value)
  }

  @Test("Many calls at once, each blocked until all have started")
  func many() async throws {
    let meeting = Latch(20)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 {
        group.addTask {
          try await ThreadPool.blocking {
            meeting.countDown()
            return meeting.wait()
          }
        }
      }
      for try await met in group { #expect(met) }
    }
  }
}
