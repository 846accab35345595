import Testing

@testable import HeadgateThreads

@Suite struct ThreadPoolTests {
  @Test("An empty name, no threads or a negative number is an error")
  func arguments() {
    func code(_ make: () throws(ThreadPoolError) -> ThreadPool) -> ThreadPoolError.Code? {
      do { _ = try make() } catch { return error.code }
      return nil
    }
    #expect(code { () throws(ThreadPoolError) in try ThreadPool(name: "", size: 1) } == .emptyName)
    for size in [0, -1, Int.min] {
      #expect(code { () throws(ThreadPoolError) in try ThreadPool(name: "p", size: size) } == .badArgument)
    }
    #expect(
      code { () throws(ThreadPoolError) in try ThreadPool(name: "p", size: 1, idleTime: .seconds(-1)) } == .badArgument)
    #expect(code { () throws(ThreadPoolError) in try ThreadPool(name: "p", size: 1, queueBound: -1) } == .badArgument)
    #expect(code { () throws(ThreadPoolError) in try ThreadPool(name: "p", size: 1, stackSize: -1) } == .badArgument)
    #expect(code { () throws(ThreadPoolError) in try ThreadPool(name: "p", size: .max) } == nil)
  }

  @Test("By default a pool's threads end after 10 s idle, and any number of tasks may wait")
  func defaults() throws {
    let settings = try ThreadPool(name: "test-pool", size: 4).core.settings
    #expect(settings.idleTime == .seconds(10))
    #expect(settings.bound == nil)
    #expect(settings.stackSize == 0)
  }

  @Test("101 invocations on a pool of 4, never more than 4 at once as counted inside the tasks")
  func originalInvocations() throws {
    let pool = try ThreadPool(name: "test-pool", size: 4)
    let state = LockedBox((inside: 0, most: 0, calls: 0))
    // The first four meet, which proves that four run at once.
    let meeting = Latch(4)
    let done = Latch(101)
    for number in 0..<101 {
      try pool.execute {
        state.withLock {
          $0.inside += 1
          $0.calls += 1
          $0.most = max($0.most, $0.inside)
        }
        if number < 4 {
          meeting.countDown()
          _ = meeting.wait()
        }
        state.withLock { $0.inside -= 1 }
        done.countDown()
      }
    }
    #expect(done.wait())
    #expect(state.withLock { $0.most } == 4)
    #expect(state.withLock { $0.calls } == 101)
    #expect(pool.statistics.largest == 4)
    try pool.finish()
    #expect(pool.statistics.completed == 101)
  }

  @Test("A pool grows before it queues: each of its threads takes one of as many long tasks", arguments: [1, 2, 5])
  func growth(size: Int) throws {
    let pool = try ThreadPool(name: "test-pool", size: size)
    #expect(pool.statistics == .init(threads: 0, idle: 0, queued: 0, largest: 0, completed: 0))
    let plug = try Plug(pool, threads: size)
    try pool.execute {}
    #expect(pool.statistics == .init(threads: size, idle: 0, queued: 1, largest: size, completed: 0))
    #expect(pool.statistics.running == size)
    plug.open()
    try pool.finish()
    #expect(pool.statistics == .init(threads: 0, idle: 0, queued: 0, largest: size, completed: size + 1))
    #expect(pool.statistics.running == 0)
    #expect(ThreadPool.Statistics(threads: 5, idle: 2, queued: 0, largest: 5, completed: 9).running == 3)
  }

  @Test("P61 with one task at a time only one thread is ever used")
  func oneThread() throws {
    let pool = try ThreadPool(name: "test-pool", size: 8)
    try inThread {
      for number in 0..<2000 {
        let value = try pool.submit { number }.wait()
        #expect(value == number)
      }
    }
    #expect(pool.statistics.largest == 1)
    try pool.finish()
  }

  @Test("P61 idle threads end after the idle time, and the pool starts them again")
  func idleThreadsEnd() throws {
    let ended = Record<Int>()
    let gone = Latch(3)
    let again = Latch(1)
    let pool = try ThreadPool(
      name: "test-pool", size: 3, idleTime: .nanoseconds(1),
      onThreadEnd: {
        ended.add(1)
        gone.countDown()
        if ended.events.count == 4 { again.countDown() }
      })
    let plug = try Plug(pool, threads: 3)
    plug.open()
    #expect(gone.wait())
    try inThread { try pool.submit {}.wait() }
    #expect(again.wait())
    try pool.finish()
    #expect(pool.statistics.threads == 0)
  }

  @Test("P50 a task that arrives just as the last thread gives up is not stranded", arguments: [1, 2])
  func stranding(size: Int) throws {
    let pool = try ThreadPool(name: "test-pool", size: size, idleTime: .zero)
    var random = SeededRandom(seed: 50)
    let pauses = (0..<3000).map { _ in Int.random(in: 0..<200, using: &random) }
    try inThread {
      for pause in pauses {
        let task = try pool.submit {}
        try task.wait(until: .after(generous))
        for _ in 0..<pause { _ = Deadline.now }
      }
    }
    try pool.finish()
    #expect(pool.statistics.completed == 3000)
  }

  @Test("P50 a task that arrives while a worker goes to sleep, watches or lingers runs", arguments: [1, 2, 3])
  func sleepyPool(size: Int) throws {
    let pool = try ThreadPool(name: "test-pool", size: size)
    var random = SeededRandom(seed: 50)
    let pauses = (0..<5000).map { _ in Int.random(in: 0..<400, using: &random) }
    try inThread {
      for pause in pauses {
        let two = [try pool.submit {}, try pool.submit {}]
        for task in two { try task.wait(until: .after(generous)) }
        for _ in 0..<pause { _ = Deadline.now }
      }
    }
    try pool.finish()
  }

  @Test("A task taken by a worker behind a long one runs on the next thread")
  func notStuck() throws {
    let pool = try ThreadPool(name: "test-pool", size: 2)
    for _ in 0..<50 {
      // Short tasks first, so that workers take several at once.
      for _ in 0..<500 { try pool.execute {} }
      let release = Latch()
      let done = Latch(100)
      try pool.execute { _ = release.wait() }
      for _ in 0..<100 { try pool.execute { done.countDown() } }
      #expect(done.wait())
      release.countDown()
    }
    try pool.finish()
  }

  @Test("Higher priorities start first, each in its order")
  func priorities() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let plug = try Plug(pool, threads: 1)
    let order = Record<String>()
    let levels: [PoolPriority] = [.low, .urgent, .normal, .background, .high]
    for round in 0..<3 {
      for level in levels { try pool.execute(priority: level) { order.add("\(level) \(round)") } }
    }
    plug.open()
    try pool.finish()
    let expected = levels.sorted(by: >).flatMap { level in (0..<3).map { "\(level) \($0)" } }
    #expect(order.events == expected)
  }

  @Test("A task of a higher priority precedes those that a worker has already taken")
  func priorityOverBatch() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let order = Record<Int>()
    for _ in 0..<20 {
      for _ in 0..<500 { try pool.execute {} }
      let inside = Latch()
      let release = Latch()
      let done = Latch(21)
      try pool.execute {
        inside.countDown()
        _ = release.wait()
      }
      for number in 0..<20 {
        try pool.execute {
          order.add(number)
          done.countDown()
        }
      }
      #expect(inside.wait())
      try pool.execute(priority: .high) {
        order.add(-1)
        done.countDown()
      }
      release.countDown()
      #expect(done.wait())
    }
    try pool.finish()
    #expect(order.events == Array(repeating: [-1] + Array(0..<20), count: 20).flatMap { $0 })
  }

  @Test("One thread runs tasks in the order of submission, from each submitter")
  func order() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let order = Record<(Int, Int)>()
    try onThreads(4) { thread in
      for number in 0..<2000 { try? pool.execute { order.add((thread, number)) } }
    }
    try pool.finish()
    for thread in 0..<4 { #expect(order.events.filter { $0.0 == thread }.map(\.1) == Array(0..<2000)) }
  }

  @Test("P55 a task that throws ends no thread; its error goes to the pool's handler", arguments: [1, 3])
  func failures(size: Int) throws {
    let errors = Record<Oops>()
    let started = Record<UInt>()
    // A thread that is idle while the test is held up does not end, and so is not started anew.
    let pool = try ThreadPool(
      name: "test-pool", size: size, idleTime: .seconds(3600), onThreadStart: { started.add(threadNumber()) },
      onTaskError: { error in if let error = error as? Oops { errors.add(error) } })
    for number in 0..<500 { try pool.execute { throw Oops(number: number) } }
    try pool.finish()
    #expect(errors.events.map(\.number).sorted() == Array(0..<500))
    #expect(started.events.count <= size)
    #expect(pool.statistics.completed == 500)
  }

  @Test("P53 tasks that submit tasks", arguments: [1, 2, 4])
  func fromInside(size: Int) throws {
    let pool = try ThreadPool(name: "test-pool", size: size)
    let done = Latch(1 << 12)
    @Sendable func split(_ depth: Int) {
      guard depth > 0 else { return done.countDown() }
      for _ in 0..<2 { try? pool.execute { split(depth - 1) } }
    }
    try pool.execute { split(12) }
    #expect(done.wait())
    try pool.finish()
  }

  @Test("P56 a task's captures are released when it has run, before its thread sleeps")
  func captures() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    let census = Census()
    func add() throws -> PoolTask<Void, Never> {
      let token = census.token()
      try pool.execute { token.hold() }
      return try pool.submit { token.hold() }
    }
    let task = try add()
    try inThread { try task.wait() }
    #expect(census.alive == 0)
    try pool.finish()
  }

  @Test("P59 the deinit of a captured value may use the pool: nothing is released under its lock")
  func deinitializers() throws {
    final class Reentrant: Sendable {
      let pool: ThreadPool
      let done: Latch
      init(_ pool: ThreadPool, _ done: Latch) {
        self.pool = pool
        self.done = done
      }
      func hold() {}
      deinit {
        _ = pool.statistics
        done.countDown()
      }
    }
    let pool = try ThreadPool(name: "test-pool", size: 1, queueBound: 3, policy: .discardOldest)
    let plug = try Plug(pool, threads: 1)
    let done = Latch(10)
    func add(_ number: Int) throws {
      let value = Reentrant(pool, done)
      // Three ways to be dropped: discarded, cancelled, disposed of.
      let task = try pool.submit { value.hold() }
      if number % 3 == 0 { task.cancel() }
    }
    for number in 0..<10 { try add(number) }
    pool.dispose(.now)
    plug.open()
    #expect(done.wait())
    try pool.finish()
  }

  @Test("Hooks run on each thread, before its first task and after its last")
  func hooks() throws {
    let events = Record<(UInt, String)>()
    let pool = try ThreadPool(
      name: "test-pool", size: 2, onThreadStart: { events.add((threadNumber(), "start")) },
      onThreadEnd: { events.add((threadNumber(), "end")) })
    let plug = try Plug(pool, threads: 2)
    for _ in 0..<10 { try pool.execute { events.add((threadNumber(), "task")) } }
    plug.open()
    try pool.finish()
    let all = events.events
    let threads = Set(all.map(\.0))
    #expect(threads.count == 2)
    for thread in threads {
      let mine = all.filter { $0.0 == thread }.map(\.1)
      #expect(mine.first == "start" && mine.last == "end")
      #expect(mine.count { $0 == "start" } == 1 && mine.count { $0 == "end" } == 1)
    }
  }
}
