import HeadgateThreads
import Testing

@Suite(.timeLimit(.minutes(2))) struct BlockingQueueBatchTests {
  @Test("A batch is put and taken in order, for all kinds of memory", arguments: Kind.allCases)
  func order(kind: Kind) throws {
    let queue = try kind.make(Int.self)
    for size in [0, 1, 2, 63, 64, 65, 200] {
      let places = min(size, queue.remainingCapacity)
      #expect(try queue.tryPut(contentsOf: 0..<size) == places)
      #expect(queue.count == places)
      #expect(try queue.take(upTo: size, until: .distantPast) == Array(0..<places))
    }
    #expect(try queue.take(upTo: 0) == [])
    #expect(try queue.take(upTo: -1) == [])
  }

  @Test("P02 batches on both sides lose and double nothing", arguments: [0, 1, 5, 100, Int.max])
  func streams(capacity: Int) throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    let taken = Record<[Int]>()
    try onThreads(4) { number in
      if number < 2 {
        for round in 0..<100 {
          let start = (round * 2 + number) * 20
          let put = ending(of: { () throws(WaitError) in try queue.put(contentsOf: start..<(start + 20)) })
          if put != .done { Issue.record("\(put)") }
        }
      } else {
        var count = 0
        while count < 2000 {
          let batch = (try? queue.take(upTo: min(7, 2000 - count), until: .after(generous))) ?? []
          if batch.isEmpty {
            Issue.record("nothing came")
            return
          }
          count += batch.count
          taken.add(batch)
        }
      }
    }
    #expect(taken.events.flatMap { $0 }.sorted() == Array(0..<4000))
    #expect(queue.isEmpty && queue.waitingCounts == (0, 0))
  }

  @Test("A batch wakes as many waiters as it has elements or places for")
  func wakes() throws {
    let empty = BlockingQueue<Int>()
    let takers = try (0..<3).map { _ in try Blocked { ending { () throws(WaitError) in try empty.take() } } }
    #expect(until { empty.waitingCounts.takers == 3 })
    try empty.put(contentsOf: [1, 2, 3])
    #expect(try Set(takers.map { try $0.result() }) == [.value(1), .value(2), .value(3)])
    let full = try BlockingQueue<Int>(capacity: 3)
    try full.put(contentsOf: 0..<3)
    let putters = try (0..<3).map { number in
      try Blocked { ending(of: { () throws(WaitError) in try full.put(number) }) }
    }
    #expect(until { full.waitingCounts.putters == 3 })
    #expect(full.drain() == [0, 1, 2])
    for putter in putters { #expect(try putter.result() == .done) }
  }

  @Test("A batch that ends early keeps the elements that it has put", arguments: [true, false])
  func early(byClose: Bool) async throws {
    let queue = try BlockingQueue<Int>(capacity: 2)
    let putting = Task { await ending(of: { () async throws in try await queue.put(contentsOf: 0..<5) }) }
    #expect(await untilAsync { queue.waitingCounts.putters == 1 })
    if byClose { queue.close() } else { putting.cancel() }
    #expect(await putting.value == (byClose ? .error(.closed) : .cancelledTask))
    #expect(queue.drain() == [0, 1])
    queue.close()
    let error = #expect(throws: WaitError.self) { try queue.tryPut(contentsOf: [1]) }
    #expect(error?.code == .closed)
    #expect(try queue.tryPut(contentsOf: []) == 0)
  }

  @Test("A take of several elements waits for the first only", arguments: [0, 5])
  func waits(capacity: Int) async throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    let task = Task { try await queue.take(upTo: 3) }
    #expect(await untilAsync { queue.waitingCounts.takers == 1 })
    #expect(try queue.tryPut(1))
    #expect(try await task.value == [1])
    #expect(
      await ending { () async throws in try await queue.take(upTo: 3, until: .distantPast).count }
        == .error(.timedOut))
  }

  @Test("P21 a count is consistent: with alternating puts and takes it is never more than one")
  func count() throws {
    let queue = try BlockingQueue<Int>(capacity: 8)
    let wrong = Record<Int>()
    try onThreads(2) { number in
      for round in 0..<200_000 {
        if number == 0 {
          _ = try? queue.tryPut(round) as Bool
          _ = try? queue.tryTake()
        } else {
          let (count, places) = (queue.count, queue.remainingCapacity)
          if count > 1 || places < 7 { wrong.add(max(count, 8 - places)) }
        }
      }
    }
    #expect(wrong.events.isEmpty)
  }
}
