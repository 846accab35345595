import Testing

@testable import HeadgateThreads

@Suite struct PoolTaskTests {
  private func pool(_ size: Int) throws -> ThreadPool { try ThreadPool(name: "test-pool", size: size) }

  private func code<S, F>(_ task: PoolTask<S, F>, until deadline: Deadline = .after(generous)) -> PoolTaskErrorCode? {
    try? inThread { () -> PoolTaskErrorCode? in
      do throws(PoolTaskError<F>) {
        _ = try task.wait(until: deadline)
        return nil
      } catch {
        return error.code
      }
    }
  }

  @Test("P55 a handle gets the result, or the error that the body threw")
  func results() async throws {
    let pool = try pool(2)
    let good = try pool.submit { "good" }
    let bad = try pool.submit { () throws(Oops) -> Int in throw Oops(number: 7) }
    #expect(try inThread { try good.wait() } == "good")
    #expect(try await good.value == "good")
    let error = await #expect(throws: PoolTaskError<Oops>.self) { try await bad.value }
    #expect(error?.code == .failed && error?.failure == Oops(number: 7))
    #expect(code(bad) == .failed)
    #expect(bad.error == Oops(number: 7) && bad.state == .failed && good.state == .succeeded)
    #expect(try await pool.submit {}.value == ())
    try pool.finish()
  }

  @Test("Any number of threads and tasks can wait for one handle, before and after its end")
  func manyWaiters() async throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let task = try pool.submit { 5 }
    #expect(task.state == .queued)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<20 { group.addTask { try await task.value } }
      let sums = Record<Int>()
      let done = Latch(4)
      for _ in 0..<4 {
        _ = try WorkerThread(name: "test-waiter") {
          if let value = try? task.wait() { sums.add(value) }
          done.countDown()
        }
      }
      plug.open()
      #expect(done.wait())
      #expect(sums.events == [5, 5, 5, 5])
      for try await value in group { #expect(value == 5) }
    }
    try pool.finish()
  }

  @Test("A wait ends at its deadline, and the task continues; a past deadline only checks")
  func deadlines() throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let task = try pool.submit { 5 }
    #expect(code(task, until: .distantPast) == .timedOut)
    #expect(code(task, until: .after(.milliseconds(2))) == .timedOut)
    plug.open()
    #expect(code(task) == nil)
    #expect(code(task, until: .distantPast) == nil)
    try pool.finish()
  }

  @Test("A past deadline only checks, even on a thread of the pool, which begins nothing then")
  func deadlineInside() throws {
    let pool = try pool(1)
    let ran = Tally()
    let codes = try pool.submit { () throws -> [PoolTaskErrorCode?] in
      let task = try pool.submit { ran.add() }
      let body: @Sendable () throws -> Void = { ran.add() }
      var codes = [PoolTaskErrorCode?]()
      do throws(PoolTaskError<Never>) { try task.wait(until: .distantPast) } catch { codes.append(error.code) }
      for case .failure(let error) in try pool.invokeAll([body, body], until: .distantPast) { codes.append(error.code) }
      do throws(PoolTaskError<any Error>) { try pool.invokeAny([body], until: .distantPast) } catch {
        codes.append(error.code)
      }
      #expect(ran.value == 0)
      return codes
    }
    #expect(try inThread { try codes.wait(until: .after(generous)) } == Array(repeating: .timedOut, count: 4))
    try pool.finish()
    #expect(ran.value == 1)
  }

  @Test("A cancelled Swift task stops waiting; the pool's task continues")
  func cancelledWait() async throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let task = try pool.submit { 5 }
    let waiting = Task { try await task.value }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    plug.open()
    #expect(try await task.value == 5)
    try pool.finish()
  }

  @Test("A Swift task can't block in wait")
  func cooperative() async throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let task = try pool.submit { 5 }
    func blocked() -> PoolTaskErrorCode? {
      do throws(PoolTaskError<Never>) {
        _ = try task.wait(until: .after(generous))
        return nil
      } catch {
        return error.code
      }
    }
    #expect(blocked() == .onCooperativeThread)
    plug.open()
    _ = try await task.value
    try pool.finish()
  }

  @Test("A cancelled waiting task ends at once, releases its captures and frees its place")
  func cancelQueued() throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let census = Census()
    func add() throws -> PoolTask<Void, Never> {
      let token = census.token()
      return try pool.submit { token.hold() }
    }
    let task = try add()
    #expect(pool.statistics.queued == 1)
    #expect(!task.isCancelled)
    #expect(task.cancel())
    #expect(task.isCancelled)
    #expect(census.alive == 0)
    #expect(pool.statistics.queued == 0)
    #expect(task.state == .dropped && task.cancel() == false)
    #expect(code(task) == .cancelled)
    plug.open()
    try pool.finish()
    #expect(pool.statistics.completed == 1)
    #expect(pool.stale == 0)
  }

  @Test("A thread and a Swift task that wait for a queued task wake when it is cancelled")
  func cancelWakes() async throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let task = try pool.submit {}
    let sleeping = Waiter.ofTask()
    #expect(task.job.add(sleeping))
    let outcome = try inThread {
      let blocked = Waiter.ofThread()
      guard task.job.add(blocked), task.cancel() else { return Waiter.Outcome.pending }
      return blocked.wait(until: .after(generous))
    }
    #expect(outcome == .woken)
    #expect(await sleeping.wait(until: .after(generous)) == .woken)
    plug.open()
    try pool.finish()
  }

  @Test("P35 a running task sees its cancellation, its waits end, and the thread's next task sees nothing")
  func cancelRunning() throws {
    let pool = try pool(1)
    for _ in 0..<200 {
      // Short tasks first, so that the worker takes the following two together.
      for _ in 0..<200 { try pool.execute {} }
      let inside = Latch()
      let task = try pool.submit { () -> (Bool, Bool) in
        inside.countDown()
        // A wait of this library that nothing else ends.
        let waiter = Waiter.ofThread()
        let outcome = waiter.wait(until: .after(generous))
        return (outcome == .cancelled, ThreadPool.isCancelled)
      }
      let next = try pool.submit { ThreadPool.isCancelled }
      #expect(inside.wait())
      #expect(task.cancel() == false)
      let (waited, seen) = try inThread { try task.wait() }
      #expect(waited && seen && task.isCancelled)
      #expect(try inThread { try next.wait() } == false)
      #expect(task.cancel() == false)
    }
    try pool.finish()
  }

  @Test("P35 a cancellation as a task ends never affects the next one of its thread")
  func lateCancel() throws {
    let pool = try pool(1)
    let hits = Tally()
    let box = LockedBox<PoolTask<Void, Never>?>(nil)
    let isOver = Tally()
    let done = Latch()
    let limit = Deadline.after(generous)
    _ = try WorkerThread(name: "test-canceller") {
      while isOver.value == 0, .now < limit { box.withLock { $0 }?.cancel() }
      done.countDown()
    }
    try inThread {
      for _ in 0..<5000 {
        let victim = try pool.submit {}
        let bystander = try pool.submit { if ThreadPool.isCancelled { hits.add() } }
        box.withLock { $0 = victim }
        try bystander.wait()
      }
    }
    isOver.add()
    #expect(done.wait())
    #expect(hits.value == 0)
    try pool.finish()
  }

  @Test("P62 a race of a cancellation and a start has exactly one end")
  func cancelRace() throws {
    let pool = try pool(2)
    let ran = Tally()
    let cancelled = Tally()
    let tasks = 4000
    try onThreads(2) { _ in
      for _ in 0..<tasks {
        guard let task = try? pool.submit({ ran.add() }) else { return }
        if task.cancel() { cancelled.add() }
      }
    }
    try pool.finish()
    #expect(ran.value + cancelled.value == 2 * tasks)
    #expect(pool.statistics.completed == ran.value)
    #expect(pool.stale == 0)
  }

  @Test("P58 cancelled tasks soon free their memory, however many there are behind a long one")
  func cancelMany() throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    for _ in 0..<20_000 { try pool.submit {}.cancel() }
    let (count, dead) = (pool.core.state.withLock { $0.queue.count }, pool.stale)
    #expect(count <= 200 && dead == count)
    plug.open()
    try pool.finish()
    #expect(pool.stale == 0)
  }

  @Test("P58 live tasks among swept cancelled ones stay, in their order")
  func cancelMost() throws {
    let pool = try pool(1)
    let plug = try Plug(pool, threads: 1)
    let ran = Record<Int>()
    for number in 0..<2000 {
      let task = try pool.submit { ran.add(number) }
      if number % 10 != 0 { task.cancel() }
    }
    #expect(pool.core.state.withLock { $0.queue.count } < 1000)
    plug.open()
    try pool.finish()
    #expect(ran.events == Array(stride(from: 0, to: 2000, by: 10)))
  }
}
