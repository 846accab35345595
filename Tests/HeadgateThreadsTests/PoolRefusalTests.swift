import Testing

@testable import HeadgateThreads

/// Pools that get no threads from the system.
@Suite struct PoolRefusalTests {
  @Test("A thread that the system refuses is an error, and the task is returned")
  func noThread() throws {
    let mayStart = LockedBox(false)
    var settings = PoolCore.Settings(name: "test-pool", size: 2)
    settings.spawn = { name, stackSize, body in
      guard mayStart.withLock({ $0 }) else { throw Oops() }
      _ = try WorkerThread(name: name, body)
    }
    let pool = try ThreadPool(settings)
    let census = Census()
    func refused() throws {
      let token = census.token()
      do {
        try pool.execute { token.hold() }
        Issue.record("the task was accepted")
      } catch {
        #expect(error.code == .noThread)
        #expect(error.underlyingError is Oops)
      }
    }
    try refused()
    #expect(census.alive == 0)
    #expect(pool.statistics == .init(threads: 0, idle: 0, queued: 0, largest: 0, completed: 0))
    mayStart.withLock { $0 = true }
    try inThread { try pool.submit {}.wait() }
    // With one thread the next refusal only costs speed.
    let plug = try Plug(pool, threads: 1)
    mayStart.withLock { $0 = false }
    let task = try pool.submit { 2 }
    plug.open()
    #expect(try inThread { try task.wait() } == 2)
    try pool.finish()
  }

  @Test("A task that relied on a refused thread runs after the next attempt")
  func retry() throws {
    let mayStart = LockedBox(false)
    let starting = Latch()
    let refuse = Latch()
    let clock = StillClock()
    var settings = PoolCore.Settings(name: "test-pool", size: 1)
    settings.timers = clock
    settings.spawn = { name, _, body in
      if !mayStart.withLock({ $0 }) {
        starting.countDown()
        _ = refuse.wait()
        throw Oops()
      }
      _ = try WorkerThread(name: name, body)
    }
    let pool = try ThreadPool(settings)
    let refused = Latch()
    _ = try WorkerThread(name: "test-submitter") {
      if (try? pool.execute {}) == nil { refused.countDown() }
    }
    #expect(starting.wait())
    let task = try pool.submit { 5 }
    refuse.countDown()
    #expect(refused.wait())
    #expect(task.state == .queued && pool.statistics == .init(threads: 0, idle: 0, queued: 1, largest: 0, completed: 0))
    mayStart.withLock { $0 = true }
    clock.advance(by: .milliseconds(10))
    #expect(try inThread { try task.wait(until: .after(generous)) } == 5)
    try pool.finish()
  }

  /// A pool without a thread, and tasks that it accepted while one was starting.
  private func stranded(_ count: Int, _ clock: StillClock) throws -> (ThreadPool, [PoolTask<Void, Never>]) {
    let (late, accepted) = (LockedBox<ThreadPool?>(nil), LockedBox<[PoolTask<Void, Never>]?>(nil))
    var settings = PoolCore.Settings(name: "test-pool", size: count + 1)
    settings.timers = clock
    settings.spawn = { _, _, _ in
      if let inner = late.withLock({ $0.take() }) {
        let tasks = try (0..<count).map { _ in try inner.submit {} }
        accepted.withLock { $0 = tasks }
      }
      throw Oops()
    }
    let pool = try ThreadPool(settings)
    late.withLock { $0 = pool }
    #expect(throws: ThreadPoolError.self) { try pool.execute {} }
    return (pool, try #require(accepted.withLock { $0.take() }))
  }

  @Test("Attempts to start a thread don't add up, however often the system refuses")
  func onlyOneRetry() throws {
    let clock = StillClock()
    let (pool, tasks) = try stranded(1, clock)
    for _ in 0..<10 { #expect(throws: ThreadPoolError.self) { try pool.execute {} } }
    #expect(clock.pendingCount == 1)
    clock.advance(by: .milliseconds(10))
    #expect(clock.pendingCount == 1 && tasks[0].state == .queued)
    pool.dispose(.now)
    clock.advance(by: .milliseconds(10))
    #expect(clock.pendingCount == 0)
    try pool.finish()
  }

  @Test("A disposed pool without a thread ends when its last tasks are cancelled")
  func cancelledWithoutThread() throws {
    let clock = StillClock()
    let (pool, tasks) = try stranded(65, clock)
    pool.dispose()
    for task in tasks { #expect(task.cancel()) }
    clock.advance(by: .milliseconds(10))
    try inThread { try pool.waitUntilDisposed(until: .after(.seconds(1))) }
    #expect(clock.pendingCount == 0)
  }

  @Test("A job of a Swift task runs elsewhere if the system has no thread for the pool")
  func retryElsewhere() async throws {
    var settings = PoolCore.Settings(name: "test-pool", size: 1)
    settings.spawn = { _, _, _ in throw Oops() }
    let pool = try ThreadPool(settings)
    let value = await Task(executorPreference: pool.taskExecutor) { () -> Int in
      await Task.yield()
      return 6
    }.value
    #expect(value == 6)
    #expect(pool.statistics.queued == 0)
    pool.dispose()
    try await pool.waitUntilDisposed()
  }
}
