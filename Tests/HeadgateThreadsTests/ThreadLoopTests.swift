import Synchronization
import Testing

@testable import HeadgateThreads

@Suite struct ThreadLoopTests {
  @Test("Closures of one sender are called in order, on one thread, beside other senders")
  func order() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let calls = Record<(sender: Int, number: Int, thread: UInt)>()
    try await onThread {
      try onThreads(4) { sender in
        for number in 0..<2000 { loop.perform { calls.add((sender, number, threadNumber())) } }
      }
    }
    await loop.settle()
    for sender in 0..<4 {
      #expect(calls.events.filter { $0.sender == sender }.map(\.number) == Array(0..<2000))
    }
    #expect(Set(calls.events.map(\.thread)).count == 1)
    #expect(calls.events.first?.thread != threadNumber())
    loop.stop()
  }

  @Test("P24 a closure sent by the loop to itself is called later, in order, and never inside the sender")
  func noRecursion() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let calls = Record<String>()
    let release = await loop.occupy()
    loop.perform {
      loop.perform {
        calls.add("inner")
        loop.perform { calls.add("innermost") }
      }
      calls.add("outer")
    }
    loop.perform { calls.add("next") }
    release.countDown()
    await loop.settle()
    #expect(calls.events == ["outer", "next", "inner", "innermost"])
    loop.stop()
  }

  @Test("P10 a wake-up for each of 20,000 closures that arrive one at a time: none is lost")
  func wakeUps() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let rounds = try await onThread {
      let done = Parker()
      for round in 0..<20_000 {
        loop.perform { done.unpark() }
        guard done.park(until: .after(generous)) else { return round }
      }
      return 20_000
    }
    #expect(rounds == 20_000)
    loop.stop()
  }

  @Test("P75 an error without a waiter is reported, and the loop continues")
  func errors() async throws {
    let errors = Record<TestFailure>()
    let loop = try ThreadLoop(name: "test-loop") { error in
      if let failure = error as? TestFailure { errors.add(failure) }
    }
    loop.perform { throw TestFailure(number: 1) }
    try loop.perform(after: .zero) { throw TestFailure(number: 2) }
    let source = try loop.addSource { throw TestFailure(number: 3) }
    source.signal()
    await loop.settle()
    #expect(Set(errors.events.map(\.number)) == [1, 2, 3])
    #expect(try await loop.performAndWait { 7 } == 7)
    loop.stop()
  }

  @Test("P38 remaining items are told of the stop, once, and later ones too")
  func leftAtTheStop() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let events = Record<String>()
    let release = await loop.occupy()
    loop.perform {
      events.add("called")
    } onDrop: {
      events.add("closure")
    }
    try loop.perform(after: .seconds(3600)) {
      events.add("called")
    } onDrop: {
      events.add("timer")
    }
    try loop.perform(repeating: .rate(.seconds(3600))) {
      events.add("called")
    } onDrop: {
      events.add("repeating")
    }
    let source = try loop.addSource {
      events.add("called")
    } onCancel: {
      events.add("source")
    }
    source.signal()
    async let waited = await result { try await loop.performAndWait { events.add("called") } }
    loop.stop()
    loop.stop()
    release.countDown()
    try await loop.join(until: .after(generous))
    #expect(await waited == .closed)
    #expect(events.events.sorted() == ["closure", "repeating", "source", "timer"])

    #expect(
      loop.perform {
        events.add("called")
      } onDrop: {
        events.add("late")
      } == false)
    #expect(await result { try await loop.performAndWait { events.add("called") } } == .closed)
    #expect(throws: LoopError(.stopped, loop: "test-loop")) { try loop.addSource {} }
    #expect(throws: TimerError.self) { try loop.perform(after: .zero) { events.add("called") } }
    #expect(source.signal() == false)
    #expect(source.isCancelled)
    #expect(events.events.count == 5)
  }

  private func result(_ body: () async throws -> Void) async -> WaitError.Code? {
    do {
      try await body()
      return nil
    } catch let error as PerformError<Never> {
      #expect(error.code == .notCalled)
      return error.reason?.code
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }

  @Test("P38 1,000 stops among senders: each closure is called or told, exactly once")
  func stopRace() async throws {
    try await onThread {
      for round in 0..<1000 {
        let loop = try ThreadLoop(name: "test-loop")
        let called = Count(), told = Count(), refused = Count()
        try onThreads(2) { number in
          for sent in 0..<20 {
            if number == 0, sent == round % 20 { loop.stop() }
            let isTaken = loop.perform {
              called.add()
            } onDrop: {
              told.add()
            }
            if !isTaken { refused.add() }
          }
        }
        try loop.join(until: .after(generous))
        guard called.value + told.value == 40, refused.value <= told.value else {
          throw TestFailure(number: round)
        }
      }
    }
  }

  @Test("A stop from inside lets the call end, and nothing else starts")
  func stopFromInside() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let events = Record<String>()
    let release = await loop.occupy()
    loop.perform {
      loop.stop()
      events.add("stopper ends")
      loop.perform {
        events.add("called")
      } onDrop: {
        events.add("sent after")
      }
    }
    loop.perform {
      events.add("called")
    } onDrop: {
      events.add("left")
    }
    release.countDown()
    try await loop.join(until: .after(generous))
    #expect(events.events == ["stopper ends", "sent after", "left"])
    #expect(loop.isStopped)
  }

  @Test("P19 releasing the last reference: accepted items are done, timers are told, the thread ends")
  func dropped() async throws {
    let events = Record<String>()
    let census = Census()
    let core: LoopCore = try await {
      let loop = try ThreadLoop(name: "test-loop")
      let token = census.token()
      let release = await loop.occupy()
      for number in 0..<3 { loop.perform { events.add("closure \(number)") } }
      try loop.perform(after: .seconds(3600)) {
        token.hold()
      } onDrop: {
        events.add("timer")
      }
      release.countDown()
      return loop.core
    }()
    try await onThread { try core.join(until: .after(generous)) }
    #expect(events.events == ["closure 0", "closure 1", "closure 2", "timer"])
    #expect(census.alive == 0)
  }

  @Test("P53 the last reference may be released on the loop's own thread")
  func droppedOnItsThread() async throws {
    let isOver = Latch()
    func start() throws {
      let holder = LockedBox<ThreadLoop?>(try ThreadLoop(name: "test-loop"))
      let box = LockedBox<ThreadLoop?>(nil)
      let loop = holder.withLock { $0.take() }
      box.withLock { $0 = loop }
      loop?.perform {
        // Held only by the box by now, or soon.
        let last = box.withLock { $0.take() }
        last?.perform { isOver.countDown() }
      }
    }
    try start()
    let isDone = try await onThread { isOver.wait() }
    #expect(isDone)
  }

  @Test("P52 1,000 loops come and go without a trace")
  func manyLoops() async throws {
    let census = Census()
    try await onThread {
      for _ in 0..<1000 {
        let loop = try ThreadLoop(name: "test-loop")
        let token = census.token()
        loop.perform { token.hold() }
        loop.stop()
        try loop.join(until: .after(generous))
      }
    }
    #expect(census.alive == 0)
  }

  @Test("P30 a join ends with the loop, by its deadline, and never on the loop itself")
  func join() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let code = try await onThread { () -> WaitError.Code? in
      do throws(WaitError) { try loop.join(until: .distantPast) } catch { return error.code }
      return nil
    }
    #expect(code == .timedOut)
    let inside = try await loop.performAndWait { () -> WaitError.Code? in
      do throws(WaitError) { try loop.join() } catch { return error.code }
      return nil
    }
    #expect(inside == .wouldDeadlock)
    await #expect(throws: WaitError.self) { try await loop.join(until: .distantPast) }
    loop.stop()
    try await loop.join(until: .after(generous))
    try await onThread { try loop.join() }
  }

  @Test("A loop whose thread can't be started throws, and releases everything")
  func noThread() {
    #expect(throws: ThreadError.self) { try ThreadLoop(name: "test-loop", stackSize: 1 << 60) }
  }

  @Test("Code on a loop finds it as the current one, with its whole name")
  func current() async throws {
    let name = "a name that is longer than the system takes"
    let loop = try ThreadLoop(name: name)
    #expect(loop.name == name)
    #expect(loop.isCurrent == false)
    let isSame = try await loop.performAndWait { ThreadLoop.current === loop && loop.isCurrent }
    #expect(isSame)
    loop.stop()
  }
}
