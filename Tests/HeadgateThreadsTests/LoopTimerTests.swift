import Testing

@testable import HeadgateThreads

@Suite struct LoopTimerTests {
  @Test("P72 timed calls come in the order of their times, equal ones in the order of scheduling")
  func order() async throws {
    let (early, calls) = try await onThread { () -> ([Int], [Int]) in
      let moment = Moment()
      let loop = ThreadLoop(onThisThreadNamed: "test-loop", clock: { moment.now })
      let calls = Record<Int>()
      for number in 0..<100 {
        try loop.perform(after: .milliseconds((number * 7) % 10 + 1)) { calls.add(number) }
      }
      moment.advance(.microseconds(999))
      try loop.runOnce()
      let early = calls.events
      moment.advance(.milliseconds(20))
      try loop.runOnce()
      return (early, calls.events)
    }
    #expect(early.isEmpty)
    #expect(calls == (0..<100).sorted { (($0 * 7) % 10, $0) < (($1 * 7) % 10, $1) })
  }

  @Test(
    "P72 after a call stops the loop or ends the run, none of the other due calls is made",
    arguments: [true, false])
  func stoppedBetween(byStop: Bool) async throws {
    let calls = try await onThread { () -> [String] in
      let moment = Moment()
      let loop = ThreadLoop(onThisThreadNamed: "test-loop", clock: { moment.now })
      let calls = Record<String>()
      for name in ["first", "second"] {
        try loop.perform(after: .milliseconds(1)) {
          calls.add(name)
          if byStop { loop.stop() } else { #expect(loop.endRun()) }
        }
      }
      moment.advance(.milliseconds(2))
      _ = try loop.run()
      return calls.events
    }
    #expect(calls == ["first"])
  }

  @Test("P76 a repeating call keeps its rate, skips or makes up, and never runs inside itself")
  func repeating() async throws {
    let (skipped, burst) = try await onThread { () -> ([Int], [Int]) in
      let moment = Moment()
      let start = moment.now
      let loop = ThreadLoop(onThisThreadNamed: "test-loop", clock: { moment.now })
      func milliseconds() -> Int { Int((moment.now - start).wholeNanoseconds / 1_000_000) }
      let skipped = Record<Int>(), burst = Record<Int>()
      let isInside = LockedBox(false)
      let first = try loop.perform(repeating: .rate(.milliseconds(10))) {
        let wasInside = isInside.withLock { inside in
          defer { inside = true }
          return inside
        }
        if wasInside { skipped.add(-1) }
        skipped.add(Int((moment.now - start).wholeNanoseconds / 1_000_000))
        // A slow call, which runs the loop meanwhile.
        if skipped.events.count == 2 {
          moment.advance(.milliseconds(35))
          try loop.run(until: .distantPast)
        }
        isInside.withLock { $0 = false }
      }
      let second = try loop.perform(repeating: .rate(.milliseconds(10), missed: .burst)) {
        burst.add(Int((moment.now - start).wholeNanoseconds / 1_000_000))
      }
      for _ in 0..<8 {
        moment.advance(.milliseconds(10))
        while try loop.runOnce() == .performed {}
      }
      guard first.cancel(), second.cancel(), !first.cancel() else { throw TestFailure(number: 0) }
      moment.advance(.milliseconds(100))
      guard try loop.runOnce() == .timedOut else { throw TestFailure(number: 1) }
      return (skipped.events, burst.events)
    }
    #expect(skipped == [10, 20, 65, 75, 85, 95, 105, 115])
    #expect(burst.count == 11)
    #expect(burst.first == 10)
  }

  @Test("P71 a cancelled call is never made, and its captures are released at once; its onDrop is called")
  func cancel() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let census = Census()
    let told = Count()
    func set() throws -> TimerHandle {
      let token = census.token()
      return try loop.perform(after: .seconds(3600)) {
        token.hold()
      } onDrop: {
        told.add()
      }
    }
    let (first, second) = (try set(), try set())
    #expect(first.cancel())
    #expect(first.cancel() == false)
    #expect(census.alive == 1)
    #expect(told.value == 1)
    let owner = Census()
    try loop.perform(after: .seconds(3600), owner: owner, key: "a") {
    } onDrop: {
      told.add()
    }
    try loop.perform(after: .seconds(3600), owner: owner, key: "b") {
    } onDrop: {
      told.add()
    }
    #expect(loop.cancelAll(owner: owner, key: "a") == 1)
    #expect(loop.cancelAll(owner: owner) == 1)
    #expect(told.value == 3)
    #expect(second.isActive)
    loop.stop()
    try await loop.join(until: .after(generous))
    #expect(second.isCancelled)
    #expect(told.value == 4)
    #expect(census.alive == 0)
  }

  @Test("P78 a new earliest time wakes the loop from its sleep, and on its way there")
  func earlier() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    try loop.perform(after: .seconds(3600)) { Issue.record("called an hour early") }
    let rounds = try await onThread { () -> Int in
      let called = Parker()
      for round in 0..<5000 {
        try loop.perform(at: .distantPast) { called.unpark() }
        guard called.park(until: .after(generous)) else { return round }
      }
      return 5000
    }
    #expect(rounds == 5000)
    loop.stop()
  }

  @Test("P09 no call comes early, with and without descriptors to wait for", arguments: [false, true])
  func neverEarly(watching: Bool) async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let pipe = try TestPipe()
    let watch = watching ? try loop.watch(pipe.readEnd, for: .reading) {} : nil
    let early = Record<Duration>()
    let done = Latch(40)
    for number in 0..<40 {
      let deadline = Deadline.after(.microseconds(number * 50))
      try loop.perform(at: deadline) {
        if .now < deadline { early.add(deadline - .now) }
        done.countDown()
      }
    }
    #expect(try await onThread { done.wait() })
    #expect(early.events.isEmpty)
    watch?.cancel()
    loop.stop()
    pipe.closeBoth()
  }

  @Test("P59 a flood of closures that feeds itself starves no timers, sources or descriptors")
  func flood() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let pipe = try TestPipe()
    let isOver = LockedBox(false)
    @Sendable func flood() {
      if !isOver.withLock({ $0 }) {
        for _ in 0..<2 where loop.core.state.withLock({ $0.inbox.count }) < 5000 { loop.perform { flood() } }
      }
    }
    for _ in 0..<5000 { loop.perform { flood() } }
    let done = Latch(4)
    try loop.perform(after: .milliseconds(1)) { done.countDown() }
    let source = try loop.addSource { done.countDown() }
    source.signal()
    let watches = LockedBox<LoopWatch?>(nil)
    let watch = try loop.watch(pipe.readEnd, for: .reading) {
      watches.withLock { $0 }?.cancel()
      done.countDown()
    }
    watches.withLock { $0 = watch }
    pipe.send()
    loop.perform { done.countDown() }
    #expect(try await onThread { done.wait() })
    isOver.withLock { $0 = true }
    loop.stop()
    try await loop.join(until: .after(generous))
    pipe.closeBoth()
  }

  @Test("A flood of due timers starves no closure")
  func timerFlood() async throws {
    let (calls, before) = try await onThread { () -> (Int, Int) in
      let loop = ThreadLoop(onThisThreadNamed: "test-loop")
      let calls = Count(), before = Count()
      for _ in 0..<1000 { try loop.perform(at: .distantPast) { calls.add() } }
      loop.perform { before.add(calls.value) }
      while try loop.runOnce() == .performed {}
      return (calls.value, before.value)
    }
    #expect(calls == 1000)
    #expect(before == 256)
  }

  @Test("A timer thread's calls can be made on a loop; a stopped one refuses them")
  func target() async throws {
    let errors = Latch()
    let timers = TimerThread(name: "test-timer") { error, _ in
      if error is LoopError { errors.countDown() }
    }
    let loop = try ThreadLoop(name: "test-loop")
    let isThere = await withContinuation { continuation in
      _ = try? timers.perform(after: .zero, on: .loop(loop)) { continuation.resume(returning: loop.isCurrent) }
    }
    #expect(isThere)
    loop.stop()
    try timers.perform(after: .zero, on: .loop(loop)) { Issue.record("called") }
    #expect(try await onThread { errors.wait() })
    timers.dispose()
  }
}
