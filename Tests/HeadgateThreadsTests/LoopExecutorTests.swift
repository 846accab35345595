import Testing

@testable import HeadgateThreads

@Suite struct LoopExecutorTests {
  fileprivate actor Player {
    let loop: ThreadLoop
    private(set) var moves = 0
    nonisolated let inside = LockedBox(0)

    init(_ loop: ThreadLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }

    /// Whether it ran on the loop, and alone.
    func move() -> Bool {
      let isAlone = inside.withLock { inside in
        inside += 1
        return inside == 1
      }
      moves += 1
      inside.withLock { $0 -= 1 }
      return isAlone && loop.isCurrent
    }

    func moveTwice() async -> Bool {
      let isFirst = move()
      await Task.yield()
      return isFirst && move()
    }

    // Not with `pthread_self`, which the optimizer treats as a constant, even across a suspension.
    func thread() -> ObjectIdentifier { ObjectIdentifier(ThreadRecord.current) }

    func rest() async { try? await Task.sleep(for: .milliseconds(1)) }

    func throwing() throws(TestFailure) { throw TestFailure(number: 39) }
  }

  private static func move(_ player: Player, times: Int) async -> Bool {
    for _ in 0..<times { guard await player.move() else { return false } }
    return true
  }

  private static var hops: Int {
    #if DEBUG
    20_000
    #else
    1_000_000
    #endif
  }

  @Test("P39 an actor on a loop runs on its thread, job after job, and its hops leave nothing behind")
  func actor() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let player = Player(loop)
    let thread = try await loop.performAndWait { ObjectIdentifier(ThreadRecord.current) }
    #expect(await player.thread() == thread)
    // From other threads, each hop with a wake-up. Then from tasks that prefer the loop, without.
    let isGood = await Self.move(player, times: 5000)
    #expect(isGood)
    let isGoodThere = await withTaskExecutorPreference(loop.taskExecutor) {
      await Self.move(player, times: Self.hops)
    }
    #expect(isGoodThere)
    #expect(await player.moves == 5000 + Self.hops)
    #expect(await player.moveTwice())
    await player.rest()
    #expect(await player.thread() == thread)
    await #expect(throws: TestFailure(number: 39)) { try await player.throwing() }
    // No job is kept, and the inbox has the memory for a few.
    await loop.settle()
    #expect(loop.core.state.withLock { $0.inbox.capacity } < 1024)
    loop.stop()
  }

  @Test("P39 many tasks at one actor: none overlap")
  func manyTasks() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let player = Player(loop)
    let isGood = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<500 { group.addTask { await player.moveTwice() } }
      return await group.allSatisfy { $0 }
    }
    #expect(isGood)
    #expect(await player.moves == 1000)
    loop.stop()
  }

  @Test("P39 assumeIsolated works in closures of perform, timers and sources, and isIsolating returns true and false")
  func assumeIsolated() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let player = Player(loop)
    #expect(loop.serialExecutor.isIsolatingCurrentContext() == false)
    let isIsolating = try await loop.performAndWait { loop.serialExecutor.isIsolatingCurrentContext() == true }
    #expect(isIsolating)
    loop.perform { player.assumeIsolated { _ = $0.move() } }
    let source = try loop.addSource { player.assumeIsolated { _ = $0.move() } }
    source.signal()
    await withContinuation { continuation in
      _ = try? loop.perform(after: .zero) {
        player.assumeIsolated { _ = $0.move() }
        continuation.resume()
      }
    }
    await loop.settle()
    #expect(await player.moves == 3)
    loop.stop()
  }

  @Test("P39 assumeIsolated elsewhere stops the process")
  func assumeIsolatedElsewhere() async {
    await #expect(processExitsWith: .failure) {
      let loop = try ThreadLoop(name: "test-loop")
      loop.serialExecutor.checkIsolated()
    }
  }

  @Test("P39 an actor's job knows its loop: performAndWait is inline there, blocking or not")
  func inlineFromAnActor() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let player = Player(loop)
    let isInline = try await player.callBack()
    #expect(isInline)
    loop.stop()
  }

  @Test("P39 tasks that prefer a loop run on it, through child tasks, yields and sleeps")
  func tasks() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let places = await Task(executorPreference: loop.taskExecutor) {
      var places = [loop.isCurrent]
      await Task.yield()
      places.append(loop.isCurrent)
      async let child = loop.isCurrent
      places.append(await child)
      try? await Task.sleep(for: .milliseconds(1))
      places.append(loop.isCurrent)
      return places
    }.value
    #expect(places == [true, true, true, true])
    let other = try ThreadLoop(name: "test-other")
    let nested = await withTaskExecutorPreference(loop.taskExecutor) {
      let before = loop.isCurrent
      let inside = await withTaskExecutorPreference(other.taskExecutor) { other.isCurrent }
      return [before, inside, loop.isCurrent]
    }
    #expect(nested == [true, true, true])
    loop.stop()
    other.stop()
  }

  @Test("P39 a default actor under a preference, and an actor of the loop from a task of the loop")
  func mixed() async throws {
    actor Plain {
      func place(_ loop: ThreadLoop) -> Bool { loop.isCurrent }
    }
    let loop = try ThreadLoop(name: "test-loop")
    let plain = Plain()
    let player = Player(loop)
    let places = await Task(executorPreference: loop.taskExecutor) {
      var places: [Bool] = []
      for _ in 0..<100 {
        places.append(await plain.place(loop))
        places.append(await player.move())
        places.append(loop.isCurrent)
      }
      return places
    }.value
    #expect(places.allSatisfy { $0 })
    loop.stop()
  }

  @Test("P39 jobs after the stop run; those of actors are still isolated and one at a time")
  func afterTheStop() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let player = Player(loop)
    loop.stop()
    try await loop.join(until: .after(generous))
    let isGood = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<200 { group.addTask { await player.moveTwice() } }
      return await group.allSatisfy { $0 }
    }
    #expect(isGood)
    #expect(await player.moves == 400)
    await player.rest()
    let isIsolated = await player.isIsolated()
    #expect(isIsolated)

    let count = await Task(executorPreference: loop.taskExecutor) {
      var count = 0
      for _ in 0..<100 {
        await Task.yield()
        _ = await player.move()
        count += 1
      }
      async let child = count
      try? await Task.sleep(for: .milliseconds(1))
      return await child
    }.value
    #expect(count == 100)
    #expect(loop.core.state.withLock { $0.orphans.isEmpty })
  }

  @Test("P38 100 stops among the jobs of 20 tasks: all of them end, none overlap")
  func stopAmongJobs() async throws {
    for round in 0..<100 {
      let loop = try ThreadLoop(name: "test-loop")
      let player = Player(loop)
      let isGood = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<20 {
          group.addTask {
            if number == round % 20 { loop.stop() }
            return await player.moveTwice()
          }
          group.addTask {
            await Task(executorPreference: loop.taskExecutor) {
              await Task.yield()
              return await player.move()
            }.value
          }
        }
        return await group.allSatisfy { $0 }
      }
      #expect(isGood)
      #expect(await player.moves == 60)
    }
  }

  @Test("P39 a loop on another thread runs jobs while it is run")
  func borrowedThread() async throws {
    let players = LockedBox<Player?>(nil)
    let isReady = Latch()
    async let end = onThread { () -> LoopRunEnd in
      let loop = ThreadLoop.current
      players.withLock { $0 = Player(loop) }
      loop.perform { isReady.countDown() }
      return try loop.run()
    }
    #expect(try await onThread { isReady.wait() })
    let player = try #require(players.withLock { $0 })
    #expect(await player.moveTwice())
    player.loop.endRun()
    #expect(try await end == .ended)
  }
}

extension LoopExecutorTests.Player {
  fileprivate func callBack() async throws -> Bool {
    let number = moves
    // The blocking form, through a function that is not async.
    let isBlockingInline = try callBackBlocking()
    // An immediate call precedes earlier items.
    let earlier = Record<Bool>()
    loop.perform { earlier.add(true) }
    return try await loop.performAndWait {
      self.assumeIsolated { $0.moves == number } && earlier.events.isEmpty && isBlockingInline
    }
  }

  private func callBackBlocking() throws -> Bool { try loop.performAndWait { true } }

  fileprivate func isIsolated() -> Bool { loop.serialExecutor.isIsolatingCurrentContext() == true }
}
