import Testing

@testable import HeadgateThreads

/// P57: the policies for a full queue.
@Suite struct PoolPolicyTests {
  private func pool(_ size: Int, bound: Int, _ policy: FullQueuePolicy) throws -> ThreadPool {
    try ThreadPool(name: "test-pool", size: size, queueBound: bound, policy: policy)
  }

  private func code(_ body: () throws(ThreadPoolError) -> Void) -> ThreadPoolError.Code? {
    do throws(ThreadPoolError) {
      try body()
      return nil
    } catch {
      return error.code
    }
  }

  @Test(
    "P57 throw: the bound is exact, and a place is free as soon as its task starts or is cancelled",
    arguments: [0, 1, 3])
  func throwing(bound: Int) throws {
    let pool = try pool(2, bound: bound, .throw)
    let plug = try Plug(pool, threads: 2)
    var waiting: [PoolTask<Int, Never>] = []
    for number in 0..<bound { waiting.append(try pool.submit { number }) }
    #expect(pool.statistics.queued == bound)
    #expect(code { () throws(ThreadPoolError) in try pool.execute {} } == .full)
    if bound > 0 {
      waiting.removeLast().cancel()
      waiting.append(try pool.submit { -1 })
      #expect(code { () throws(ThreadPoolError) in try pool.execute {} } == .full)
    }
    plug.open()
    try plug.wait()
    for task in waiting { _ = try inThread { try task.wait() } }
    // When the end of a task is reported, its thread is free.
    try inThread { for _ in 0..<1000 { try pool.submit {}.wait() } }
    try pool.finish()
    #expect(code { () throws(ThreadPoolError) in try pool.execute {} } == .disposed)
  }

  @Test("P57 block: no more than the bound ever wait")
  func bound() throws {
    let pool = try pool(2, bound: 3, .block)
    let most = LockedBox(0)
    try onThreads(3) { _ in
      for _ in 0..<700 {
        try? pool.execute {}
        let queued = pool.statistics.queued
        most.withLock { $0 = max($0, queued) }
      }
    }
    try pool.finish()
    // The bound, and one for each thread that is starting.
    #expect(most.withLock { $0 } <= 3 + 2)
    #expect(pool.statistics.completed == 2100)
  }

  @Test("P57 block: a wait for room ends at its deadline, by the thread's cancellation, and by the pool's end")
  func blockedEnds() throws {
    let (pool, line) = try ThreadPool.lining(1, bound: 1)
    let plug = try Plug(pool, threads: 1)
    try pool.execute {}
    let codes = Record<ThreadPoolError.Code?>()
    try inThread {
      codes.add(code { () throws(ThreadPoolError) in try pool.execute(until: .distantPast) {} })
      codes.add(code { () throws(ThreadPoolError) in try pool.execute(until: .after(.milliseconds(2))) {} })
      ThreadRecord.current.cancel()
      codes.add(code { () throws(ThreadPoolError) in try pool.execute {} })
    }
    #expect(codes.events == [.timedOut, .timedOut, .cancelled])
    // This is a Swift task.
    #expect(code { () throws(ThreadPoolError) in try pool.execute {} } == .onCooperativeThread)

    let done = Latch(2)
    let ends = Record<ThreadPoolError.Code?>()
    // The cancelled one has given up, and the one with a deadline too, unless that passed before it joined the line.
    let gone = line.count
    for _ in 0..<2 {
      _ = try WorkerThread(name: "test-submitter") {
        ends.add(self.code { () throws(ThreadPoolError) in try pool.execute {} })
        done.countDown()
      }
    }
    #expect(line.wait(for: gone + 2))
    pool.dispose()
    #expect(done.wait())
    #expect(ends.events == [.disposed, .disposed])
    plug.open()
    try pool.finish()
    #expect(pool.statistics.completed == 2)
  }

  @Test("P57 block: a submitter that gave up leaves its place to the next")
  func passedOn() throws {
    for _ in 0..<200 {
      let pool = try pool(1, bound: 1, .block)
      let plug = try Plug(pool, threads: 1)
      try pool.execute {}
      let done = Latch(2)
      let ends = Record<ThreadPoolError.Code?>()
      _ = try WorkerThread(name: "test-submitter") {
        // About when the place becomes free.
        ends.add(self.code { () throws(ThreadPoolError) in try pool.execute(until: .after(.microseconds(100))) {} })
        done.countDown()
      }
      _ = try WorkerThread(name: "test-submitter") {
        ends.add(self.code { () throws(ThreadPoolError) in try pool.execute(until: .after(generous)) {} })
        done.countDown()
      }
      plug.open()
      #expect(done.wait())
      #expect(ends.events.count { $0 == nil } >= 1)
      #expect(ends.events.allSatisfy { $0 == nil || $0 == .timedOut })
      try pool.finish()
      #expect(pool.core.state.withLock { $0.isLineEmpty })
    }
  }

  @Test("P57 block without places: a submitter proceeds as soon as a thread is free")
  func noPlace() throws {
    let (pool, line) = try ThreadPool.lining(1, bound: 0)
    let plug = try Plug(pool, threads: 1)
    let done = Latch()
    _ = try WorkerThread(name: "test-submitter") {
      #expect(self.code { () throws(ThreadPoolError) in try pool.execute { done.countDown() } } == nil)
    }
    #expect(line.wait(for: 1))
    plug.open()
    #expect(done.wait())
    try pool.finish()
  }

  @Test("P57 block without places: a submitter that arrives while the last thread ends gets the next one")
  func noPlaceAtTheEnd() throws {
    let line = Arrivals()
    let isGoing = Latch()
    var settings = PoolCore.Settings(name: "test-pool", size: 1, idleTime: .zero, bound: 0)
    settings.submitterWaits = { line.add() }
    settings.threadEnded = {
      // It has checked for the last time.
      isGoing.countDown()
      _ = line.wait(for: 1)
    }
    let pool = try ThreadPool(settings)
    try pool.execute {}
    #expect(isGoing.wait())
    let code = try inThread {
      self.code { () throws(ThreadPoolError) in try pool.execute(until: .after(generous)) {} }
    }
    #expect(code == nil)
    try pool.finish()
    #expect(pool.statistics.completed == 2)
  }

  @Test("P57 block: a task returned for lack of a thread leaves its place to a waiting submitter")
  func refusedPlace() throws {
    let line = Arrivals()
    let (isStarting, isRefused) = (Latch(), Tally())
    var settings = PoolCore.Settings(name: "test-pool", size: 1, bound: 0)
    settings.spawn = { name, stackSize, body in
      guard isRefused.value > 0 else {
        isRefused.add()
        isStarting.countDown()
        _ = line.wait(for: 1)
        throw Oops()
      }
      _ = try WorkerThread(name: name, stackSize: stackSize, body)
    }
    settings.submitterWaits = { line.add() }
    let pool = try ThreadPool(settings)
    let codes = Record<ThreadPoolError.Code?>()
    try onThreads(2) { number in
      if number == 1 { _ = isStarting.wait() }
      codes.add(self.code { () throws(ThreadPoolError) in try pool.execute(until: .after(generous)) {} })
    }
    #expect(Set(codes.events) == [.noThread, nil])
    try pool.finish()
  }

  @Test("P57 block: a task of the pool never waits for room; its submissions are accepted above the bound")
  func ownWorker() throws {
    let pool = try pool(1, bound: 1, .block)
    let done = Latch(100)
    try pool.execute { for _ in 0..<100 { try? pool.execute { done.countDown() } } }
    #expect(done.wait())
    try pool.finish()
  }

  @Test("P57 caller runs: on the submitter's thread, before submit returns; nested up to 16 deep")
  func callerRuns() throws {
    let pool = try pool(1, bound: 1, .callerRuns)
    let plug = try Plug(pool, threads: 1)
    try pool.execute {}
    try inThread {
      let here = threadNumber()
      let task = try pool.submit { threadNumber() }
      #expect(task.state == .succeeded)
      #expect(try task.wait() == here)
      let bad = try pool.submit { () throws(Oops) -> Void in throw Oops() }
      #expect(bad.error == Oops())
    }
    let depth = LockedBox((now: 0, most: 0, left: 200))
    let done = Latch(201)
    @Sendable func nest() {
      let goesOn = depth.withLock { depth in
        depth.now += 1
        depth.most = max(depth.most, depth.now)
        depth.left -= 1
        return depth.left >= 0
      }
      if goesOn { try? pool.execute { nest() } }
      depth.withLock { $0.now -= 1 }
      done.countDown()
    }
    try inThread { nest() }
    plug.open()
    #expect(done.wait())
    // The function's own call, and 16 nested in it.
    #expect(depth.withLock { $0.most } == 17)
    try pool.finish()
  }

  @Test(
    "P57 caller runs: a throwing, waiting or cancelled task leaves the foreign thread as it was"
  )
  func callerStays() throws {
    let pool = try pool(1, bound: 0, .callerRuns)
    let plug = try Plug(pool, threads: 1)
    try inThread {
      try pool.execute { throw Oops() }
      let waits = try pool.submit { () -> Bool? in
        let inner = try? pool.submit { ThreadPool.isCancelled }
        return try? inner?.wait()
      }
      #expect(try waits.wait() == false)
      #expect(PoolFrame.current == nil)
      #expect(ThreadPool.isCancelled == false)
      #expect(pool.isCurrent == false)
      // A request to end the thread itself does not end the task, and is still there afterwards.
      ThreadRecord.current.cancel()
      #expect(try pool.submit { ThreadPool.isCancelled }.wait() == false)
      #expect(ThreadPool.isCancelled)
    }
    plug.open()
    try pool.finish()
  }

  @Test("P57 caller runs: a request to end the outer task does not end the closure nested in it")
  func callerShields() throws {
    let (outer, inner) = (try ThreadPool(name: "test-outer", size: 1), try pool(1, bound: 0, .callerRuns))
    let plug = try Plug(inner, threads: 1)
    let (inside, cancelled, seen) = (Latch(), Latch(), Record<Bool>())
    let task = try outer.submit {
      inside.countDown()
      _ = cancelled.wait()
      seen.add(ThreadPool.isCancelled)
      try inner.execute {
        seen.add(ThreadPool.isCancelled)
        // Another nested task, since the closure waits on a thread of its pool.
        let last = try outer.submit { ThreadPool.isCancelled }
        seen.add(try last.wait())
        seen.add(ThreadPool.isCancelled)
      }
      seen.add(ThreadPool.isCancelled)
    }
    #expect(inside.wait())
    #expect(!task.cancel())
    cancelled.countDown()
    try inThread { try task.wait(until: .after(generous)) }
    #expect(seen.events == [true, false, false, false, true])
    try inThread {
      ThreadRecord.current.cancel()
      try inner.execute { seen.add(ThreadPool.isCancelled) }
      seen.add(ThreadPool.isCancelled)
    }
    #expect(seen.events.suffix(2) == [false, true])
    plug.open()
    try inner.finish()
    try outer.finish()
  }

  @Test("P57 discard oldest: the oldest of the lowest priority gives way, and its handle says so")
  func discardOldest() throws {
    let pool = try pool(1, bound: 2, .discardOldest)
    let plug = try Plug(pool, threads: 1)
    let high = try pool.submit(priority: .high) { 0 }
    let first = try pool.submit { 1 }
    let second = try pool.submit { 2 }
    let low = try pool.submit(priority: .low) { 3 }
    #expect(first.state == .dropped && first.job.dropReason == .discarded)
    // All waiting tasks have a higher priority, so the new one itself gives way.
    #expect(low.job.dropReason == .discarded)
    #expect(high.state == .queued && second.state == .queued)
    plug.open()
    try pool.finish()
    #expect(high.state == .succeeded && second.state == .succeeded)
    #expect(pool.statistics.completed == 3)
  }

  @Test(
    "P57 nothing is lost or run twice under saturation",
    arguments: [FullQueuePolicy.block, .throw, .callerRuns, .discardOldest], [1, 2])
  func saturation(policy: FullQueuePolicy, size: Int) throws {
    let pool = try pool(size, bound: 2 * size, policy)
    let ran = Tally()
    let refused = Tally()
    let tasks = LockedBox<[PoolTask<Void, Never>]>([])
    try onThreads(3) { _ in
      for _ in 0..<2000 {
        do throws(ThreadPoolError) {
          let task = try pool.submit { ran.add() }
          tasks.withLock { $0.append(task) }
        } catch {
          refused.add()
        }
      }
    }
    try pool.finish()
    let all = tasks.withLock { $0 }
    let dropped = all.count { $0.state == .dropped }
    #expect(all.count + refused.value == 6000)
    #expect(all.count { $0.state == .succeeded } == ran.value)
    #expect(dropped + ran.value == all.count)
    #expect(policy == .discardOldest || dropped == 0)
    #expect(policy == .throw || refused.value == 0)
    #expect(pool.stale == 0)
  }
}
