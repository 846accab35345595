import HeadgateThreads
import Testing

@Suite(.timeLimit(.minutes(2))) struct OrderedQueueTests {
  @Test("P27 the highest priority comes first, equal ones in the order of arrival")
  func stable() throws {
    let queue = PriorityBlockingQueue<Int, Int>()
    var random = SeededRandom(seed: 27)
    let priorities = (0..<2000).map { _ in Int.random(in: 0..<5, using: &random) }
    for (number, priority) in priorities.enumerated() { try queue.put(number, priority: priority) }
    let expected = priorities.indices.sorted { (-priorities[$0], $0) < (-priorities[$1], $1) }
    #expect(queue.count == 2000)
    #expect(try (0..<2000).map { _ in try queue.take() } == expected)
    #expect(try queue.tryTake() == nil)
  }

  @Test("P01 random puts and takes agree with a sorted array")
  func model() throws {
    let queue = try PriorityBlockingQueue<Int, Int>(capacity: 500)
    var model: [(priority: Int, number: Int)] = []
    var random = SeededRandom(seed: 1)
    for number in 0..<20_000 {
      if Int.random(in: 0..<100, using: &random) < (number / 3000 % 2 == 0 ? 70 : 30) {
        let priority = Int.random(in: 0..<50, using: &random)
        let accepted = try queue.tryPut(number, priority: priority)
        #expect(accepted == (model.count < 500))
        if accepted {
          let place = model.firstIndex { $0.priority < priority } ?? model.count
          model.insert((priority, number), at: place)
        }
      } else {
        #expect(try queue.tryTake() == (model.isEmpty ? nil : model.removeFirst().number))
      }
      if queue.count != model.count || queue.remainingCapacity != 500 - model.count { Issue.record("wrong count") }
    }
  }

  @Test("P02 a bounded queue of threads loses and doubles nothing", arguments: [1, 10, Int.max])
  func streams(capacity: Int) throws {
    let queue = try PriorityBlockingQueue<Int, Int>(capacity: capacity)
    let taken = Record<Int>()
    try onThreads(6) { number in
      for round in 0..<1000 {
        if number < 3 {
          let put = ending(of: { () throws(WaitError) in try queue.put(round * 3 + number, priority: round % 7) })
          if put != .done { Issue.record("a put failed") }
        } else if case .value(let value) = ending({ () throws(WaitError) in try queue.take() }) {
          taken.add(value)
        }
      }
    }
    #expect(taken.events.sorted() == Array(0..<3000))
  }

  @Test("P16 close: putters get their element back, elements can still be taken, then takes fail")
  func close() throws {
    let census = Census()
    let queue = try PriorityBlockingQueue<Parcel, Int>(capacity: 1)
    expectAccepted(queue.put(Parcel(0, census), priority: 0))
    let putter = try Blocked { () -> Ending in
      switch queue.put(Parcel(1, census), priority: 9) {
      case .accepted: .done
      case .refused(let parcel, let error): parcel.number == 1 ? .error(error.code) : .done
      }
    }
    let empty = PriorityBlockingQueue<Int, Int>()
    let taker = try Blocked { ending { () throws(WaitError) in try empty.take() } }
    queue.close()
    empty.close()
    empty.close()
    #expect(try putter.result() == .error(.closed))
    #expect(try taker.result() == .error(.closed))
    #expect(try queue.take().number == 0)
    #expect(census.alive == 0)
    #expect(ending { () throws(WaitError) in try queue.take().number } == .error(.closed))
  }

  @Test("P19 P28 the queue releases its elements; a capacity below 1 is an error; a thousand rounds leave nothing")
  func life() throws {
    #expect(throws: QueueError.self) { try PriorityBlockingQueue<Int, Int>(capacity: 0) }
    #expect(throws: QueueError.self) { try DelayQueue<Int>(capacity: -3) }
    let census = Census()
    for round in 0..<1000 {
      let first = PriorityBlockingQueue<Parcel, Int>()
      let second = DelayQueue<Parcel>()
      for number in 0..<20 {
        expectAccepted(first.tryPut(Parcel(number, census), priority: number * 7 % 5))
        expectAccepted(second.tryPut(Parcel(number, census), due: .after(.seconds(number * 7 % 5))))
      }
      if round % 2 == 0 { _ = try first.tryTake() }
    }
    #expect(census.alive == 0)
  }

  /// A priority that calls a closure when it is released.
  private final class Rank: Comparable, Sendable {
    private let number: Int
    private let whenGone: @Sendable () -> Void

    init(_ number: Int, whenGone: @escaping @Sendable () -> Void) {
      self.number = number
      self.whenGone = whenGone
    }

    deinit { whenGone() }

    static func < (left: Rank, right: Rank) -> Bool { left.number < right.number }
    static func == (left: Rank, right: Rank) -> Bool { left.number == right.number }
  }

  @Test("P19 the deinitializer of a priority may use the queue")
  func priorityGone() throws {
    let queue = PriorityBlockingQueue<Int, Rank>()
    let counts = Record<Int>()
    for number in 0..<3 { try queue.put(number, priority: Rank(number) { counts.add(queue.count) }) }
    #expect(try [queue.tryTake(), queue.tryTake(), queue.tryTake()] == [2, 1, 0])
    #expect(counts.events == [2, 1, 0])
  }

  @Test("An element is available from its due time on, and elements come in the order of their due times")
  func due() throws {
    let clock = StandingClock()
    let queue = DelayQueue<Int>(timers: clock)
    for number in [3, 1, 2, 1] { try queue.put(number, due: clock.now + .seconds(number)) }
    #expect(try queue.tryTake() == nil)
    #expect(queue.count == 4)
    clock.advance(by: .seconds(2))
    #expect(try [queue.tryTake(), queue.tryTake(), queue.tryTake(), queue.tryTake()] == [1, 1, 2, nil])
    clock.advance(by: .seconds(1))
    #expect(try queue.tryTake() == 3)
  }

  @Test("One taker sleeps until the first element is due, the others until they are woken")
  func oneLeader() throws {
    let clock = StandingClock()
    let queue = DelayQueue<Int>(timers: clock)
    try queue.put(1, due: clock.now + .seconds(1))
    try queue.put(2, due: clock.now + .seconds(1))
    try queue.put(3, due: clock.now + .seconds(2))
    let takers = try (0..<3).map { _ in try Blocked { ending { () throws(WaitError) in try queue.take() } } }
    #expect(until { queue.waitingCounts.takers == 3 && clock.pendingCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(until { queue.count == 1 && queue.waitingCounts.takers == 1 && clock.pendingCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(try Set(takers.map { try $0.result() }) == [.value(1), .value(2), .value(3)])
    #expect(clock.pendingCount == 0)
  }

  @Test("A taker that was woken and came too late keeps its place in the line")
  func keepsItsPlace() throws {
    let clock = StandingClock()
    let queue = DelayQueue<Int>(timers: clock)
    let due = clock.now + .seconds(1)
    let early = Record<Int?>()
    // Comes before the leader's own timer, which was set later for the same time.
    _ = clock.schedule(at: due) { early.add(try? queue.tryTake()) }
    try queue.put(1, due: due)
    let limit = clock.now + .seconds(3600)
    let first = try Blocked { ending { () throws(WaitError) in try queue.take(until: limit) } }
    #expect(until { queue.waitingCounts.takers == 1 && clock.pendingCount == 2 })
    let second = try Blocked { ending { () throws(WaitError) in try queue.take() } }
    #expect(until { queue.waitingCounts.takers == 2 })
    clock.advance(by: .seconds(1))
    #expect(early.events == [1])
    // It waits again, with a timer for its limit.
    #expect(until { clock.pendingCount == 1 && queue.waitingCounts.takers == 2 })
    try queue.put(2, due: clock.now)
    #expect(try first.result() == .value(2))
    queue.close()
    #expect(try second.result() == .error(.closed))
  }

  @Test("An element that is due before all others wakes the leader, which then sleeps less")
  func earlier() throws {
    let clock = StandingClock()
    let queue = DelayQueue<Int>(timers: clock)
    try queue.put(9, due: clock.now + .seconds(9))
    let taker = try Blocked { ending { () throws(WaitError) in try queue.take() } }
    #expect(until { clock.pendingCount == 1 })
    let due = clock.now + .seconds(1)
    try queue.put(1, due: due)
    #expect(until { clock.nextDeadline == due })
    clock.advance(by: .seconds(1))
    #expect(try taker.result() == .value(1))
  }

  @Test("P27 a leader that times out or is cancelled passes its role on", arguments: [true, false])
  func leaderGone(byCancel: Bool) throws {
    let clock = StandingClock()
    let queue = DelayQueue<Int>(timers: clock)
    try queue.put(1, due: clock.now + .seconds(10))
    let limit = byCancel ? Deadline.distantFuture : clock.now + .seconds(5)
    let leader = try Blocked { ending { () throws(WaitError) in try queue.take(until: limit) } }
    #expect(until { queue.waitingCounts.takers == 1 && clock.pendingCount == 1 })
    let follower = try Blocked { ending { () throws(WaitError) in try queue.take() } }
    #expect(until { queue.waitingCounts.takers == 2 })
    if byCancel { leader.cancel() } else { clock.advance(by: .seconds(5)) }
    #expect(try leader.result() == .error(byCancel ? .cancelled : .timedOut))
    #expect(until { queue.waitingCounts.takers == 1 && clock.pendingCount == 1 })
    clock.advance(by: .seconds(10))
    #expect(try follower.result() == .value(1))
  }

  @Test("P27 a taker that is woken to lead and times out at once passes the role on too")
  func wokenToLead() throws {
    for round in 0..<200 {
      let queue = DelayQueue<Int>()
      let limit = Deadline.after(.microseconds(100 + round))
      let first = try Blocked { ending { () throws(WaitError) in try queue.take(until: limit) } }
      let second = try Blocked { ending { () throws(WaitError) in try queue.take(until: .after(generous)) } }
      try queue.put(1, due: limit + .microseconds(50))
      if try first.result() == .value(1) { try queue.put(2, due: .distantPast) }
      guard case .value = try second.result() else {
        Issue.record("the second one was forgotten")
        return
      }
    }
  }

  @Test("Tasks wait for due elements, on the injected clock and on the real one")
  func tasks() async throws {
    let clock = StandingClock()
    let queue = DelayQueue<Int>(timers: clock)
    let taker = Task { await ending { () async throws in try await queue.take() } }
    #expect(await untilAsync { queue.waitingCounts.takers == 1 })
    try await queue.put(1, due: clock.now + .seconds(1))
    #expect(await untilAsync { clock.pendingCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(await taker.value == .value(1))
    let real = try DelayQueue<Int>(capacity: 1)
    let due = Deadline.after(.milliseconds(2))
    try await real.put(2, due: due)
    let second = Task { await ending(of: { () async throws in try await real.put(3, due: due) }) }
    #expect(try await real.take() == 2)
    #expect(Deadline.now >= due)
    #expect(await second.value == .done)
    let third = Task { await ending { () async throws in try await queue.take() } }
    #expect(await untilAsync { queue.waitingCounts.takers == 1 })
    third.cancel()
    #expect(await third.value == .cancelledTask)
  }

  @Test("After a close takes wait for elements that are not due yet, and then fail")
  func closedBeforeDue() throws {
    let clock = StandingClock()
    let queue = DelayQueue<Int>(timers: clock)
    try queue.put(1, due: clock.now + .seconds(1))
    let takers = try (0..<2).map { _ in try Blocked { ending { () throws(WaitError) in try queue.take() } } }
    #expect(until { queue.waitingCounts.takers == 2 && clock.pendingCount == 1 })
    queue.close()
    // Both check again, and one of them leads.
    #expect(until { queue.waitingCounts.takers == 2 && clock.pendingCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(try Set(takers.map { try $0.result() }) == [.value(1), .error(.closed)])
    #expect(queue.isClosed)
    #expect(ending(of: { () throws(WaitError) in try queue.put(1, due: .now) }) == .error(.closed))
  }

  @Test("P07 a take from the real clock's queue ends at its deadline, before the element is due")
  func deadline() throws {
    let queue = DelayQueue<Int>()
    try queue.put(1, due: .after(.seconds(3600)))
    let taker = try Blocked { ending { () throws(WaitError) in try queue.take(until: .after(.milliseconds(1))) } }
    #expect(try taker.result() == .error(.timedOut))
    #expect(ending { () throws(WaitError) in try queue.take(until: .distantPast) } == .error(.timedOut))
    #expect(queue.count == 1 && queue.waitingCounts.takers == 0)
  }
}
