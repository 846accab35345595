import Testing

@testable import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct LoopRunTests {
  @Test("Threading Programming Guide: checking for an exit condition during a long job")
  func checkingForAnExitConditionDuringALongJob() async throws {
    let chunks = Count()
    let source = LockedBox<LoopSource?>(nil)
    let exitNow = LockedBox(false)
    // Some of the work is done before the end.
    let isUnderWay = Latch()
    async let ending = onThread { () -> String in
      let loop = ThreadLoop.current
      var moreWorkToDo = true
      // The input source, which sets the exit flag.
      let exitSource = try loop.addSource { exitNow.withLock { $0 = true } }
      source.withLock { $0 = exitSource }
      while moreWorkToDo && !exitNow.withLock({ $0 }) {
        // One piece of a larger body of work.
        chunks.add()
        if chunks.value == 1000 { isUnderWay.countDown() }
        moreWorkToDo = chunks.value < 1_000_000_000
        // Runs the loop, which returns at once if the source isn't waiting to fire.
        try loop.runOnce()
      }
      return moreWorkToDo ? "asked to end" : "done"
    }
    #expect(try await onThread { isUnderWay.wait() })
    #expect(source.withLock { $0 }?.signal() == true)
    #expect(try await ending == "asked to end")
    #expect(chunks.value >= 1000)
  }

  @Test("P07 a run without time left checks once: it does available work, and no more")
  func noTime() async throws {
    let events = try await onThread { () -> [String] in
      let loop = ThreadLoop(onThisThreadNamed: "test-loop")
      let events = Record<String>()
      events.add("\(try loop.runOnce())")
      events.add("\(try loop.run(until: .distantPast))")
      events.add("\(try loop.runOnce(timeout: .seconds(Int64.min)))")
      loop.perform { events.add("called") }
      events.add("\(try loop.runOnce())")
      loop.perform { events.add("called") }
      events.add("\(try loop.run(until: .now))")
      events.add("\(try loop.runOnce())")
      return events.events
    }
    #expect(events == ["timedOut", "timedOut", "timedOut", "called", "performed", "called", "timedOut", "timedOut"])
  }

  @Test("P09 a run ends at its limit, not before, and its work continues in the next")
  func limit() async throws {
    try await onThread {
      let loop = ThreadLoop.current
      for microseconds in [1, 200, 2000] {
        let limit = Deadline.after(.microseconds(microseconds))
        let end = try loop.run(until: limit)
        guard end == .timedOut, Deadline.now >= limit else { throw TestFailure(number: microseconds) }
        let start = Deadline.now
        let turn = try loop.runOnce(timeout: .microseconds(microseconds))
        guard turn == .timedOut, Deadline.now >= start + .microseconds(microseconds) else {
          throw TestFailure(number: -microseconds)
        }
      }
      // A flood that feeds itself does not delay the end of a run.
      let calls = Count()
      @Sendable func again() {
        calls.add()
        loop.perform { again() }
      }
      again()
      guard try loop.run(until: .after(.milliseconds(2))) == .timedOut, calls.value > 1 else {
        throw TestFailure(number: calls.value)
      }
    }
  }

  @Test("P10 a closure from another thread ends a waiting turn")
  func fromAnotherThread() async throws {
    let loops = LockedBox<ThreadLoop?>(nil)
    let isReady = Parker()
    async let ends = onThread { () -> [LoopRunEnd] in
      let loop = ThreadLoop.current
      loops.withLock { $0 = loop }
      return try (0..<2000).map { _ in
        isReady.unpark()
        return try loop.runOnce(timeout: generous)
      }
    }
    try await onThread {
      for round in 0..<2000 {
        guard isReady.park(until: .after(generous)) else { throw TestFailure(number: round) }
        loops.withLock { $0 }?.perform {}
      }
    }
    #expect(try await ends == Array(repeating: .performed, count: 2000))
    loops.withLock { $0 = nil }
  }

  @Test("Runs nest: the inner one continues with the next work, and ends alone")
  func nested() async throws {
    let events = try await onThread { () -> [String] in
      let loop = ThreadLoop.current
      let events = Record<String>()
      loop.perform {
        events.add("outer begins")
        events.add("\(try loop.run())")
        events.add("outer ends")
      }
      for number in 0..<3 { loop.perform { events.add("\(number)") } }
      loop.perform {
        loop.endRun()
        events.add("asked")
      }
      loop.perform { events.add("after") }
      events.add("\(try loop.run(until: .distantPast))")
      return events.events
    }
    #expect(events == ["outer begins", "0", "1", "2", "asked", "ended", "outer ends", "after", "timedOut"])
  }

  @Test("On a loop's own thread a nested run is ended, the thread's own is not")
  func nestedOnItsOwnThread() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    #expect(loop.endRun() == false)
    let ends = Record<LoopRunEnd>()
    await withContinuation { continuation in
      loop.perform {
        loop.perform { continuation.resume() }
        ends.add(try loop.run())
      }
    }
    #expect(loop.endRun())
    await loop.settle()
    #expect(ends.events == [.ended])
    // A stop ends all runs.
    let isInside = Latch()
    loop.perform {
      loop.perform {
        isInside.countDown()
        ends.add(try loop.run())
      }
      ends.add(try loop.run())
    }
    _ = try await onThread { isInside.wait() }
    loop.stop()
    try await loop.join(until: .after(generous))
    #expect(ends.events == [.ended, .stopped, .stopped])
  }

  @Test("Only the loop's own thread runs it, and no thread that runs a Swift task")
  func wrongThread() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let code = try await onThread { () -> LoopError.Code? in
      do throws(LoopError) { try loop.run() } catch { return error.code }
      return nil
    }
    #expect(code == .wrongThread)
    func here() -> LoopError.Code? {
      do throws(LoopError) { try ThreadLoop.current.runOnce() } catch { return error.code }
      return nil
    }
    #expect(here() == .onCooperativeThread)
    loop.stop()
  }

  @Test("A stopped loop is not run again; if nobody runs it, the stopping thread reports its items")
  func stopped() async throws {
    let events = Record<String>()
    let ends = try await onThread { () -> [LoopRunEnd] in
      let loop = ThreadLoop(onThisThreadNamed: "test-loop")
      loop.perform {
        events.add("called")
      } onDrop: {
        events.add("told")
      }
      try loop.perform(after: .zero) {
        events.add("called")
      } onDrop: {
        events.add("timer")
      }
      try onThreads(1) { _ in loop.stop() }
      try loop.join(until: .after(generous))
      events.add("joined")
      return [try loop.run(), try loop.runOnce()]
    }
    #expect(ends == [.stopped, .stopped])
    #expect(events.events == ["timer", "told", "joined"])
  }

  @Test("P38 an exiting thread ends its loop: remaining items are reported")
  func threadExits() async throws {
    let events = Record<String>()
    let census = Census()
    try await onThread {
      let loops = LockedBox<ThreadLoop?>(nil)
      try onExitingThread {
        let loop = ThreadLoop.current
        let token = census.token()
        loop.perform {
          token.hold()
        } onDrop: {
          events.add("closure")
        }
        _ = try loop.addSource {
          token.hold()
        } onCancel: {
          events.add("source")
        }
        loops.withLock { $0 = loop }
        // Another loop's end does not affect this one.
        let other = try ThreadLoop(name: "test-loop")
        other.stop()
        try other.join(until: .after(generous))
      }
      try loops.withLock({ $0 })?.join(until: .after(generous))
    }
    #expect(events.events.sorted() == ["closure", "source"])
    #expect(census.alive == 0)
  }

  @Test("P35 cancelling a thread ends the run of its loop, wherever it sleeps", arguments: [false, true])
  func cancelled(watching: Bool) async throws {
    let record = LockedBox<(thread: ThreadRecord, core: LoopCore)?>(nil)
    let isReady = Latch()
    async let ends = onThread { () -> [LoopRunEnd] in
      let loop = ThreadLoop.current
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw TestFailure(number: 0) }
      defer { for end in ends { close(end) } }
      let watch = watching ? try loop.watch(ends[0], for: .reading) {} : nil
      defer { watch?.cancel() }
      record.withLock { $0 = (.current, loop.core) }
      loop.perform { isReady.countDown() }
      return [try loop.run(until: .after(generous)), try loop.runOnce(timeout: generous)]
    }
    _ = try await onThread { isReady.wait() }
    let (thread, core) = try #require(record.withLock { $0 })
    // It also checks for a cancellation before it sleeps, but this test is about the sleep.
    _ = try await onThread { untilAsleep(core, watching ? .polling : .parked) }
    thread.cancel()
    #expect(try await ends == [.cancelled, .cancelled])
  }
}

/// A loop does not signal that it sleeps, so the test polls.
private func untilAsleep(_ core: LoopCore, _ sleep: LoopCore.Sleep) -> Bool {
  let pause = Parker()
  let limit = Deadline.after(generous)
  while core.state.withLock({ $0.sleep != sleep }) {
    if limit <= .now { return false }
    _ = pause.park(until: .after(.microseconds(200)))
  }
  return true
}
