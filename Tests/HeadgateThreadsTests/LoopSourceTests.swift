import Testing

@testable import HeadgateThreads

@Suite struct LoopSourceTests {
  @Test("Signals before the handler starts are one call; one while it runs is one more")
  func coalesced() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let calls = Count()
    let both = Latch(2)
    let own = LockedBox<LoopSource?>(nil)
    let source = try loop.addSource {
      calls.add()
      both.countDown()
      if calls.value == 1 { for _ in 0..<3 { own.withLock { $0 }?.signal() } }
    }
    own.withLock { $0 = source }
    let release = await loop.occupy()
    for _ in 0..<100 { #expect(source.signal()) }
    release.countDown()
    #expect(try await onThread { both.wait() })
    // A third one would come now.
    await loop.settle()
    #expect(calls.value == 2)
    source.cancel()
    loop.stop()
  }

  @Test("P10 100,000 signals from two threads: the handler sees everything written before each")
  func visible() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let written = LockedBox(0)
    let seen = LockedBox(0)
    let isAllSeen = Latch()
    let source = try loop.addSource {
      let now = written.withLock { $0 }
      let isNew = seen.withLock { seen in
        defer { seen = now }
        return seen < 100_000 && now == 100_000
      }
      if isNew { isAllSeen.countDown() }
    }
    let isSeen = try await onThread {
      try onThreads(2) { _ in
        for _ in 0..<50_000 {
          written.withLock { $0 += 1 }
          source.signal()
        }
      }
      return isAllSeen.wait()
    }
    #expect(isSeen)
    loop.stop()
  }

  @Test("A cancelled source is not called, even for a pending signal; onCancel is called once, on the loop")
  func cancel() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let events = Record<String>()
    let census = Census()
    let source: LoopSource = try {
      let token = census.token()
      return try loop.addSource {
        token.hold()
        events.add("called")
      } onCancel: {
        events.add(loop.isCurrent ? "cancelled on the loop" : "cancelled elsewhere")
      }
    }()
    let release = await loop.occupy()
    source.signal()
    #expect(source.cancel())
    #expect(source.cancel() == false)
    #expect(source.signal() == false)
    #expect(source.isCancelled)
    #expect(census.alive == 0)
    release.countDown()
    await loop.settle()
    #expect(events.events == ["cancelled on the loop"])
    #expect(loop.core.state.withLock { $0.sources.isEmpty })
    loop.stop()
  }

  @Test("A signal after the loop's stop returns false, even while an earlier one is pending, and causes no call")
  func stopped() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let calls = Count()
    let source = try loop.addSource { calls.add() }
    let signals = try await loop.performAndWait { () -> [Bool] in
      let isAccepted = source.signal()
      loop.stop()
      return [isAccepted, source.signal()]
    }
    #expect(signals == [true, false])
    try await loop.join()
    #expect(source.signal() == false)
    #expect(calls.value == 0)
  }

  @Test("P24 a handler is never called inside itself: a signal in its nested run waits for its end")
  func nested() async throws {
    let events = try await onThread { () -> [String] in
      let loop = ThreadLoop.current
      let events = Record<String>()
      let own = LockedBox<LoopSource?>(nil)
      let source = try loop.addSource {
        events.add("begins")
        if events.events.count == 1 {
          own.withLock { $0 }?.signal()
          while try loop.runOnce() == .performed {}
        }
        events.add("ends")
      }
      own.withLock { $0 = source }
      source.signal()
      while try loop.runOnce() == .performed {}
      own.withLock { $0 = nil }
      return events.events
    }
    #expect(events == ["begins", "ends", "begins", "ends"])
  }
}
