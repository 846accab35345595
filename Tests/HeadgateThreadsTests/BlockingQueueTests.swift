import HeadgateThreads
import Testing

@Suite(.timeLimit(.minutes(2))) struct BlockingQueueTests {
  @Test("P01 P04 random calls agree with an array: a take after a put finds its element", arguments: Kind.allCases)
  func model(kind: Kind) throws {
    let queue = try kind.make(Int.self)
    let capacity = kind == .ring ? 100 : kind == .one ? 1 : Int.max
    var model: [Int] = []
    var random = SeededRandom(seed: 1)
    var next = 0
    for round in 0..<20_000 {
      // Long phases of more puts, then of more takes, so that both ends are reached.
      let prefersPut = round / 2000 % 2 == 0
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        let most = Int.random(in: 0..<5, using: &random)
        #expect(queue.drain(max: most) == Array(model.prefix(most)))
        model.removeFirst(min(most, model.count))
      case 1..<(prefersPut ? 7 : 3):
        let accepted = try queue.tryPut(next)
        #expect(accepted == (model.count < capacity))
        if accepted { model.append(next) }
        next += 1
      default:
        #expect(try queue.tryTake() == (model.isEmpty ? nil : model.removeFirst()))
      }
      if queue.count != model.count || queue.isEmpty != model.isEmpty { Issue.record("wrong count in round \(round)") }
    }
    queue.close()
    #expect(throws: WaitError.self) { try queue.tryPut(0) }
    for number in model { #expect(try queue.take() == number) }
    #expect(ending { () throws(WaitError) in try queue.take() } == .error(.closed))
  }

  @Test(
    "P02 nothing is lost or doubled, and each putter's elements come in order", arguments: Kind.allCases, [1, 2, 4])
  func streams(kind: Kind, threads: Int) throws {
    let queue = try kind.make(Int.self)
    let each = kind == .one ? 2000 : 20_000
    let taken = Record<[Int]>()
    try onThreads(2 * threads) { number in
      if number < threads {
        for round in 0..<each {
          if ending(of: { () throws(WaitError) in try queue.put(round * threads + number) }) != .done {
            Issue.record("a put failed")
          }
        }
      } else {
        var mine: [Int] = []
        for _ in 0..<each {
          guard case .value(let value) = ending({ () throws(WaitError) in try queue.take() }) else { break }
          mine.append(value)
        }
        taken.add(mine)
      }
    }
    let all = taken.events.flatMap { $0 }
    #expect(all.count == each * threads)
    #expect(Set(all) == Set(0..<(each * threads)))
    for mine in taken.events {
      for putter in 0..<threads {
        let ofOne = mine.filter { $0 % threads == putter }
        #expect(ofOne == ofOne.sorted(), "out of order")
      }
    }
    #expect(queue.isEmpty)
  }

  @Test("P03 a putter finds an element: four threads put, then take without waiting")
  func ownElement() throws {
    let queue = try BlockingQueue<Int>(capacity: 4)
    let misses = Record<Int>()
    try onThreads(4) { number in
      for round in 0..<5000 {
        let put = ending(of: { () throws(WaitError) in try queue.put(round) })
        let took = ending { () throws(WaitError) in try queue.tryTake() ?? -1 }
        if put != .done || took == .value(-1) { misses.add(number) }
      }
    }
    #expect(misses.events.isEmpty)
    #expect(queue.isEmpty)
  }

  @Test(
    "P07 deadlines 0, past and just reached end at once; those beyond the clock's range don't", arguments: Kind.allCases
  )
  func deadlines(kind: Kind) throws {
    let queue = try kind.make(Int.self)
    for deadline in [Deadline.distantPast, .after(.seconds(-5)), .now] {
      #expect(ending { () throws(WaitError) in try queue.take(until: deadline) } == .error(.timedOut))
    }
    if kind == .one {
      try queue.put(1)
      #expect(ending(of: { () throws(WaitError) in try queue.put(2, until: .distantPast) }) == .error(.timedOut))
      _ = queue.drain()
    }
    for deadline in [Deadline.distantFuture, Deadline(nanoseconds: .max - 1), .after(.seconds(Int64.max))] {
      let taker = try Blocked { ending { () throws(WaitError) in try queue.take(until: deadline) } }
      try queue.put(7)
      #expect(try taker.result() == .value(7))
    }
  }

  @Test(
    "P08 a past deadline still takes an available element and puts where there is room", arguments: Kind.allCases)
  func expired(kind: Kind) throws {
    let queue = try kind.make(Int.self)
    try queue.put(8, until: .distantPast)
    #expect(try queue.take(until: .distantPast) == 8)
  }

  @Test("P09 a wait never ends before its deadline")
  func neverEarly() throws {
    let queue = try BlockingQueue<Int>(capacity: 1)
    try queue.put(0)
    let early = Record<Duration>()
    try onThreads(2) { number in
      for round in 0..<20 {
        let deadline = Deadline.after(.microseconds(round * 100))
        let result =
          number == 0
          ? ending(of: { () throws(WaitError) in try queue.put(1, until: deadline) })
          : ending { () throws(WaitError) in try BlockingQueue<Int>().take(until: deadline) }
        if result != .error(.timedOut) || .now < deadline { early.add(deadline - .now) }
      }
    }
    #expect(early.events.isEmpty)
  }

  @Test("P14 the indices wrap in the middle of a stream", arguments: [UInt(3), 100, .max])
  func wrap(capacity: UInt) throws {
    let queue = BlockingQueue<Int>(name: "wrap", limit: capacity, firstIndex: .max - 250)
    let sum = Locked(0)
    try onThreads(2) { number in
      for value in 0..<1000 {
        if number == 0 {
          if ending(of: { () throws(WaitError) in try queue.put(value) }) != .done { Issue.record("a put failed") }
        } else if case .value(let taken) = ending({ () throws(WaitError) in try queue.take() }) {
          if taken != value { Issue.record("\(taken) instead of \(value)") }
          sum.withLock { $0 += taken }
        }
        if queue.count > min(1000, Int(clamping: capacity)) { Issue.record("count \(queue.count)") }
      }
    }
    #expect(sum.withLock { $0 } == 999 * 500)
    #expect(queue.count == 0)
  }

  @Test(
    "P16 close wakes all waiters: putters get their element back, accepted elements can be taken", arguments: [0, 2])
  func closeWakes(capacity: Int) throws {
    let census = Census()
    let queue = try BlockingQueue<Parcel>(capacity: capacity)
    for number in 0..<capacity { expectAccepted(queue.put(Parcel(number, census))) }
    let putters = try (10..<14).map { number in
      try Blocked { () -> Ending in
        switch queue.put(Parcel(number, census)) {
        case .accepted: .done
        case .refused(let parcel, let error): error.code == .closed ? .value(parcel.number) : .error(error.code)
        }
      }
    }
    let empty = try BlockingQueue<Int>(capacity: capacity == 0 ? 0 : Int.max)
    let takers = try (0..<4).map { _ in try Blocked { ending { () throws(WaitError) in try empty.take() } } }
    #expect(until { queue.waitingCounts.putters == 4 && empty.waitingCounts.takers == 4 })
    queue.close()
    empty.close()
    #expect(try putters.map { try $0.result() } == (10..<14).map { .value($0) })
    #expect(try takers.allSatisfy { try $0.result() == .error(.closed) })
    for number in 0..<capacity { #expect(try queue.take().number == number) }
    #expect(throws: WaitError.self) { _ = try queue.take() }
    #expect(census.alive == 0)
  }

  @Test(
    "P16 close races with puts and takes: each element is taken, or its putter gets an error",
    arguments: [0, 1, 8, Int.max])
  func closeRace(capacity: Int) throws {
    for round in 0..<50 {
      let queue = try BlockingQueue<Int>(capacity: capacity)
      let accepted = Record<Int>()
      let taken = Record<Int>()
      try onThreads(5) { number in
        switch number {
        case 0, 1:
          for value in 0..<1000 {
            guard ending(of: { () throws(WaitError) in try queue.put(value * 2 + number) }) == .done else { return }
            accepted.add(value * 2 + number)
          }
        case 2, 3:
          while case .value(let value) = ending({ () throws(WaitError) in try queue.take() }) { taken.add(value) }
        default:
          for _ in 0..<(round * 20) { _ = queue.count }
          queue.close()
        }
      }
      #expect(taken.events.sorted() == accepted.events.sorted())
    }
  }

  @Test("P16 a close just before a putter goes to sleep is not missed")
  func closeBeforeSleep() throws {
    let queues = try (0..<1000).map { _ in try BlockingQueue<Int>(capacity: 1) }
    for queue in queues { try queue.put(0) }
    let turn = try BlockingQueue<Int>(capacity: 0)
    try onThreads(2) { number in
      for (round, queue) in queues.enumerated() {
        if number == 0 {
          _ = ending(of: { () throws(WaitError) in try turn.put(round) })
          let result = ending(of: { () throws(WaitError) in try queue.put(1, until: .after(generous)) })
          if result != .error(.closed) { Issue.record("round \(round): \(result)") }
        } else {
          _ = ending { () throws(WaitError) in try turn.take() }
          for _ in 0..<(round % 100) { _ = queue.count }
          queue.close()
        }
      }
    }
  }

  @Test("P18 a second close has no effect", arguments: [0, 1, 5])
  func doubleClose(capacity: Int) throws {
    let queue = try BlockingQueue<Int>(capacity: capacity)
    #expect(!queue.isClosed)
    queue.close()
    queue.close()
    #expect(queue.isClosed)
    #expect(ending(of: { () throws(WaitError) in try queue.put(1) }) == .error(.closed))
    #expect(ending { () throws(WaitError) in try queue.take() } == .error(.closed))
    #expect(ending { () throws(WaitError) in try queue.tryTake() ?? -1 } == .error(.closed))
  }

  @Test("P19 a released queue releases its elements, once", arguments: Kind.allCases, [0, 1, 70, 200])
  func leftovers(kind: Kind, count: Int) throws {
    let census = Census()
    do {
      let queue = try kind.make(Parcel.self)
      var accepted = 0
      for number in 0..<(3 * count) {
        if queue.tryPut(Parcel(number, census)).isAccepted { accepted += 1 }
        if number % 3 == 0, try queue.tryTake() != nil { accepted -= 1 }
      }
      #expect(census.alive == accepted)
    }
    #expect(census.alive == 0)
  }

  @Test("P19 an element whose deinit uses the queue finds it unlocked")
  func reentrantEnd() throws {
    final class Echo: Sendable {
      let queue: BlockingQueue<Int>
      init(_ queue: BlockingQueue<Int>) { self.queue = queue }
      deinit {
        if ending(of: { () throws(WaitError) in _ = try queue.tryPut(queue.count) }) != .done { Issue.record("closed") }
      }
    }
    let echoes = BlockingQueue<Int>()
    let queue = try BlockingQueue<Echo>(capacity: 1)
    #expect(try queue.tryPut(Echo(echoes)))
    #expect(try !queue.tryPut(Echo(echoes)))
    #expect(echoes.drain() == [0])
    _ = try queue.tryTake()
    #expect(echoes.drain() == [0])
  }

  @Test("P20 big, empty, aligned and non-copyable elements", arguments: Kind.allCases)
  func sizes(kind: Kind) throws {
    struct Big: BitwiseCopyable, Sendable {
      var words: InlineArray<2048, Int>
      init(_ value: Int) { words = InlineArray(repeating: value) }
    }
    struct Wide: Sendable { var vector: SIMD8<Int64>; var byte: UInt8 }
    let big = try kind.make(Big.self)
    let none = try kind.make(Void.self)
    let wide = try kind.make(Wide.self)
    for number in 0..<300 {
      try big.put(Big(number))
      let back = try big.take()
      #expect(back.words[0] == number && back.words[2047] == number)
      try none.put(())
      #expect(none.count == 1)
      try none.take()
      try wide.put(Wide(vector: SIMD8(repeating: Int64(number)), byte: UInt8(number % 256)))
      #expect(try wide.take().vector == SIMD8(repeating: Int64(number)))
    }
  }

  @Test("Elements need not be Sendable: each is transferred", arguments: [0, 1])
  func handedOver(capacity: Int) throws {
    final class Page {
      var lines: [String] = []
    }
    let queue = try BlockingQueue<Page>(capacity: capacity)
    let lines = try inThread {
      let reader = try ManagedThread.spawn { () throws(WaitError) -> [String] in
        let page = try queue.take()
        page.lines.append("read")
        return page.lines
      }
      let page = Page()
      page.lines.append("written")
      try queue.put(page, until: .after(generous)) as Void
      return try reader.join()
    }
    #expect(lines == ["written", "read"])
  }

  @Test("P28 a negative capacity is an error, a huge one is not")
  func capacities() throws {
    #expect(throws: QueueError.self) { try BlockingQueue<Int>(name: "jobs", capacity: -1) }
    do {
      _ = try BlockingQueue<Int>(name: "jobs", capacity: .min)
    } catch {
      #expect(error.code == .invalidCapacity && error.queue == "jobs" && error.value == .min)
      #expect("\(error)".contains("jobs"))
    }
    let huge = try BlockingQueue<Int>(capacity: .max)
    try huge.put(1)
    #expect(huge.remainingCapacity == .max - 1)
    #expect(try huge.take() == 1)
    #expect(BlockingQueue<Int>().remainingCapacity == .max)
    let small = try BlockingQueue<Int>(capacity: 3)
    try small.put(1)
    #expect(small.remainingCapacity == 2 && small.count == 1)
  }

  @Test("A drain takes all elements in order, frees their places and passes its wake-ups on")
  func drain() throws {
    let queue = try BlockingQueue<Int>(capacity: 4)
    for number in 0..<4 { try queue.put(number) }
    let putters = try (4..<7).map { number in
      try Blocked { ending(of: { () throws(WaitError) in try queue.put(number) }) }
    }
    #expect(until { queue.waitingCounts.putters == 3 })
    #expect(queue.drain(max: 0).isEmpty)
    #expect(queue.drain(max: 3) == [0, 1, 2])
    for putter in putters { #expect(try putter.result() == .done) }
    #expect(Set(queue.drain()) == [3, 4, 5, 6])
    struct Enough: Error {}
    for number in 0..<4 { try queue.put(number) }
    #expect(throws: Enough.self) { _ = try queue.drain { number in if number == 1 { throw Enough() } } }
    #expect(queue.drain() == [2, 3])
  }
}
