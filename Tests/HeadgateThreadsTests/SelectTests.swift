import HeadgateThreads
import Testing

/// `select` over puts and takes, over queues of different kinds, and without waiting.
@Suite(.timeLimit(.minutes(2))) struct SelectTests {
  private enum Event: Hashable, Sendable {
    case number(Int)
    case text(String)
    case sent
    case error(WaitError.Code)
  }

  private static func event(_ body: () throws(WaitError) -> Event) -> Event {
    do throws(WaitError) { return try body() } catch { return .error(error.code) }
  }

  @Test("It performs the possible operation, on queues of different elements", arguments: [0, 1])
  func kinds(capacity: Int) throws {
    let numbers = try BlockingQueue<Int>(capacity: capacity)
    let texts = try BlockingQueue<String>(capacity: capacity)
    let full = try BlockingQueue<Int>(capacity: capacity)
    if capacity == 1 { try full.put(0) }
    let make = { @Sendable in
      Self.event { () throws(WaitError) in
        try select(numbers.onTake { .number($0) }, texts.onTake { .text($0) }, full.onPut(9) { .sent })
      }
    }
    for expected in [Event.number(4), .text("five"), .sent] {
      let selecting = try Blocked(make)
      #expect(
        until {
          numbers.waitingCounts.takers == 1 && texts.waitingCounts.takers == 1 && full.waitingCounts.putters == 1
        })
      switch expected {
      case .number(let number): #expect(try numbers.tryPut(number))
      case .text(let text): #expect(try texts.tryPut(text))
      default: #expect(try full.tryTake() == (capacity == 1 ? 0 : 9))
      }
      #expect(try selecting.result() == expected)
      #expect(numbers.waitingCounts == (0, 0) && texts.waitingCounts == (0, 0) && full.waitingCounts == (0, 0))
    }
    if capacity == 1 { #expect(try full.tryTake() == 9) }
  }

  @Test("A try performs an operation that is possible at once, and else nothing")
  func now() throws {
    let numbers = BlockingQueue<Int>()
    let full = try BlockingQueue<Int>(capacity: 1)
    try full.put(0)
    func attempt() throws -> Event? { try trySelect(numbers.onTake { .number($0) }, full.onPut(9) { .sent }) }
    #expect(try attempt() == nil)
    try numbers.put(5)
    #expect(try attempt() == .number(5))
    _ = try full.take()
    #expect(try attempt() == .sent)
    numbers.close()
    #expect(try attempt() == nil)
    full.close()
    let error = #expect(throws: WaitError.self) { try attempt() }
    #expect(error?.code == .closed)
  }

  @Test("It takes from ordered queues, and wakes when an element is due by their clock", arguments: [true, false])
  func ordered(isTask: Bool) async throws {
    let clock = StandingClock()
    let urgent = PriorityBlockingQueue<String, Int>()
    let later = DelayQueue<Int>(timers: clock)
    let make = { @Sendable () async throws -> Event in
      if isTask { return try await select(urgent.onTake { .text($0) }, later.onTake { .number($0) }) }
      return try await onThread { try select(urgent.onTake { .text($0) }, later.onTake { .number($0) }) }
    }
    try await later.put(3, due: clock.now + .seconds(5))
    async let first = make()
    #expect(await untilAsync { urgent.waitingCounts.takers == 1 && clock.pendingCount == 1 })
    clock.advance(by: .seconds(5))
    #expect(try await first == .number(3))
    async let second = make()
    #expect(await untilAsync { urgent.waitingCounts.takers == 1 && later.waitingCounts.takers == 1 })
    try await urgent.put("now", priority: 1)
    #expect(try await second == .text("now"))
    #expect(urgent.waitingCounts == (0, 0) && later.waitingCounts == (0, 0) && clock.pendingCount == 0)
  }

  @Test(
    "A select that led at a queue of due elements and takes another passes the role on before its case's body runs",
    arguments: [0, 1, Int.max])
  func leadershipBeforeTheBody(capacity: Int) throws {
    let clock = StandingClock()
    let other = try BlockingQueue<Int>(capacity: capacity)
    let later = DelayQueue<Int>(timers: clock)
    try later.put(1, due: clock.now + .seconds(1))
    let (inside, release) = (Latch(), Latch())
    let selecting = try Blocked {
      ending { () throws(WaitError) in
        try select(
          other.onTake {
            inside.countDown()
            return release.wait() ? $0 : -1
          }, later.onTake { $0 })
      }
    }
    // In both lines, of which either may be the first: without places, the put below needs a taker.
    #expect(
      until { other.waitingCounts.takers == 1 && later.waitingCounts.takers == 1 && clock.pendingCount == 1 })
    let follower = try Blocked { ending { () throws(WaitError) in try later.take() } }
    #expect(until { later.waitingCounts.takers == 2 })
    try other.put(7)
    try #require(inside.wait())
    #expect(until { later.waitingCounts.takers == 1 && clock.pendingCount == 1 })
    clock.advance(by: .seconds(1))
    #expect(try follower.result() == .value(1))
    release.countDown()
    #expect(try selecting.result() == .value(7))
  }

  @Test("Puts into ordered queues wait for their places")
  func orderedPuts() throws {
    let urgent = try PriorityBlockingQueue<Int, Int>(capacity: 1)
    let later = try DelayQueue<Int>(capacity: 1)
    try urgent.put(1, priority: 0)
    try later.put(1, due: .distantPast)
    let selecting = try Blocked {
      Self.event { () throws(WaitError) in
        try select(
          urgent.onPut(2, priority: 5) { .text("urgent") }, later.onPut(2, due: .distantPast) { .text("later") })
      }
    }
    #expect(until { later.waitingCounts.putters == 1 && urgent.waitingCounts.putters == 1 })
    #expect(try later.tryTake() == 1)
    #expect(try selecting.result() == .text("later"))
    #expect(try later.tryTake() == 2)
    #expect(urgent.count == 1 && urgent.waitingCounts == (0, 0))
  }

  @Test("A select that was woken and overtaken keeps its place in that line")
  func overtaken() async throws {
    let (queue, other) = (BlockingQueue<Int>(), BlockingQueue<Int>())
    let held = HeldExecutor()
    let selecting = Task(executorPreference: held) {
      await ending { try await select(other.onTake { -$0 }, queue.onTake { $0 }) }
    }
    #expect(await untilAsync { (try? held.runAll()) != nil && queue.waitingCounts.takers == 1 })
    let taker = try Blocked { ending { () throws(WaitError) in try queue.take() } }
    #expect(await untilAsync { queue.waitingCounts.takers == 2 })
    // The wake-up goes to the select, which does not run yet.
    try await queue.put(1)
    #expect(try queue.tryTake() == 1)
    try held.runAll()
    #expect(queue.waitingCounts.takers == 2)
    try await queue.put(2)
    try held.runAll()
    #expect(await selecting.value == .value(2))
    try await queue.put(3)
    #expect(try taker.result() == .value(3))
  }

  @Test("Without places a select meets another select, and never itself")
  func meetings() throws {
    let queue = try BlockingQueue<Int>(capacity: 0)
    #expect(try trySelect(queue.onTake { $0 }, queue.onPut(1) { -1 }) == nil)
    let lonely = try Blocked {
      ending { () throws(WaitError) in
        try select(queue.onTake { $0 }, queue.onPut(1) { -1 }, until: .after(.milliseconds(1)))
      }
    }
    #expect(try lonely.result() == .error(.timedOut))
    let both = try (1...2).map { number in
      try Blocked {
        ending { () throws(WaitError) in try select(queue.onTake { $0 }, queue.onPut(number) { -number }) }
      }
    }
    let ends = try both.map { try $0.result() }
    #expect(ends == [.value(2), .value(-2)] || ends == [.value(-1), .value(1)])
    #expect(queue.waitingCounts == (0, 0))
  }

  @Test("An element of a case that is not chosen, or whose select fails, is not put", arguments: [0, 1])
  func notChosen(capacity: Int) throws {
    let census = Census()
    let full = try BlockingQueue<Census.Token>(capacity: capacity)
    if capacity == 1 { try full.put(census.token()) }
    let end = try Blocked {
      let token = census.token()
      return ending { () throws(WaitError) in try select(full.onPut(token) { 0 }, until: .after(.milliseconds(1))) }
    }
    #expect(try end.result() == .error(.timedOut))
    #expect(full.count == capacity)
    _ = full.drain()
    #expect(until { census.alive == 0 })
  }

  @Test("P11 a wake-up of a select that does something else goes to the next in that line")
  func passedOn() throws {
    // A select is woken by the second queue, and before it runs the first one has an element too.
    var choices: Set<Int> = []
    for round in 0..<64 where choices.count < 2 {
      let executor = HeldExecutor()
      let queues = [BlockingQueue<Int>(), BlockingQueue<Int>()]
      let selecting = Task(executorPreference: executor) {
        await ending { () async throws in try await BlockingQueue.select(from: queues).element }
      }
      let taking = Task(executorPreference: executor) {
        await ending { () async throws in try await queues[1].take() }
      }
      try executor.runAll()
      #expect(queues[1].waitingCounts.takers == 2)
      try queues[1].put(1)
      try queues[0].put(0)
      try executor.runAll()
      let rest = queues.map { $0.count }
      choices.insert(rest[0])
      if rest[0] == 1 { try queues[1].put(2) }
      try executor.runAll()
      #expect(queues[1].isEmpty, "the taker was forgotten in round \(round)")
      queues[1].close()
      queues[0].close()
      try executor.runAll()
      _ = (selecting, taking)
    }
    #expect(choices.count == 2)
  }

  @Test("P02 selects that put and selects that take lose and double nothing", arguments: [0, 1, 3])
  func stress(capacity: Int) throws {
    let queues = try (0..<2).map { _ in try BlockingQueue<Int>(capacity: capacity) }
    let taken = Record<Int>()
    try onThreads(4) { number in
      for round in 0..<1000 {
        let value = round * 2 + number
        let end = ending { () throws(WaitError) in
          number < 2
            ? try select(queues[0].onPut(value) { 0 }, queues[1].onPut(value) { 0 }, until: .after(generous))
            : try select(queues[0].onTake { $0 }, queues[1].onTake { $0 }, until: .after(generous))
        }
        guard case .value(let value) = end else {
          Issue.record("\(end)")
          return
        }
        if number >= 2 { taken.add(value) }
      }
    }
    #expect(taken.events.sorted() == Array(0..<2000))
    #expect(queues.allSatisfy { $0.waitingCounts == (0, 0) })
  }
}
