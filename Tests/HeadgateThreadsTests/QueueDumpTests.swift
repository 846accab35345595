import Testing

@testable import HeadgateThreads

/// The queues in dumps.
@Suite(.timeLimit(.minutes(2))) struct QueueDumpTests {
  /// The lines of queues whose names begin with a text.
  private func queues(_ name: String) -> [String] {
    ThreadDump.text().split(separator: "\n").map(String.init).filter { $0.contains("queue \"\(name)") }
  }

  @Test("A dump lists each queue at which calls wait, with its elements and their numbers, and none without a wait")
  func waits() async throws {
    let full = try BlockingQueue<Int>(name: "waits-full", capacity: 2)
    let hand = try BlockingQueue<Int>(name: "waits-hand", capacity: 0)
    let (sender, receiver) = BlockingQueue<Int>.channel(name: "waits-channel")
    let urgent = try PriorityBlockingQueue<Int, Int>(name: "waits-urgent", capacity: 1)
    let later = DelayQueue<Int>(name: "waits-later")
    let other = BlockingQueue<Int>(name: "waits-other")
    let idle = try BlockingQueue<Int>(name: "waits-idle", capacity: 1)
    for number in 1...2 { #expect(try full.tryPut(number)) }
    #expect(try urgent.tryPut(1, priority: 1) && idle.tryPut(1) && idle.tryTake() == 1)
    #expect(try later.tryPut(1, due: .after(.seconds(3600))))

    let threads = [
      try Blocked { ending(of: { () throws(WaitError) in try full.put(3) }) },
      try Blocked { ending(of: { () throws(WaitError) in try hand.put(1) }) },
      try Blocked { ending { () throws(WaitError) in try later.take() } },
      try Blocked { ending { () throws(WaitError) in try select(later.onTake { $0 }, other.onTake { $0 }) } },
    ]
    let tasks = [
      Task { await ending(of: { try await full.put(4) }) },
      Task { await ending { try await receiver.take() } },
      Task { await ending(of: { try await urgent.put(2, priority: 2) }) },
    ]
    let expected = [
      "delay queue \"waits-later\": 1 element, unbounded, 0 waiting puts, 2 waiting takes",
      "priority queue \"waits-urgent\": 1 element, capacity 1, 1 waiting put, 0 waiting takes",
      "queue \"waits-channel\": 0 elements, unbounded, 0 waiting puts, 1 waiting take",
      "queue \"waits-full\": 2 elements, capacity 2, 2 waiting puts, 0 waiting takes",
      "queue \"waits-hand\": 0 elements, capacity 0, 1 waiting put, 0 waiting takes",
      "queue \"waits-other\": 0 elements, unbounded, 0 waiting puts, 1 waiting take",
    ]
    #expect(await untilAsync { queues("waits-") == expected }, "\(queues("waits-"))")

    for queue in [full, hand, other] { queue.close() }
    sender.close()
    urgent.close()
    later.close()
    for task in tasks { #expect(await task.value == .error(.closed)) }
    for thread in threads.prefix(2) { #expect(try thread.result() == .error(.closed)) }
    // They wait for the element that is not due yet, although the queue is closed.
    for thread in threads.suffix(2) { thread.cancel() }
    for thread in threads.suffix(2) { #expect(try thread.result() == .error(.cancelled)) }
    #expect(
      queues("waits-full") == [
        "queue \"waits-full\": 2 elements, capacity 2, 0 waiting puts, 0 waiting takes, closed"
      ])
    #expect(
      queues("waits-hand") == [
        "queue \"waits-hand\": 0 elements, capacity 0, 0 waiting puts, 0 waiting takes, closed"
      ])
  }

  /// Waits at a new queue of each kind, on a thread that is cancelled, and releases the queues. Returns their lines, and
  /// the key of one that the registry refers to weakly.
  private func waitAndRelease(_ name: String) throws -> (lines: [String], key: UInt) {
    ThreadRecord.current.cancel()
    let unbounded = BlockingQueue<Int>(name: name)
    let hand = try BlockingQueue<Int>(name: name, capacity: 0)
    let later = DelayQueue<Int>(name: name)
    let endings = [
      ending { () throws(WaitError) in try unbounded.take() }, ending { () throws(WaitError) in try hand.take() },
      ending { () throws(WaitError) in try later.take() },
    ]
    #expect(endings == Array(repeating: .error(.cancelled), count: 3))
    let key = UInt(bitPattern: Unmanaged.passUnretained(later).toOpaque())
    return withExtendedLifetime((unbounded, hand, later)) { (queues(name), key) }
  }

  @Test("A queue stays in dumps after its first wait, and leaves them when it is released")
  func release() throws {
    let (before, after, isListed) = try inThread {
      let (lines, key) = try waitAndRelease("released")
      return (lines, queues("released"), QueueRegistry.entries.withLock { $0[key] != nil })
    }
    #expect(
      before == [
        "delay queue \"released\": 0 elements, unbounded, 0 waiting puts, 0 waiting takes",
        "queue \"released\": 0 elements, capacity 0, 0 waiting puts, 0 waiting takes",
        "queue \"released\": 0 elements, unbounded, 0 waiting puts, 0 waiting takes",
      ])
    #expect(after.isEmpty && !isListed)
  }

  @Test("A dump may be made while queues come and go")
  func meanwhile() throws {
    let rounds = 300
    try onThreads(3) { number in
      for _ in 0..<rounds {
        if number == 0 {
          _ = ThreadDump.text()
        } else if (try? waitAndRelease("brief"))?.lines.isEmpty != false {
          Issue.record("no queue is listed")
        }
      }
    }
    #expect(queues("brief").isEmpty)
  }
}
