import Testing

@testable import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

#if canImport(Darwin)
private let streamType = SOCK_STREAM
#else
private let streamType = Int32(SOCK_STREAM.rawValue)
#endif

@Suite struct LoopWatchTests {
  @Test("The handler is called while there is something to read, once a turn, and not afterwards")
  func reading() async throws {
    let counts = try await onThread { () -> [Int] in
      let loop = ThreadLoop.current
      let pipe = try TestPipe()
      let calls = Count()
      let watch = try loop.watch(pipe.readEnd, for: .reading) {
        calls.add()
        pipe.take()
      }
      try loop.runOnce()
      var counts = [calls.value]
      pipe.send(3)
      for _ in 0..<5 {
        try loop.runOnce(timeout: .zero)
        counts.append(calls.value)
      }
      guard watch.cancel() else { throw TestFailure(number: 0) }
      pipe.send()
      try loop.runOnce()
      counts.append(calls.value)
      pipe.closeBoth()
      return counts
    }
    #expect(counts == [0, 1, 2, 3, 3, 3, 3])
  }

  @Test("P10 bytes that arrive while the loop sleeps, one at a time, wake it each time")
  func whileAsleep() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let pipe = try TestPipe()
    let heard = Parker()
    // The loop sleeps on its parker by now, or is on its way there.
    await loop.settle()
    let watch = try loop.watch(pipe.readEnd, for: .reading) {
      pipe.take()
      heard.unpark()
    }
    let rounds = try await onThread { () -> Int in
      for round in 0..<3000 {
        // Closures and timers wake it from the same sleep.
        if round % 3 == 0 { loop.perform {} }
        pipe.send()
        guard heard.park(until: .after(generous)) else { return round }
      }
      return 3000
    }
    #expect(rounds == 3000)
    watch.cancel()
    loop.stop()
    try await loop.join(until: .after(generous))
    pipe.closeBoth()
  }

  @Test("One reader and one writer at most; unsupported descriptors are refused with a reason")
  func refusals() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, streamType, 0, &ends) == 0)
    let events = Record<String>()
    let isWritable = Latch()
    let reader = try loop.watch(ends[0], for: .reading) { events.add("read") }
    let writers = LockedBox<LoopWatch?>(nil)
    let writer = try loop.watch(ends[0], for: .writing) {
      writers.withLock { $0 }?.suspend()
      isWritable.countDown()
    }
    writers.withLock { $0 = writer }
    writer.resume()
    #expect(try await onThread { isWritable.wait() })
    let descriptor = ends[0]
    #expect(throws: LoopError(.alreadyWatched, loop: "test-loop")) { try loop.watch(descriptor, for: .reading) {} }
    #expect(throws: LoopError(.alreadyWatched, loop: "test-loop")) { try loop.watch(descriptor, for: .writing) {} }
    #expect(throws: LoopError(.notWatchable, loop: "test-loop", errno: EBADF)) { try loop.watch(-1, for: .reading) {} }
    #if !canImport(Darwin)
    let file = open("/proc/self/exe", O_RDONLY)
    #expect(throws: LoopError(.notWatchable, loop: "test-loop", errno: EPERM)) {
      try loop.watch(file, for: .reading) {}
    }
    close(file)
    #endif
    #expect(reader.cancel())
    // The place is free again.
    let again = try loop.watch(descriptor, for: .reading) {}
    again.cancel()
    writer.cancel()
    writers.withLock { $0 = nil }
    await loop.settle()
    #expect(loop.core.state.withLock { $0.watches.isEmpty })
    #expect(events.events.isEmpty)
    loop.stop()
    for end in ends { close(end) }
    #expect(throws: LoopError(.stopped, loop: "test-loop")) { try loop.watch(descriptor, for: .reading) {} }
  }

  @Test("A suspended watch gets no events, not even a hang-up, and all of them after resume")
  func suspended() async throws {
    let (quiet, heard) = try await onThread { () -> ([LoopRunEnd], Int) in
      let loop = ThreadLoop.current
      let pipe = try TestPipe()
      let calls = Count()
      let watch = try loop.watch(pipe.readEnd, for: .reading) { calls.add() }
      watch.suspend()
      pipe.send()
      pipe.closeWriteEnd()
      // Would return at once, each time, if the poller still reported it.
      var events: [PollEvent] = []
      loop.core.state.withLock { $0.poller }?.wait(until: .distantPast, into: &events)
      let quiet = [try loop.runOnce(), try loop.runOnce()]
      guard events.isEmpty, calls.value == 0 else { throw TestFailure(number: calls.value) }
      watch.resume()
      try loop.runOnce()
      watch.cancel()
      pipe.closeBoth()
      return (quiet, calls.value)
    }
    #expect(quiet == [.timedOut, .timedOut])
    #expect(heard == 1)
  }

  @Test("P24 a nested run gets no events that its own handler has not read yet, and the handler gets them after")
  func nested() async throws {
    let (inside, calls, waits) = try await onThread { () -> ([LoopRunEnd], Int, Int) in
      let loop = ThreadLoop.current
      let pipe = try TestPipe()
      let calls = Count(), waits = Count()
      let inside = Record<LoopRunEnd>()
      let watch = try loop.watch(pipe.readEnd, for: .reading) {
        calls.add()
        guard calls.value == 1 else { return _ = pipe.take(8) }
        let before = loop.core.state.withLock { $0.wait }
        inside.add(try loop.run(until: .after(.milliseconds(20))))
        inside.add(try loop.runOnce())
        waits.add(Int(loop.core.state.withLock { $0.wait } - before))
      }
      pipe.send()
      while try loop.runOnce() == .performed {}
      watch.cancel()
      pipe.closeBoth()
      return (inside.events, calls.value, waits.value)
    }
    #expect(inside == [.timedOut, .timedOut])
    #expect(calls == 2)
    // It slept. Polling a skipped descriptor would wake it thousands of times.
    #expect(waits < 20)
  }

  @Test("onCancel waits for the handler that cancels its watch and runs the loop")
  func closingInNestedRun() async throws {
    let events = try await onThread { () -> [String] in
      let loop = ThreadLoop.current
      let pipe = try TestPipe()
      let events = Record<String>()
      let watches = LockedBox<LoopWatch?>(nil)
      let watch = try loop.watch(
        pipe.readEnd, for: .reading,
        {
          watches.withLock { $0 }?.cancel()
          _ = try loop.runOnce()
          events.add("handler ends")
        }, onCancel: { events.add("closed") })
      watches.withLock { $0 = watch }
      pipe.send()
      _ = try loop.runOnce()
      watches.withLock { $0 = nil }
      pipe.closeBoth()
      return events.events
    }
    #expect(events == ["handler ends", "closed"])
  }

  @Test("onCancel is the place to close: after the last call, on the loop, also at the stop", arguments: [false, true])
  func closing(byStop: Bool) async throws {
    let loop = try ThreadLoop(name: "test-loop")
    let pipe = try TestPipe()
    let isInside = Latch(), leave = Latch()
    let events = Record<String>()
    let watch = try loop.watch(pipe.readEnd, for: .reading) {
      isInside.countDown()
      _ = leave.wait()
      events.add("call ends")
    } onCancel: {
      events.add(ThreadLoop.current.core === loop.core ? "closed on the loop" : "closed elsewhere")
      pipe.closeBoth()
    }
    pipe.send()
    #expect(try await onThread { isInside.wait() })
    if byStop { loop.stop() } else { #expect(watch.cancel()) }
    #expect(events.events.isEmpty)
    leave.countDown()
    if !byStop { loop.perform { loop.stop() } }
    try await loop.join(until: .after(generous))
    #expect(events.events == ["call ends", "closed on the loop"])
    #expect(watch.cancel() == false)
    // The poller's own descriptors are closed, though the handle is still held.
    #expect(loop.core.state.withLock { $0.poller == nil })
  }

  @Test("After a stop by the reader's handler the writer of the same descriptor is not called any more")
  func stoppedBetween() async throws {
    let loop = try ThreadLoop(name: "test-loop")
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, streamType, 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    // One wait reports both: the descriptor can be read and written from the start.
    try #require(write(ends[1], "x", 1) == 1)
    let calls = Record<String>()
    let release = await loop.occupy()
    _ = try loop.watch(ends[0], for: .reading) {
      calls.add("reader")
      loop.stop()
    }
    _ = try loop.watch(ends[0], for: .writing) { calls.add("writer") }
    release.countDown()
    try await loop.join(until: .after(generous))
    #expect(calls.events == ["reader"])
  }

  @Test("An event is not delivered to a watch added after the wait")
  func numberUsedAgain() async throws {
    let calls = try await onThread { () -> [String] in
      let loop = ThreadLoop.current
      let (first, second) = (try TestPipe(), try TestPipe())
      let calls = Record<String>()
      let watches = LockedBox<[LoopWatch]>([])
      // Both are ready in one wait. The first one called replaces the other by a watch of a file with nothing to read.
      // place of the other.
      for (pipe, other) in [(first, second), (second, first)] {
        let watch = try loop.watch(pipe.readEnd, for: .reading) {
          calls.add("first")
          for watch in watches.withLock({ $0 }) { watch.cancel() }
          other.take()
          let late = try loop.watch(other.readEnd, for: .reading) { calls.add("late") }
          watches.withLock { $0 = [late] }
        }
        watches.withLock { $0.append(watch) }
        pipe.send()
      }
      try loop.runOnce()
      try loop.runOnce()
      for watch in watches.withLock({ $0 }) { watch.cancel() }
      watches.withLock { $0 = [] }
      first.closeBoth()
      second.closeBoth()
      return calls.events
    }
    #expect(calls == ["first"])
  }

  @Test("All of 200 descriptors are reported, though they are more than one wait returns")
  func many() async throws {
    let heard = try await onThread { () -> Int in
      let loop = ThreadLoop.current
      let pipes = try (0..<200).map { _ in try TestPipe() }
      let heard = Count()
      let watches = try pipes.map { pipe in
        try loop.watch(pipe.readEnd, for: .reading) { heard.add(pipe.take()) }
      }
      for pipe in pipes { pipe.send() }
      while try loop.runOnce() == .performed {}
      for watch in watches { watch.cancel() }
      for pipe in pipes { pipe.closeBoth() }
      return heard.value
    }
    #expect(heard == 200)
  }
}
