import HeadgateThreads
import Testing

@Suite(.timeLimit(.minutes(2))) struct BlockingQueueSelectTests {
  private static func endingOfSelect(_ queues: [BlockingQueue<Int>], until deadline: Deadline = .distantFuture)
    -> Ending
  {
    ending { () throws(WaitError) in
      let selection = try BlockingQueue.select(from: queues, until: deadline)
      return selection.index * 1000 + selection.element
    }
  }

  private func make(_ capacities: [Int]) throws -> [BlockingQueue<Int>] {
    try capacities.map { try BlockingQueue<Int>(capacity: $0) }
  }

  @Test("P21 no queue is starved by one that always has elements")
  func fair() throws {
    let queues = try make([2000, 2000, 2000])
    for queue in queues { for number in 0..<1000 { try queue.put(number) } }
    var hits = [0, 0, 0]
    for _ in 0..<900 { hits[try BlockingQueue.select(from: queues).index] += 1 }
    // Other tests use the same counter, so that the turns aren't quite even.
    for count in hits { #expect(count >= 150, "\(hits)") }
  }

  @Test("P21 nor by a select that finds nothing at first and waits")
  func fairAfterAWait() async throws {
    let executor = HeldExecutor()
    var hits = [0, 0]
    for _ in 0..<200 {
      let queues = try make([1, 1])
      let select = Task(executorPreference: executor) { () async -> Ending in
        await ending { () async throws in try await BlockingQueue.select(from: queues).index }
      }
      try executor.runAll()
      #expect(queues.allSatisfy { $0.waitingCounts.takers == 1 })
      // Both have an element before it is awake.
      #expect(try queues[1].tryPut(0))
      #expect(try queues[0].tryPut(0))
      try executor.runAll()
      let end = await select.value
      hits[end == .value(0) ? 0 : 1] += 1
    }
    for count in hits { #expect(count > 0, "\(hits)") }
  }

  @Test(
    "It takes from whichever queue has an element first, and wakes for each",
    arguments: [[5, 5], [0, 0], [0, 5], [5, 0, 1]])
  func whichever(capacities: [Int]) throws {
    let queues = try make(capacities)
    for (index, queue) in queues.enumerated() {
      let select = try Blocked { Self.endingOfSelect(queues) }
      #expect(until { queues.allSatisfy { $0.waitingCounts.takers == 1 } })
      #expect(try queue.tryPut(7))
      #expect(try select.result() == .value(index * 1000 + 7))
      #expect(queues.allSatisfy { $0.waitingCounts == (0, 0) })
    }
  }

  @Test("Deadlines, cancellation, and closed queues", arguments: [0, 5])
  func ends(capacity: Int) throws {
    let queues = try make([capacity, capacity])
    #expect(Self.endingOfSelect(queues, until: .distantPast) == .error(.timedOut))
    #expect(Self.endingOfSelect(queues) == .error(.onCooperativeThread))
    #expect(Self.endingOfSelect([]) == .error(.closed))
    let timed = try Blocked { Self.endingOfSelect(queues, until: .after(.milliseconds(1))) }
    #expect(try timed.result() == .error(.timedOut))
    let cancelled = try Blocked { Self.endingOfSelect(queues) }
    #expect(until { queues[1].waitingCounts.takers == 1 })
    cancelled.cancel()
    #expect(try cancelled.result() == .error(.cancelled))
    let waiting = try Blocked { Self.endingOfSelect(queues) }
    #expect(until { queues[1].waitingCounts.takers == 1 })
    queues[0].close()
    #expect(until { queues[0].waitingCounts.takers == 0 && queues[1].waitingCounts.takers == 1 })
    queues[1].close()
    #expect(try waiting.result() == .error(.closed))
    #expect(queues.allSatisfy { $0.waitingCounts == (0, 0) })
  }

  @Test("P02 three select from three queues while three put: nothing is lost or doubled", arguments: [0, 1, 100])
  func stress(capacity: Int) throws {
    let queues = try make([capacity, capacity, capacity])
    let taken = Record<Int>()
    try onThreads(6) { number in
      for round in 0..<1000 {
        if number < 3 {
          let put = ending(of: { () throws(WaitError) in try queues[(number + round) % 3].put(round * 3 + number) })
          if put != .done { Issue.record("a put failed") }
        } else {
          let selected = ending { () throws(WaitError) in try BlockingQueue.select(from: queues).element }
          if case .value(let value) = selected { taken.add(value) } else { Issue.record("\(selected)") }
        }
      }
    }
    #expect(taken.events.sorted() == Array(0..<3000))
    #expect(queues.allSatisfy { $0.waitingCounts == (0, 0) })
  }

  @Test("P11 a wake-up that a select could not use is passed to the next one in that line")
  func passedOn() throws {
    // A select waits at both queues, a take behind it at the second. The second queue's element wakes the select, which
    // may find the first queue's element too.
    for _ in 0..<300 {
      let queues = try make([1, 1])
      let select = try Blocked { Self.endingOfSelect(queues) }
      #expect(until { queues[1].waitingCounts.takers == 1 })
      let taker = try Blocked { ending { () throws(WaitError) in try queues[1].take(until: .after(generous)) } }
      #expect(until { queues[1].waitingCounts.takers == 2 })
      #expect(try queues[1].tryPut(5))
      #expect(try queues[0].tryPut(5))
      if try select.result() == .value(1005) { #expect(try queues[1].tryPut(5)) }
      guard try taker.result() == .value(5) else {
        Issue.record("the taker was forgotten")
        return
      }
    }
  }

  @Test("P22 a task selects, waits, and is cancelled", arguments: [0, 5])
  func tasks(capacity: Int) async throws {
    let queues = try make([capacity, capacity])
    let select = Task { try await BlockingQueue.select(from: queues).index }
    #expect(await untilAsync { queues[1].waitingCounts.takers == 1 })
    #expect(try queues[1].tryPut(3))
    #expect(try await select.value == 1)
    let cancelled = Task { () async -> Ending in
      await ending { () async throws in try await BlockingQueue.select(from: queues).index }
    }
    #expect(await untilAsync { queues[1].waitingCounts.takers == 1 })
    cancelled.cancel()
    #expect(await cancelled.value == .cancelledTask)
    #expect(queues.allSatisfy { $0.waitingCounts == (0, 0) })
  }
}
