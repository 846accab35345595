import Testing

@testable import HeadgateThreads

@Suite struct PoolResizeTests {
  @Test("A larger size starts threads for waiting tasks, at once")
  func grows() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let meeting = Latch(3)
    for _ in 0..<3 {
      try pool.execute {
        meeting.countDown()
        _ = meeting.wait()
      }
    }
    #expect(pool.statistics.threads == 1)
    try pool.setSize(3)
    #expect(meeting.wait())
    #expect(pool.size == 3)
    try pool.finish()
    #expect(pool.statistics.largest == 3)
  }

  @Test("After a reduction idle threads end at once, busy ones after their task; the others run the rest")
  func shrinks() throws {
    let ended = Latch(3)
    let pool = try ThreadPool(name: "test-pool", size: 4, onThreadEnd: { ended.countDown() })
    let (one, others) = (try Plug(pool, threads: 1), try Plug(pool, threads: 3))
    try pool.setSize(2)
    let count = Tally()
    for _ in 0..<100 { try pool.execute { count.add() } }
    #expect(pool.statistics.threads == 4)
    others.open()
    try others.wait()
    try pool.setSize(1)
    #expect(ended.wait())
    one.open()
    try pool.finish()
    #expect(count.value == 100)
  }

  @Test("A larger size makes room in a bounded pool for all waiting submitters")
  func room() throws {
    let (pool, line) = try ThreadPool.lining(1, bound: 0)
    let plug = try Plug(pool, threads: 1)
    let meeting = Latch(3)
    for _ in 0..<3 {
      _ = try WorkerThread(name: "test-submitter") {
        try? pool.execute {
          meeting.countDown()
          _ = meeting.wait()
        }
      }
    }
    #expect(line.wait(for: 3))
    try pool.setSize(4)
    #expect(meeting.wait())
    plug.open()
    try pool.finish()
  }

  @Test("A size below 1 is refused, and has no effect")
  func refused() throws {
    let pool = try ThreadPool(name: "test-pool", size: 2)
    let error = #expect(throws: ThreadPoolError.self) { try pool.setSize(0) }
    #expect(error?.code == .badArgument && pool.size == 2)
    try pool.setSize(.max)
    #expect(pool.size == .max)
  }

  @Test("P53 changes of size while tasks are submitted, cancelled and run lose none", arguments: 1...10)
  func storm(seed: Int) throws {
    let pool = try ThreadPool(name: "test-pool", size: 2)
    let (ran, dropped) = (Tally(), Tally())
    try onThreads(3) { thread in
      var random = SeededRandom(seed: UInt64(seed * 3 + thread))
      for number in 0..<300 {
        if thread == 0 {
          try? pool.setSize(Int.random(in: 1...5, using: &random))
        } else if let task = try? pool.submit({ ran.add() }), number % 7 == 0, task.cancel() {
          dropped.add()
        }
      }
    }
    try pool.finish()
    #expect(ran.value + dropped.value == 600)
    #expect(pool.statistics.threads == 0)
  }

  @Test("A chain of 100,000 tasks, each waiting for the next, ends on any stack size", arguments: [1, 2])
  func deepHelp(size: Int) async throws {
    let pool = try ThreadPool(name: "test-pool", size: size)
    @Sendable func link(_ number: Int) -> Int {
      guard number > 0 else { return 0 }
      guard let next = try? pool.submit({ link(number - 1) }), let depth = try? next.wait() else { return -1_000_000 }
      return depth + 1
    }
    let first = try pool.submit { link(100_000) }
    // Without a deadline: under a sanitizer, on a busy machine, it takes a minute.
    #expect(try await first.value == 100_000)
    try pool.finish()
    #expect(pool.core.state.withLock { $0.roster.blocked } == 0)
  }

  @Test("A chain of tasks, each waiting for any of one, ends on a small stack")
  func deepAny() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1, stackSize: 256 << 10)
    @Sendable func link(_ number: Int) -> Int {
      guard number > 0 else { return 0 }
      return ((try? pool.invokeAny([{ link(number - 1) }])) ?? -1_000_000) + 1
    }
    let first = try pool.submit { link(5000) }
    #expect(try inThread { try first.wait(until: .after(generous)) } == 5000)
    try pool.finish()
    #expect(pool.core.state.withLock { $0.roster.blocked } == 0)
  }
}
