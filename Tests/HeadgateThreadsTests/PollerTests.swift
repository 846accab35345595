import Testing

@testable import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct PollerTests {
  // Closed explicitly: an optimized build releases objects after their last use.
  private final class Pipe {
    let readEnd: Int32
    let writeEnd: Int32
    private var isWriteEndOpen = true

    init() throws {
      var ends: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0)
      (readEnd, writeEnd) = (ends[0], ends[1])
    }

    func closeBoth() {
      close(readEnd)
      closeWriteEnd()
    }

    func send() {
      var byte: UInt8 = 1
      #expect(write(writeEnd, &byte, 1) == 1)
    }

    func take() {
      var byte: UInt8 = 0
      #expect(read(readEnd, &byte, 1) == 1)
    }

    func closeWriteEnd() {
      if isWriteEndOpen { close(writeEnd) }
      isWriteEndOpen = false
    }
  }

  @Test("P10 a wake before a wait ends that wait only")
  func wakeBefore() throws {
    let poller = try Poller()
    var events: [PollEvent] = []
    for _ in 0..<100 {
      poller.wake()
      poller.wake()
      let limit = Deadline.after(generous)
      poller.wait(until: limit, into: &events)
      try #require(Deadline.now < limit)
      #expect(events.isEmpty)
    }
    // The wake-ups are consumed, repeated ones too, so this wait lasts until its deadline.
    let deadline = Deadline.after(.milliseconds(2))
    poller.wait(until: deadline, into: &events)
    #expect(Deadline.now >= deadline)
  }

  @Test("P10 10,000 wakes from another thread, before a wait and within one, all end it")
  func wakeDuring() throws {
    let poller = try Poller()
    let heard = Parker()
    let rounds = Locked(0)
    let ended = Latch()
    _ = try WorkerThread(name: "test-poller") {
      var events: [PollEvent] = []
      for _ in 0..<10_000 {
        poller.wait(until: .distantFuture, into: &events)
        rounds.withLock { $0 += 1 }
        heard.unpark()
      }
      ended.countDown()
    }
    for round in 0..<10_000 {
      poller.wake()
      try #require(heard.park(until: .after(generous)), "the wake-up of round \(round) was lost")
    }
    #expect(ended.wait())
    #expect(rounds.withLock { $0 } == 10_000)
  }

  @Test("Reports readable data repeatedly until it is read")
  func readable() throws {
    let poller = try Poller()
    let pipe = try Pipe()
    defer { pipe.closeBoth() }
    var events: [PollEvent] = []
    poller.add(pipe.readEnd, .read)
    poller.wait(until: .distantPast, into: &events)
    #expect(events.isEmpty)
    pipe.send()
    for _ in 0..<3 {
      poller.wait(until: .after(generous), into: &events)
      #expect(events.map(\.descriptor) == [pipe.readEnd])
      #expect(events.allSatisfy { $0.readable && !$0.writable && !$0.closed })
    }
    pipe.take()
    poller.wait(until: .distantPast, into: &events)
    #expect(events.isEmpty)
  }

  @Test("A byte from another thread ends the wait")
  func readableDuring() throws {
    let poller = try Poller()
    let pipe = try Pipe()
    defer { pipe.closeBoth() }
    poller.add(pipe.readEnd, .read)
    let descriptor = pipe.readEnd
    let heard = Record<Int32>()
    let ready = Latch()
    let ended = Latch()
    _ = try WorkerThread(name: "test-poller") {
      var events: [PollEvent] = []
      ready.countDown()
      poller.wait(until: .distantFuture, into: &events)
      for event in events where event.readable { heard.add(event.descriptor) }
      ended.countDown()
    }
    #expect(ready.wait())
    pipe.send()
    #expect(ended.wait())
    #expect(heard.events == [descriptor])
  }

  @Test("Reports only the requested events")
  func interest() throws {
    let poller = try Poller()
    let pipe = try Pipe()
    defer { pipe.closeBoth() }
    var events: [PollEvent] = []
    poller.add(pipe.writeEnd, .write)
    poller.wait(until: .after(generous), into: &events)
    #expect(events.map(\.descriptor) == [pipe.writeEnd])
    #expect(events.allSatisfy { $0.writable && !$0.readable && !$0.closed })
    poller.modify(pipe.writeEnd, [])
    poller.wait(until: .distantPast, into: &events)
    #expect(events.isEmpty)
    poller.modify(pipe.writeEnd, .write)
    poller.wait(until: .after(generous), into: &events)
    #expect(events.count == 1)
    poller.remove(pipe.writeEnd)
    poller.wait(until: .distantPast, into: &events)
    #expect(events.isEmpty)
  }

  @Test("Reports that the other end was closed")
  func closed() throws {
    let poller = try Poller()
    let pipe = try Pipe()
    defer { pipe.closeBoth() }
    var events: [PollEvent] = []
    poller.add(pipe.readEnd, .read)
    pipe.closeWriteEnd()
    poller.wait(until: .after(generous), into: &events)
    #expect(events.map(\.descriptor) == [pipe.readEnd])
    #expect(events.allSatisfy { $0.closed })
  }

  @Test("Reports all that are ready, though they are more than fit one wait, and a wake beside them")
  func many() throws {
    let poller = try Poller()
    let pipes = try (0..<200).map { _ in try Pipe() }
    defer { for pipe in pipes { pipe.closeBoth() } }
    for pipe in pipes {
      poller.add(pipe.readEnd, .read)
      pipe.send()
    }
    poller.wake()
    var unheard = Set(pipes.map(\.readEnd))
    var events: [PollEvent] = []
    let limit = Deadline.after(generous)
    // Fewer waits would do. It matters that none of them starves.
    for _ in 0..<20 where !unheard.isEmpty {
      poller.wait(until: limit, into: &events)
      unheard.subtract(events.map(\.descriptor))
    }
    #expect(unheard.isEmpty)
  }

  @Test(
    "P73 a wait until zero or the past only checks, and returns",
    arguments: [.distantPast, Deadline(nanoseconds: 1), .after(.seconds(-1)), .after(.seconds(Int64.min))]
  )
  func past(deadline: Deadline) throws {
    let poller = try Poller()
    var events = [PollEvent(descriptor: 9, readable: true, writable: true, closed: true)]
    poller.wait(until: deadline, into: &events)
    #expect(events.isEmpty)
  }

  @Test("P73 a wait until +292 years ends with a wake", arguments: [.max - 1, 1 << 63] as [UInt64])
  func farDeadline(nanoseconds: UInt64) throws {
    let poller = try Poller()
    let ready = Latch()
    let ended = Latch()
    _ = try WorkerThread(name: "test-poller") {
      var events: [PollEvent] = []
      ready.countDown()
      poller.wait(until: Deadline(nanoseconds: nanoseconds), into: &events)
      ended.countDown()
    }
    #expect(ready.wait())
    poller.wake()
    #expect(ended.wait())
  }
}
