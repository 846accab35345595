import Testing

@testable import HeadgateThreads

@Suite struct PoolInvokeTests {
  private func pool(_ size: Int) throws -> ThreadPool { try ThreadPool(name: "test-pool", size: size) }

  private func bodies(_ numbers: [Int]) -> [@Sendable () throws -> Int] {
    numbers.map { number in
      {
        if number < 0 { throw Oops(number: number) }
        return number
      }
    }
  }

  @Test("All results are in the order of the bodies, each a value or an error")
  func all() async throws {
    let pool = try pool(2)
    let here = try inThread { [bodies = bodies([1, -2, 3])] in try pool.invokeAll(bodies) }
    let there = try await pool.invokeAll(bodies([1, -2, 3]))
    for results in [here, there] {
      #expect(results.count == 3)
      #expect(try results[0].get() == 1 && results[2].get() == 3)
      #expect(throws: PoolTaskError<any Error>.self) { try results[1].get() }
    }
    #expect(try await pool.invokeAll(bodies([])).isEmpty)
    try pool.finish()
  }

  @Test("All, called by a task of the pool's only thread: it runs them itself")
  func allInside() throws {
    let pool = try pool(1)
    let bodies = bodies(Array(0..<50))
    let task = try pool.submit { try pool.invokeAll(bodies).map { try $0.get() }.reduce(0, +) }
    #expect(try inThread { try task.wait(until: .after(generous)) } == 1225)
    let any = try pool.submit { try pool.invokeAny(bodies) }
    #expect(try inThread { try any.wait(until: .after(generous)) } == 0)
    try pool.finish()
  }

  @Test("All ends at its deadline: waiting bodies never run, running ones are told")
  func deadline() throws {
    let told = Record<Bool>()
    let bodies: [@Sendable () throws -> Int] = [
      {
        told.add(Waiter.ofThread().wait(until: .after(generous)) == .cancelled)
        return 1
      }, { 2 },
    ]
    var limit = Duration.milliseconds(20)
    repeat {
      let pool = try pool(1)
      let results = try inThread { [limit] in try pool.invokeAll(bodies, until: .after(limit)) }
      for result in results {
        let error = #expect(throws: PoolTaskError<any Error>.self) { try result.get() }
        #expect(error?.code == .timedOut)
      }
      try pool.finish()
      #expect(pool.statistics.completed == told.events.count)
      // On a busy machine the deadline may pass before the pool's thread runs. Then neither body does.
      limit *= 2
    } while told.events.isEmpty && limit < generous
    #expect(told.events == [true])
  }

  @Test("A cancelled Swift task cancels all of its bodies")
  func cancelled() async throws {
    let pool = try pool(1)
    let inside = Latch()
    let calls = Tally()
    let task = Task {
      let bodies: [@Sendable () throws -> Bool] = [
        {
          inside.countDown()
          return Waiter.ofThread().wait(until: .after(generous)) == .cancelled
        },
        {
          calls.add()
          return true
        },
      ]
      return try await pool.invokeAll(bodies)
    }
    #expect(inside.wait())
    task.cancel()
    // If the second body is not submitted yet, this cancels the first.
    if let results = try? await task.value { #expect(try results[0].get()) }
    try pool.finish()
    #expect(calls.value == 0)
  }

  @Test("All bodies that have begun have ended when it throws, also if the next one had to wait for room")
  func cancelledForRoom() async throws {
    let (pool, line) = try ThreadPool.lining(1, bound: 0)
    let hasBegun = Latch(), isCancelled = Latch(), mayEnd = Latch()
    let events = Record<String>()
    let body: @Sendable () throws -> Void = {
      hasBegun.countDown()
      _ = Waiter.ofThread().wait(until: .after(generous))
      isCancelled.countDown()
      _ = mayEnd.wait()
      events.add("ended")
    }
    let task = Task {
      _ = try? await pool.invokeAll([body, body])
      events.add("returned")
    }
    // The second body joins the line as soon as the first is submitted, which may be before the first begins.
    #expect(try await onThread { hasBegun.wait() && line.wait(for: 1) })
    task.cancel()
    #expect(try await onThread { isCancelled.wait() })
    mayEnd.countDown()
    await task.value
    #expect(events.events == ["ended", "returned"])
    try pool.finish()
  }

  @Test("Any returns the first success, past failures, and cancels the others")
  func any() async throws {
    let pool = try pool(3)
    let told = Record<Bool>()
    @Sendable func long() throws -> Int {
      told.add(Waiter.ofThread().wait(until: .after(generous)) == .cancelled)
      return 2
    }
    let quick = bodies([-1, 3])
    let bodies: [@Sendable () throws -> Int] = [quick[0], long, quick[1]]
    #expect(try inThread { try pool.invokeAny(bodies, until: .after(generous)) } == 3)
    #expect(try await pool.invokeAny(bodies) == 3)
    try pool.finish()
    #expect(told.events.allSatisfy { $0 })
  }

  @Test("Any passes thousands of failures, from a thread, from a task and from the pool's only thread")
  func anyOfMany() async throws {
    let pool = try pool(1)
    let bodies = bodies((1...5000).map { $0 == 5000 ? 7 : -$0 })
    #expect(try inThread { try pool.invokeAny(bodies, until: .after(generous)) } == 7)
    #expect(try await pool.invokeAny(bodies) == 7)
    let inside = try pool.submit { try pool.invokeAny(bodies) }
    #expect(try inThread { try inside.wait(until: .after(generous)) } == 7)
    try pool.finish()
  }

  @Test("Any fails with the last body's error if it failed, or why the pool dropped it")
  func anyDropped() throws {
    let pool = try pool(1)
    let bodies: [@Sendable () throws -> Void] = [
      {
        pool.dispose(.now)
        throw Oops()
      }, {},
    ]
    let task = try pool.submit { #expect(throws: PoolTaskError<any Error>.self) { try pool.invokeAny(bodies) }?.code }
    #expect(try inThread { try task.wait(until: .after(generous)) } == .disposed)
    try pool.finish()
  }

  @Test("All: a task that is cancelled while it helps begins none of the other bodies")
  func allOfACancelledTask() throws {
    let pool = try pool(1)
    let task = LockedBox<PoolTask<Int, Never>?>(nil)
    let submitted = Latch()
    let ran = Record<Int>()
    let outer = try pool.submit { () -> Int in
      _ = submitted.wait()
      let bodies: [@Sendable () throws -> Void] = (0..<3).map { number in
        {
          ran.add(number)
          task.withLock { $0 }?.cancel()
        }
      }
      let results = (try? pool.invokeAll(bodies)) ?? []
      return results.count { if case .failure(let error) = $0 { error.code == .waitCancelled } else { false } }
    }
    task.withLock { $0 = outer }
    submitted.countDown()
    #expect(try inThread { try outer.wait(until: .after(generous)) } == 2)
    #expect(ran.events == [0])
    try pool.finish()
  }

  @Test("Any fails if all have failed, without bodies, at its deadline, and if its task is cancelled")
  func anyFails() async throws {
    let pool = try pool(2)
    let none = bodies([])
    let failing = bodies([-1, -2])
    let all = try inThread { #expect(throws: PoolTaskError<any Error>.self) { try pool.invokeAny(failing) } }
    #expect(all?.code == .failed && all?.failure != nil)
    let empty = try inThread { #expect(throws: PoolTaskError<any Error>.self) { try pool.invokeAny(none) } }
    #expect(empty?.code == .rejected)
    let full = try ThreadPool(name: "test-full", size: 1, queueBound: 0, policy: .throw)
    let plug = try Plug(full, threads: 1)
    let refused = try inThread { #expect(throws: PoolTaskError<any Error>.self) { try full.invokeAny(failing) } }
    #expect(refused?.code == .rejected && (refused?.failure as? ThreadPoolError)?.code == .full)
    plug.open()
    try full.finish()
    let inside = Latch()
    let long: [@Sendable () throws -> Void] = [
      {
        inside.countDown()
        _ = Waiter.ofThread().wait(until: .after(generous))
      }
    ]
    let late = try inThread {
      #expect(throws: PoolTaskError<any Error>.self) { try pool.invokeAny(long, until: .after(.milliseconds(2))) }
    }
    #expect(late?.code == .timedOut)
    let task = Task { try await pool.invokeAny(long) }
    #expect(inside.wait())
    task.cancel()
    await #expect(throws: (any Error).self) { try await task.value }
    try pool.finish()
    await #expect(throws: ThreadPoolError.self) { try await pool.invokeAny(long) }
  }
}
