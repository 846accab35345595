import HeadgateThreads
import Testing

/// Work of a task on a pool of the program.
@Suite(.timeLimit(.minutes(2))) struct PoolRunTests {
  @Test("The result of the body, which may be noncopyable, and its error as it is")
  func results() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 2)
    #expect(try await pool.run { ManagedThread.current.name } == "test-pool")
    let census = Census()
    let parcel = try await pool.run { Parcel(5, census) }
    #expect(parcel.number == 5)
    await #expect(throws: TestFailure(number: 9)) {
      try await pool.run { () throws(TestFailure) in throw TestFailure(number: 9) }
    }
    try await pool.run {}
    try pool.finish()
  }

  @Test("With a full queue the task waits for room, until its deadline or its cancellation")
  func room() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 1, queueBound: 1, policy: .throw)
    let plug = try Plug(pool, threads: 1)
    let queued = try startUntilSuspended { try await pool.run { 1 } }
    #expect(pool.statistics.queued == 1)
    let late = await #expect(throws: ThreadPoolError.self) { try await pool.run(until: .distantPast) { 2 } }
    #expect(late?.code == .timedOut)
    let cancelled = Task { try await pool.run { 3 } }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    let waiting = try startUntilSuspended { try await pool.run { 4 } }
    plug.open()
    #expect(try await queued.value == 1)
    #expect(try await waiting.value == 4)
    try pool.finish()
  }

  @Test("A cancellation before the start ends the call at once; a running body sees it and is waited for")
  func cancellation() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let plug = try Plug(pool, threads: 1)
    let queued = try startUntilSuspended { try await pool.run { _ = Issue.record("it ran") } }
    #expect(pool.statistics.queued == 1)
    queued.cancel()
    await #expect(throws: CancellationError.self) { try await queued.value }
    plug.open()
    let inside = Latch()
    let running = Task {
      try await pool.run { () -> Bool in
        inside.countDown()
        let end = ending(of: { () throws(WaitError) in try ManagedThread.sleep(until: .distantFuture) })
        return end == .error(.cancelled) && ThreadPool.isCancelled
      }
    }
    #expect(try await onThread { inside.wait() })
    running.cancel()
    #expect(try await running.value)
    try pool.finish()
  }

  @Test("Work that a pool drops throws the reason")
  func dropped() async throws {
    let pool = try ThreadPool(name: "test-pool", size: 1, queueBound: 1, policy: .discardOldest)
    let plug = try Plug(pool, threads: 1)
    let displaced = try startUntilSuspended { try await pool.run { 1 } }
    #expect(pool.statistics.queued == 1)
    try pool.execute {}
    let discarded = await #expect(throws: PoolTaskError<Never>.self) { try await displaced.value }
    #expect(discarded?.code == .discarded)
    plug.open()
    try pool.finish()
    let refused = await #expect(throws: ThreadPoolError.self) { try await pool.run { 2 } }
    #expect(refused?.code == .disposed)
  }
}
