import Testing

@testable import HeadgateThreads

@Suite struct PoolDisposalTests {
  private func pool(_ size: Int) throws -> ThreadPool { try ThreadPool(name: "test-pool", size: size) }

  @Test("A drained pool runs all accepted tasks, accepts no more, and can be waited for")
  func drain() async throws {
    let pool = try pool(2)
    let plug = try Plug(pool, threads: 2)
    let count = Tally()
    for _ in 0..<100 { try pool.execute { count.add() } }
    pool.dispose()
    #expect(pool.isDisposed)
    #expect(throws: ThreadPoolError.self) { try pool.execute {} }
    #expect(throws: ThreadPoolError.self) { _ = try pool.submit { 1 } }
    let error = await #expect(throws: WaitError.self) { try await pool.waitUntilDisposed(until: .distantPast) }
    #expect(error?.code == .timedOut)
    plug.open()
    try await pool.waitUntilDisposed(until: .after(generous))
    #expect(count.value == 100)
    #expect(pool.statistics.threads == 0)
    try await pool.waitUntilDisposed(until: .distantPast)
    try inThread { try pool.waitUntilDisposed(until: .distantPast) }
  }

  @Test("P62 immediate disposal tells each waiting task once, releases closures, and leaves running tasks")
  func now() throws {
    let pool = try pool(2)
    let plug = try Plug(pool, threads: 2)
    let census = Census()
    func add() throws -> PoolTask<Void, Never> {
      let token = census.token()
      try pool.execute { token.hold() }
      return try pool.submit { token.hold() }
    }
    let tasks = try (0..<50).map { _ in try add() }
    tasks[0].cancel()
    pool.dispose(.now)
    #expect(census.alive == 0)
    #expect(tasks[0].job.dropReason == .cancelled)
    #expect(tasks.dropFirst().allSatisfy { $0.job.dropReason == .disposed })
    #expect(pool.statistics.queued == 0)
    plug.open()
    try pool.finish()
    #expect(pool.statistics.completed == 2)
    #expect(pool.stale == 0)
  }

  @Test("Immediate disposal after draining drops tasks that have not started")
  func drainThenNow() throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let task = try pool.submit { 1 }
    pool.dispose()
    #expect(task.state == .queued)
    pool.dispose(.now)
    #expect(task.job.dropReason == .disposed)
    plug.open()
    try pool.finish()
  }

  @Test("P53 a task disposes of its pool", arguments: [ThreadPool.Disposal.drain, .now])
  func fromInside(disposal: ThreadPool.Disposal) throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let waitEnd = Record<WaitError.Code?>()
    let first = try pool.submit {
      pool.dispose(disposal)
      do throws(WaitError) {
        try pool.waitUntilDisposed()
        waitEnd.add(nil)
      } catch {
        waitEnd.add(error.code)
      }
    }
    let second = try pool.submit { 2 }
    plug.open()
    try pool.finish()
    #expect(waitEnd.events == [.wouldDeadlock])
    #expect(first.state == .succeeded)
    #expect(second.state == (disposal == .drain ? .succeeded : .dropped))
  }

  @Test("P53 two threads dispose of a pool while others submit: each accepted task has one end", arguments: 0..<20)
  func twoThreads(round: Int) throws {
    let pool = try pool(2)
    let ran = Tally()
    let accepted = LockedBox<[PoolTask<Void, Never>]>([])
    try onThreads(4) { thread in
      if thread < 2 {
        for _ in 0..<20 * thread { _ = Deadline.now }
        pool.dispose(round % 2 == 0 ? .now : .drain)
      } else {
        for _ in 0..<200 {
          guard let task = try? pool.submit({ ran.add() }) else { return }
          accepted.withLock { $0.append(task) }
        }
      }
    }
    try pool.finish()
    let tasks = accepted.withLock { $0 }
    #expect(tasks.allSatisfy { $0.hasEnded })
    #expect(tasks.count { $0.state == .succeeded } == ran.value)
    if round % 2 == 1 { #expect(ran.value == tasks.count) }
  }

  @Test("A released pool runs its accepted tasks and ends its threads")
  func dropped() throws {
    let ended = Latch(2)
    let count = Tally()
    let done = Latch(10)
    func use() throws {
      let pool = try ThreadPool(name: "test-pool", size: 2, onThreadEnd: { ended.countDown() })
      let plug = try Plug(pool, threads: 2)
      for _ in 0..<10 {
        try pool.execute {
          count.add()
          done.countDown()
        }
      }
      plug.open()
    }
    try use()
    #expect(done.wait())
    #expect(ended.wait())
  }

  @Test("P33 a pool that is disposed of while its only thread is refused ends", arguments: [true, false])
  func refusedAtTheEnd(now: Bool) throws {
    let core = LockedBox<PoolCore?>(nil)
    var settings = PoolCore.Settings(name: "test-pool", size: 1)
    settings.spawn = { _, _, _ in
      core.withLock { $0.take() }?.dispose(now: now)
      throw Oops()
    }
    let pool = try ThreadPool(settings)
    core.withLock { $0 = pool.core }
    let task = try? pool.submit {}
    // It had been accepted when the disposal came, which ended it, or found no thread for it and returned it.
    #expect(task?.job.dropReason == (now ? .disposed : nil))
    try inThread { try pool.waitUntilDisposed(until: .after(generous)) }
  }

  @Test("P33 a pool that is disposed of while a thread is refused again ends")
  func refusedAgainAtTheEnd() throws {
    let core = LockedBox<PoolCore?>(nil)
    let tries = Tally()
    let clock = StandingClock()
    var settings = PoolCore.Settings(name: "test-pool", size: 1)
    settings.timers = clock
    settings.spawn = { _, _, _ in
      tries.add()
      let pool = core.withLock { $0 }
      // One more task, which relies on this thread. Then, at the second attempt, the end of both.
      if tries.value == 1 {
        try pool?.submit(.closure(Closure {}), level: PoolPriority.normal.level)
      } else {
        pool?.dispose(now: true)
      }
      throw Oops()
    }
    let pool = try ThreadPool(settings)
    core.withLock { $0 = pool.core }
    defer { core.withLock { $0 = nil } }
    #expect(throws: ThreadPoolError.self) { try pool.execute {} }
    #expect(pool.statistics.queued == 1)
    clock.advance(by: .seconds(1))
    #expect(tries.value == 2)
    try inThread { try pool.waitUntilDisposed(until: .after(generous)) }
  }

  @Test("P50 a task that is submitted and cancelled while the last thread ends does not keep the pool alive")
  func cancelledAtTheEnd() throws {
    let held = LockedBox<ThreadPool?>(nil)
    let ended = Latch()
    let pool = try ThreadPool(
      name: "test-pool", size: 1, idleTime: .zero,
      onThreadEnd: {
        guard let pool = held.withLock({ $0.take() }) else { return }
        // The thread has checked for the last time.
        let task = try? pool.submit { Issue.record("it runs") }
        #expect(task?.cancel() == true)
        pool.dispose()
        ended.countDown()
      })
    held.withLock { $0 = pool }
    try pool.execute {}
    #expect(ended.wait())
    try inThread { try pool.waitUntilDisposed(until: .after(generous)) }
    #expect(pool.core.state.withLock { $0.queue.count } == 0)
  }

  @Test("P53 the last reference to a pool may be released in one of its own tasks")
  func droppedInside() throws {
    let ended = Latch(1)
    func use() throws {
      let pool = try ThreadPool(name: "test-pool", size: 1, onThreadEnd: { ended.countDown() })
      let plug = try Plug(pool, threads: 1)
      try pool.execute { _ = pool.name }
      plug.open()
    }
    try use()
    #expect(ended.wait())
  }

  @Test("P52 1,000 pools made and disposed of leave no thread, no core and no task behind")
  func rounds() throws {
    let started = Tally()
    let ended = Tally()
    let census = Census()
    let gone = Latch(1000)
    func use(_ round: Int) throws {
      let farewell = Farewell(gone)
      let pool = try ThreadPool(
        name: "test-pool", size: 2, onThreadStart: { started.add() },
        onThreadEnd: {
          withExtendedLifetime(farewell) {}
          ended.add()
        })
      let token = census.token()
      for _ in 0..<round % 4 { try pool.execute { token.hold() } }
      if round % 3 == 0 { _ = try pool.submit { token.hold() } }
      pool.dispose(round % 2 == 0 ? .drain : .now)
      try inThread { try pool.waitUntilDisposed(until: .after(generous)) }
    }
    for round in 0..<1000 { try use(round) }
    #expect(started.value == ended.value)
    #expect(started.value > 0)
    // The last thread releases its core a moment after its end was reported.
    #expect(gone.wait())
    #expect(census.alive == 0)
  }

  @Test("P52 a pool without any task ends at once")
  func empty() throws {
    for _ in 0..<1000 {
      let pool = try pool(4)
      pool.dispose()
      #expect(pool.core.ended.withLock { $0.count == 0 })
    }
  }
}
