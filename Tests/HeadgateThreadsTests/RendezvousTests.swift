import Testing

@testable import HeadgateThreads

@Suite(.timeLimit(.minutes(2))) struct RendezvousTests {
  @Test("P05 each put meets one take, and returns after it")
  func pairs() throws {
    let queue = try BlockingQueue<Int>(capacity: 0)
    let taken = Record<Int>()
    try onThreads(6) { number in
      for round in 0..<2000 {
        if number < 3 {
          let value = round * 3 + number
          if ending(of: { () throws(WaitError) in try queue.put(value) }) != .done { Issue.record("a put failed") }
        } else if case .value(let value) = ending({ () throws(WaitError) in try queue.take() }) {
          taken.add(value)
        }
      }
    }
    #expect(taken.events.sorted() == Array(0..<6000))
    #expect(queue.waitingCounts == (0, 0))
  }

  @Test("P05 a try succeeds only if a partner waits, and nothing is ever stored")
  func tries() throws {
    let queue = try BlockingQueue<Int>(capacity: 0)
    #expect(try !queue.tryPut(1))
    #expect(try queue.tryTake() == nil)
    #expect(queue.count == 0 && queue.remainingCapacity == 0 && queue.isEmpty)
    let taker = try Blocked { ending { () throws(WaitError) in try queue.take() } }
    #expect(until { queue.waitingCounts.takers == 1 })
    #expect(try queue.tryPut(2))
    #expect(try taker.result() == .value(2))
    let putters = try (0..<3).map { number in
      try Blocked { ending(of: { () throws(WaitError) in try queue.put(number) }) }
    }
    #expect(until { queue.waitingCounts.putters == 3 })
    let first = try #require(try queue.tryTake())
    #expect(Set(queue.drain() + [first]) == [0, 1, 2])
    for putter in putters { #expect(try putter.result() == .done) }
    let census = Census()
    let parcels = try BlockingQueue<Parcel>(capacity: 0)
    for number in 0..<5 {
      let isAccepted = parcels.tryPut(Parcel(number, census)).isAccepted
      #expect(!isAccepted)
    }
    #expect(census.alive == 0)
  }

  @Test("P16 a queue is not closed while elements still pass, as between the two steps of a close")
  func closeBegun() throws {
    let queue = try BlockingQueue<Int>(capacity: 0)
    let taker = try Blocked { ending { () throws(WaitError) in try queue.take() } }
    #expect(until { queue.waitingCounts.takers == 1 })
    queue.core.close()
    #expect(!queue.isClosed)
    #expect(try queue.tryPut(1))
    #expect(try taker.result() == .value(1))
    queue.close()
    #expect(queue.isClosed)
    #expect(ending(of: { () throws(WaitError) in try queue.put(2) }) == .error(.closed))
  }
}
