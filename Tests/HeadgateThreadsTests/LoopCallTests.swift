import Testing

@testable import HeadgateThreads

@Suite struct LoopCallTests {
  private struct Single: ~Copyable {
    let number: Int
  }

  private func code(_ body: () throws -> Void) -> WaitError.Code? {
    do {
      try body()
    } catch let error as PerformError<Never> {
      return error.reason?.code
    } catch {
      Issue.record("\(error)")
    }
    return nil
  }

  @Test("P30 the typed result, the typed error, and noncopyable values are returned from the loop")
  func results() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    try await onThread {
      let number = try loop.performAndWait { Single(number: 5) }.number
      guard number == 5 else { throw TestFailure(number: number) }
      do throws(PerformError<TestFailure>) {
        try loop.performAndWait { () throws(TestFailure) in throw TestFailure(number: 3) }
      } catch {
        guard error.code == .failed, error.failure?.number == 3 else { throw error }
      }
    }
    let single = try await loop.performAndWait { Single(number: 6) }
    #expect(single.number == 6)
    loop.stop()
  }

  @Test("P37 performAndWait on the loop itself calls at once, before what was sent earlier")
  func inline() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let events = Record<String>()
    try await loop.performAndWait {
      loop.perform { events.add("sent") }
      let code = self.code { try loop.performAndWait { events.add("inline") } }
      if let code { events.add("\(code)") }
    }
    await loop.settle()
    #expect(events.events == ["inline", "sent"])
    loop.stop()
  }

  @Test(
    "P37 two loops that wait for each other: the one that would close the cycle gets an error at once",
    arguments: [2, 3, 5])
  func cycle(size: Int) async throws {
    let loops = try (0..<size).map { try ThreadLoop(name: "test-\($0)") }
    let codes = Record<WaitError.Code>()
    // Each waits for the next, and the last for the first.
    @Sendable func visit(_ index: Int) {
      let next = loops[(index + 1) % size]
      let code = self.code {
        try next.performAndWait { if index + 1 < size { visit(index + 1) } else { codes.add(.timedOut) } }
      }
      if let code { codes.add(code) }
    }
    try await loops[0].performAndWait { visit(0) }
    #expect(codes.events == [.wouldDeadlock])
    // The chain without the closing link is no cycle, even afterwards.
    for loop in loops {
      let one = try await loop.performAndWait { 1 }
      #expect(one == 1)
    }
    for loop in loops { loop.stop() }
  }

  @Test("P37 two loops that call each other at the same moment: at least one succeeds, none hangs")
  func bothAtOnce() async throws {
    let (one, two) = (try ThreadLoop(name: "test-one"), try ThreadLoop(name: "test-two"))
    for _ in 0..<500 {
      let codes = Record<WaitError.Code>()
      let done = Latch(2)
      for (from, to) in [(one, two), (two, one)] {
        from.perform {
          if let code = self.code({ try to.performAndWait {} }) { codes.add(code) }
          done.countDown()
        }
      }
      try #require(try await onThread { done.wait() })
      #expect(codes.events.isEmpty || codes.events == [.wouldDeadlock])
    }
    one.stop()
    two.stop()
  }

  @Test("P06 a wait that times out withdraws the closure, or leaves it running; the error says which")
  func timeOut() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let census = Census()
    let called = Count()
    let release = await loop.occupy()
    let (isTakenBack, alive) = try await onThread { () -> (Bool, Int) in
      let token = census.token()
      do throws(PerformError<Never>) {
        try loop.performAndWait(until: .distantPast) {
          token.hold()
          called.add()
        }
      } catch {
        guard error.code == .notCalled, error.reason?.code == .timedOut else { throw error }
        return (true, census.alive)
      }
      return (false, 0)
    }
    #expect(isTakenBack)
    // At most the test's own token. The one in the inbox is gone.
    #expect(alive <= 1)
    release.countDown()
    await loop.settle()
    #expect(called.value == 0)
    #expect(census.alive == 0)

    let inside = Latch(), leave = Latch()
    let isRunning = try await onThread { () -> Bool in
      let waiter = ThreadRecord.current
      do throws(PerformError<Never>) {
        try loop.performAndWait {
          // The wait ends while this runs.
          waiter.cancel()
          inside.countDown()
          _ = leave.wait()
          called.add()
        }
      } catch {
        return error.code == .stillRunning && error.reason?.code == .cancelled
      }
      return false
    }
    #expect(isRunning)
    leave.countDown()
    await loop.settle()
    #expect(called.value == 1)
    loop.stop()
  }

  @Test("P06 10,000 waits whose deadline races with the call: called or withdrawn, never both, never neither")
  func timeOutRace() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let inTime = try await onThread { () -> Int in
      var random = SeededRandom(seed: 37)
      var inTime = 0
      for round in 0..<10_000 {
        let called = Count()
        let limit = Deadline.after(.nanoseconds(Int64.random(in: 0..<40_000, using: &random)))
        do {
          try loop.performAndWait(until: limit) { called.add() }
          inTime += 1
          guard called.value == 1 else { throw TestFailure(number: round) }
        } catch let error as PerformError<Never> {
          try loop.performAndWait {}
          guard called.value == (error.code == .stillRunning ? 1 : 0) else { throw TestFailure(number: round) }
        }
      }
      return inTime
    }
    print("calls made before their deadline: \(inTime) of 10000")
    loop.stop()
  }

  @Test("A stop during a direct call leaves the loop to its thread until the call has ended")
  func stopDuringDirectCall() async throws {
    let isCurrent = try await onThread { () -> Bool in
      let loop = ThreadLoop.current
      let isCurrent = try loop.performAndWait {
        try onThreads(1) { _ in loop.stop() }
        return loop.core.isCurrent
      }
      try loop.join(until: .after(generous))
      return isCurrent
    }
    #expect(isCurrent)
  }

  @Test("P35 cancelling the waiting thread withdraws the closure")
  func cancelThread() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let release = await loop.occupy()
    let record = LockedBox<ThreadRecord?>(nil)
    let ready = Latch()
    async let code = onThread { () -> WaitError.Code? in
      record.withLock { $0 = .current }
      ready.countDown()
      return self.code { try loop.performAndWait { _ = Issue.record("called") } }
    }
    _ = try await onThread { ready.wait() }
    record.withLock { $0 }?.cancel()
    #expect(try await code == .cancelled)
    release.countDown()
    loop.stop()
  }

  @Test("P22 cancelling the waiting task withdraws the closure, before and during the wait")
  func cancelTask() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let release = await loop.occupy()
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await loop.performAndWait { _ = Issue.record("called") }
    }
    let late = Task { try await loop.performAndWait { _ = Issue.record("called") } }
    late.cancel()
    for task in [early, late] {
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    release.countDown()
    await loop.settle()
    loop.stop()
  }

  @Test("The memory of a burst is not kept for the next inbox; that of usual numbers is")
  func agendaMemory() {
    var agenda = LoopAgenda()
    /// The capacity of the emptied inbox: that of the batch before.
    func room(after count: Int) -> Int {
      for number in [count, 0] {
        var inbox = [LoopItem](repeating: .closure(Closure {}), count: number)
        agenda.refill(from: &inbox)
        while agenda.takeItem() != nil {}
        if number == 0 { return inbox.capacity }
      }
      return 0
    }
    #expect(room(after: 20_000) == 0)
    #expect(room(after: 100) >= 100)
  }

  @Test("P97 a blocking wait in a task, on a thread that isn't Headgate's, is refused at once")
  func cooperative() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    // Not async, so that the compiler lets it through.
    func block() -> WaitError.Code? { code { try loop.performAndWait {} } }
    #expect(block() == .onCooperativeThread)
    loop.stop()
  }
}
