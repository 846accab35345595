import Testing

@testable import HeadgateThreads

/// P57: Swift tasks that wait for room in a full queue.
@Suite struct PoolRoomTests {
  @Test(
    "P57 a Swift task waits for room under every policy, and its pool task runs",
    arguments: [FullQueuePolicy.block, .throw, .callerRuns, .discardOldest])
  func waits(policy: FullQueuePolicy) async throws {
    let (pool, line) = try ThreadPool.lining(1, bound: 1, policy)
    let plug = try Plug(pool, threads: 1)
    let first = try pool.submit { 1 }
    let waiting = Task { try await pool.submit(waitingUntil: .distantFuture) { 2 }.value }
    #expect(line.wait(for: 1))
    plug.open()
    #expect(try await waiting.value == 2)
    #expect(try await first.value == 1)
    try pool.finish()
  }

  @Test("P57 without a bound, and with room, none waits")
  func room() async throws {
    for pool in [try ThreadPool(name: "test-pool", size: 1), try ThreadPool.lining(1, bound: 5).pool] {
      let task = try await pool.submit(waitingUntil: .distantPast) { 1 }
      #expect(try await task.value == 1)
      try pool.finish()
    }
  }

  @Test("P57 threads and Swift tasks form one line: first come, first served")
  func line() async throws {
    let (pool, line) = try ThreadPool.lining(1, bound: 1)
    let plug = try Plug(pool, threads: 1)
    try pool.execute {}
    let order = Record<Int>()
    let done = Latch(6)
    for number in 0..<6 {
      if number % 2 == 0 {
        _ = try WorkerThread(name: "test-submitter") {
          try? pool.execute {
            order.add(number)
            done.countDown()
          }
        }
      } else {
        Task {
          _ = try await pool.submit(waitingUntil: .distantFuture) {
            order.add(number)
            done.countDown()
          }
        }
      }
      #expect(line.wait(for: number + 1))
    }
    plug.open()
    #expect(done.wait())
    #expect(order.events == Array(0..<6))
    try pool.finish()
  }

  @Test(
    "P57 a wait for room ends at its deadline, by a cancellation, and by the pool's end; the next gets the place"
  )
  func ends() async throws {
    let (pool, line) = try ThreadPool.lining(1, bound: 1)
    let plug = try Plug(pool, threads: 1)
    try pool.execute {}
    let late = await #expect(throws: ThreadPoolError.self) {
      try await pool.submit(waitingUntil: .after(.milliseconds(1))) {}
    }
    #expect(late?.code == .timedOut)
    let census = Census()
    func add() -> Task<Void, any Error> {
      let token = census.token()
      return Task { try await pool.submit(waitingUntil: .distantFuture) { token.hold() }.value }
    }
    let (first, second) = (add(), add())
    #expect(line.wait(for: 3))
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    plug.open()
    try await second.value
    let plugAgain = try Plug(pool, threads: 1)
    try pool.execute {}
    let third = add()
    #expect(line.wait(for: 4))
    pool.dispose()
    let closed = await #expect(throws: ThreadPoolError.self) { try await third.value }
    #expect(closed?.code == .disposed)
    plugAgain.open()
    try pool.finish()
    #expect(pool.core.state.withLock { $0.isLineEmpty })
    let cancelled = Task {
      _ = await Waiter.ofTask().wait(until: .distantFuture)
      _ = try await pool.submit(waitingUntil: .distantFuture) {}
    }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test("P57 submitters of both kinds, many of them cancelled: accepted tasks run, and no place is lost")
  func storm() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 2, queueBound: 2)
    let (ran, accepted) = (Tally(), Tally())
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<400 {
        group.addTask {
          if (try? await pool.submit(waitingUntil: .distantFuture) { ran.add() }) != nil { accepted.add() }
        }
        if number % 50 == 49 { group.cancelAll() }
      }
    }
    try onThreads(2) { _ in
      for _ in 0..<200 where (try? pool.execute { ran.add() }) != nil { accepted.add() }
    }
    try pool.finish()
    #expect(ran.value == accepted.value && ran.value >= 400)
    #expect(pool.core.state.withLock { $0.isLineEmpty })
  }

  @Test("P57 caller runs: a Swift task gets an error instead of a body that blocks its cooperative thread")
  func callerRunsInTask() async throws {
    let (pool, _) = try ThreadPool.lining(1, bound: 0, .callerRuns)
    let plug = try Plug(pool, threads: 1)
    let calls = Tally()
    @Sendable func code() -> ThreadPoolError.Code? {
      do throws(ThreadPoolError) {
        try pool.execute { calls.add() }
        return nil
      } catch {
        return error.code
      }
    }
    #expect(code() == .onCooperativeThread)
    #expect(calls.value == 0)
    #expect(try inThread { code() } == nil)
    #expect(calls.value == 1)
    plug.open()
    try pool.finish()
  }
}
