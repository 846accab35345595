import Testing

@testable import HeadgateThreads

/// Pools to which the system gives no thread.
@Suite struct PoolRefusalTests {
  @Test("A thread that the system refuses is an error, and the task goes back")
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
        #expect(error.underlying is Oops)
      }
    }
    try refused()
    #expect(census.alive == 0)
    #expect(pool.statistics == .init(threads: 0, idle: 0, queued: 0, largest: 1, completed: 0))
    mayStart.withLock { $0 = true }
    try inThread { try pool.submit {}.wait() }
    // With one thread there the next refusal costs nothing but speed.
    let plug = try Plug(pool, threads: 1)
    mayStart.withLock { $0 = false }
    let task = try pool.submit { 2 }
    plug.open()
    #expect(try inThread { try task.wait() } == 2)
    try pool.finish()
  }

  @Test("A task that relied on a thread that the system then refused runs after the next try")
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
    #expect(task.state == .queued && pool.statistics == .init(threads: 0, idle: 0, queued: 1, largest: 1, completed: 0))
    mayStart.withLock { $0 = true }
    clock.advance(by: .milliseconds(10))
    #expect(try inThread { try task.wait(until: .after(generous)) } == 5)
    try pool.finish()
  }

  @Test("A piece of a Swift task runs elsewhere when the system has no thread for the pool")
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
