import Testing

@testable import HeadgateThreads

@Suite struct PoolHiddenTests {
  @Test("P50 a cancelled task never hides a live one: a task that waits beside it gets a thread")
  func cancelledBesideLive() throws {
    let refuses = LockedBox(false)
    var settings = PoolCore.Settings(name: "test-pool", size: 3)
    settings.spawn = { name, stackSize, body in
      if refuses.withLock({ $0 }) { throw Oops() }
      _ = try WorkerThread(name: name, stackSize: stackSize, body)
    }
    let pool = try ThreadPool(settings)
    // Two busy threads, and for the moment no third.
    let (first, second) = (try Plug(pool, threads: 1), try Plug(pool, threads: 1))
    refuses.withLock { $0 = true }
    second.open()
    // A worker whose tasks have been short.
    for _ in 0..<1000 { try pool.execute {} }
    let third = try Plug(pool, threads: 1)
    let started = Latch()
    let live = Latch()
    let cancelled = try (0..<2).map { _ in try pool.submit {} }
    let longOne = try pool.submit {
      started.countDown()
      return live.wait()
    }
    let longTwo = try pool.submit { live.wait() }
    let last = try pool.submit { live.countDown() }
    for task in cancelled { #expect(task.cancel()) }
    third.open()
    #expect(started.wait())
    refuses.withLock { $0 = false }
    first.open()
    #expect(throws: Never.self) { try inThread { try last.wait(until: .after(generous)) } }
    live.countDown()
    #expect(try inThread { [try longOne.wait(), try longTwo.wait()] } == [true, true])
    try pool.finish()
  }
}
