import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Transforms of many elements, several at the same time.
@Suite struct MapConcurrentlyTests {
  // MARK: The rules

  @Test("Random events: never more in progress than the limit, every result delivered once, in order")
  func window() {
    for seed in 0..<2000 {
      var random = SeededRandom(seed: UInt64(seed))
      let (limit, count) = (Int.random(in: 1...4, using: &random), Int.random(in: 0...8, using: &random))
      let isOrdered = Bool.random(using: &random)
      let failing = Int.random(in: 0...12, using: &random)
      var window = MapWindow<Int>(limit: limit, isOrdered: isOrdered)
      var (running, endedInTime, given): ([Int], [Int], [Int]) = ([], [], [])
      var failed: Int?
      let comment: Comment = "seed \(seed): \(count) elements, limit \(limit), \(isOrdered), \(failing) fails"
      var isOver = false
      while !isOver {
        switch Int.random(in: 0..<3, using: &random) {
        case 0 where window.mayPull:
          if window.pulled == count { window.endSource(nil) } else { running.append(window.pull()) }
        case 1 where !running.isEmpty:
          let index = running.remove(at: Int.random(in: 0..<running.count, using: &random))
          endedInTime.append(index)
          #expect(window.end(index, index == failing ? .failure(Oops(number: index)) : .success(index)) == nil)
        default:
          switch window.take() {
          case .output(let output, let index):
            #expect(output == index, comment)
            given.append(index)
          case .failure(let failure, let index):
            #expect((failure as? Oops)?.number == failing && index == failing, comment)
            failed = index
            isOver = true
          case .end, .sourceFailed: isOver = true
          case .wait: break
          }
        }
        #expect(window.pulled - window.taken <= limit && window.running == running.count, comment)
      }
      let expected = isOrdered ? Array(0..<count) : endedInTime
      #expect(given == Array((failed == nil ? expected : expected.prefix { $0 != failing })), comment)
      #expect((failed != nil) == (failing < count), comment)
      if case .end = window.take() {} else { Issue.record("after its end there is nothing: \(comment)") }
      #expect(!window.mayPull)
    }
  }

  @Test("Delivered results occupy no place, though there is always something left to take", arguments: [true, false])
  func places(_ isOrdered: Bool) {
    var window = MapWindow<Int>(limit: 8, isOrdered: isOrdered)
    for _ in 0..<8 { _ = window.pull() }
    for index in 0..<4 { _ = window.end(index, .success(index)) }
    for index in 4..<10_000 {
      _ = window.end(index, .success(index))
      _ = window.take()
      _ = window.pull()
      if window.places > 100 { break }
    }
    #expect(window.places <= 100 && window.taken > 9000)
  }

  // MARK: Arrays

  @Test("The results are in the order of the elements, whichever ends first", arguments: [true, false])
  func ordered(_ isAsync: Bool) async throws {
    let hand = Hand<Int>()
    let running = Task {
      let transform: @Sendable (Int) async throws -> Int = { number in
        try await hand.async(number)()
      }
      return isAsync
        ? try await AsyncSequenceAdapter(base: 0..<3).mapConcurrently(limit: 3, transform)
        : try await (0..<3).mapConcurrently(limit: 3, transform)
    }
    await hand.started.wait(for: 3)
    for number in [2, 0, 1] {
      hand.end(number, .success(number * 10))
    }
    #expect(try await running.value == [0, 10, 20])
  }

  @Test("P94 no elements; one; a hundred thousand; an invalid limit")
  func counts() async throws {
    let transform: @Sendable (Int) async throws -> Int = { number in number + 1 }
    for count in [0, 1, 100_000] {
      let elements = AsyncSequenceAdapter(base: 0..<count)
      #expect(try await elements.mapConcurrently(limit: 8, transform) == Array(1..<count + 1))
      var sum = 0
      for try await number in (0..<count).mapConcurrently(limit: 8, yielding: .asCompleted, transform) { sum += number }
      #expect(sum == count * (count + 1) / 2)
      var inOrder: [Int] = []
      for try await number in elements.mapConcurrently(limit: 8, yielding: .inOrder, transform) {
        inOrder.append(number)
      }
      #expect(inOrder == Array(1..<count + 1))
    }
    await #expect(throws: FlowError.self) {
      try await AsyncSequenceAdapter(base: 0..<3).mapConcurrently(limit: 0, transform)
    }
    var iterator = (0..<3).mapConcurrently(limit: 0, yielding: .inOrder, transform).makeAsyncIterator()
    let error = await #expect(throws: FlowError.self) { try await iterator.next() }
    #expect(error?.code == .invalidArgument)
    #expect(try await iterator.next() == nil)
  }

  /// A source that reports how far it was read, and can fail or wait.
  private struct Source: AsyncSequence, Sendable {
    let count: Int
    let read = Record<Int>()
    var fails = false
    var hand: Hand<Int>?

    struct Iterator: AsyncIteratorProtocol {
      let source: Source
      var next = 0

      mutating func next() async throws -> Int? {
        if let hand = source.hand, next == 1 { _ = try await hand.async(99)() }
        guard next < source.count else {
          if source.fails { throw Oops(number: 77) }
          return nil
        }
        defer { next += 1 }
        source.read.add(next)
        return next
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(source: self) }
  }

  @Test("The first failure cancels the rest, the wait for the source too, and all have ended when it is thrown")
  func failFast() async {
    let (hand, waiting) = (Hand<Int>(), Hand<Int>())
    let source = Source(count: 5, hand: waiting)
    let running = Task {
      try await source.mapConcurrently(limit: 3) { number in try await hand.async(number)() }
    }
    await hand.started.wait(for: 1)
    await waiting.started.wait(for: 1)
    hand.end(0, .failure(Oops(number: 1)))
    let error = flowError(await running.result)
    #expect(error?.code == .failed && error?.oops == Oops(number: 1) && error?.inputs == [0])
    #expect(waiting.cancelled.events == [99])
    #expect(waiting.ended.events == [99])
  }

  @Test("A source that fails: its error, after the results before it")
  func sourceFails() async throws {
    let transform: @Sendable (Int) async throws -> Int = { number in number }
    let error = await #expect(throws: FlowError.self) {
      try await Source(count: 2, fails: true).mapConcurrently(limit: 2, transform)
    }
    #expect(error?.code == .sourceFailed)
    #expect(error?.underlyingError as? Oops == Oops(number: 77))
    var given: [Int] = []
    var iterator = Source(count: 2, fails: true).mapConcurrently(limit: 1, yielding: .inOrder, transform)
      .makeAsyncIterator()
    let later = await #expect(throws: FlowError.self) {
      while let number = try await iterator.next() { given.append(number) }
    }
    #expect(later?.code == .sourceFailed && given == [0, 1])
    #expect(try await iterator.next() == nil)
  }

  @Test("A source that fails cancels the transforms in progress")
  func sourceFailsEarly() async throws {
    let (hand, failing) = (Hand<Int>(), Hand<Int>())
    let source = Source(count: 1, fails: true, hand: failing)
    let running = Task {
      try await source.mapConcurrently(limit: 2) { number in try await hand.async(number)() }
    }
    // The source fails only now: a transform that is cancelled before it begins is never called.
    await hand.started.wait(for: 1)
    failing.end(99, .success(0))
    // It ends only when it is cancelled.
    await hand.cancelled.wait(for: 1)
    let error = await #expect(throws: FlowError.self) { try await running.value }
    #expect(error?.code == .sourceFailed && hand.ended.events == [0])
  }

  @Test("A consumer that was cancelled and keeps its iterator leaves nothing running")
  func keptIterator() async throws {
    let hand = Hand<Int>()
    let consumer = Task {
      var iterator = Source(count: 5).mapConcurrently(limit: 2, yielding: .inOrder) { number in
        try await hand.async(number)()
      }.makeAsyncIterator()
      _ = try? await iterator.next()
      // The clean-up of a program that waits for what the transforms use.
      await hand.cancelled.wait(for: 2)
      return try await iterator.next()
    }
    await hand.started.wait(for: 2)
    consumer.cancel()
    #expect(try await consumer.value == nil)
  }

  @Test("P93 cancelled: children and source are cancelled and have ended when it throws")
  func cancelled() async {
    let hand = Hand<Int>()
    let source = Source(count: 5)
    let running = Task {
      try await source.mapConcurrently(limit: 2) { number in try await hand.async(number)() }
    }
    await hand.started.wait(for: 2)
    running.cancel()
    #expect(code(of: await running.result) == .cancelled)
    #expect(hand.ended.events.sorted() == [0, 1])
    #expect(source.read.events == [0, 1])
  }

  @Test("forEachConcurrently processes each element, and stops at the first failure")
  func forEach() async throws {
    let done = Record<Int>()
    try await (0..<5).forEachConcurrently(limit: 2) { number in done.add(number) }
    try await AsyncSequenceAdapter(base: 5..<10).forEachConcurrently(limit: 2) { number in done.add(number)
    }
    #expect(done.events.sorted() == Array(0..<10))
    let error = await #expect(throws: FlowError.self) {
      try await (0..<5).forEachConcurrently(limit: 1) { number in
        if number == 2 { throw Oops(number: number) }
        done.add(number + 100)
      }
    }
    #expect(error?.oops == Oops(number: 2))
    #expect(done.events.suffix(2) == [100, 101])
  }

  @Test("An endless sequence is read only as far as elements start, and the first failure ends it")
  func endless() async throws {
    let numbers = sequence(first: 0) { $0 + 1 }
    let started = Record<Int>()
    let error = await #expect(throws: FlowError.self) {
      try await numbers.forEachConcurrently(limit: 3) { number in
        started.add(number)
        if number == 1_000 { throw Oops(number: number) }
      }
    }
    #expect(error?.oops == Oops(number: 1_000) && error?.inputs == [1_000])
    let endless = Task {
      try await numbers.forEachConcurrently(limit: 3) { number in
        if number == 1_000 { withUnsafeCurrentTask { $0?.cancel() } }
      }
    }
    endless.cancel()
    await #expect(throws: CancellationError.self) { try await endless.value }
  }

  @Test("A consumer that is cancelled between two results ends at the next one, though results are ready")
  func cancelledBetweenResults() async {
    let numbers = AsyncSequenceAdapter(base: 0..<Int.max)
    let taken = Record<Int>()
    let consumer = Task {
      for try await number in numbers.mapConcurrently(limit: 2, yielding: .inOrder, { $0 }) {
        taken.add(number)
        if number == 2 { withUnsafeCurrentTask { $0?.cancel() } }
      }
    }
    await #expect(throws: CancellationError.self) { try await consumer.value }
    #expect(taken.events == [0, 1, 2])
  }

  @Test("From a thread: results in order of completion, and a failure ends it, over a callback function")
  func fromAThread() async throws {
    let seen = Record<Int>()
    let result = try await onThread {
      Result {
        try waitForTask(until: generous) {
          let doubled = (1...5).mapConcurrently(limit: 2, yielding: .inOrder) { number in
            try await awaitCallback { number < 4 ? $0.succeed(number * 2) : $0.fail(Oops(number: number)) }
          }
          for try await number in doubled { seen.add(number) }
        }
      }
    }
    #expect(seen.events == [2, 4, 6])
    #expect(flowError(result)?.oops == Oops(number: 4) && flowError(result)?.inputs == [3])
  }

  // MARK: Streams

  @Test("Back-pressure: the source is read only as far as results are taken, and not before the first is requested")
  func backPressure() async throws {
    let source = Source(count: 100)
    let stream = source.mapConcurrently(limit: 3, yielding: .inOrder) { number in number }
    var iterator = stream.makeAsyncIterator()
    #expect(source.read.events.isEmpty)
    #expect(try await iterator.next() == 0)
    await source.read.wait(for: 4)
    #expect(try await iterator.next() == 1)
    await source.read.wait(for: 5)
    #expect(source.read.events == [0, 1, 2, 3, 4], "what was taken, and three more")
    _ = consume iterator
  }

  @Test("As completed: results in order of completion; in order: a slow one delays the others")
  func orders() async throws {
    for order in [ResultOrder.asCompleted, .inOrder] {
      let hand = Hand<Int>()
      let given = Record<Int>()
      let running = Task {
        for try await number in (0..<3).mapConcurrently(
          limit: 3, yielding: order, { number in try await hand.async(number)() })
        {
          given.add(number)
        }
      }
      await hand.started.wait(for: 3)
      hand.end(2, .success(2))
      if order == .asCompleted { await given.wait(for: 1) }
      hand.end(1, .success(1))
      if order == .asCompleted { await given.wait(for: 2) } else { #expect(given.events.isEmpty) }
      hand.end(0, .success(0))
      try await running.value
      #expect(given.events == (order == .asCompleted ? [2, 1, 0] : [0, 1, 2]))
    }
  }

  @Test("P92 the iterator is released: all is cancelled, results that are not taken are discarded")
  func letGo() async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let stream = (0..<10).mapConcurrently(limit: 3, yielding: .asCompleted, discard: { discarded.add($0) }) {
      number async throws in try await hand.async(number, heeds: number != 2)()
    }
    do {
      var iterator = stream.makeAsyncIterator()
      async let first = iterator.next()
      await hand.started.wait(for: 3)
      hand.end(0, .success(0))
      #expect(try await first == 0)
    }
    await hand.cancelled.wait(for: 2)
    #expect(Losers.abandonedCount >= 1)
    hand.end(2, .success(20))
    await discarded.wait(for: 1)
    #expect(discarded.events == [20])
    await hand.ended.wait(for: 3)
  }

  @Test("P93 a cancelled consumer is told so, and nothing is pulled any more")
  func takerCancelled() async {
    let hand = Hand<Int>()
    let running = Task {
      for try await _ in (0..<10).mapConcurrently(
        limit: 2, yielding: .inOrder, { number in try await hand.async(number)() })
      {}
    }
    await hand.started.wait(for: 2)
    running.cancel()
    #expect(code(of: await running.result) == .cancelled)
    await hand.ended.wait(for: 2)
    #expect(hand.started.events.sorted() == [0, 1])
  }

  @Test("P93 P92 a stream is cancelled at every step: all have ended or are counted, and every result is destroyed")
  func cancelledAtEveryStep() async {
    for seed in 0..<60 {
      var random = SeededRandom(seed: UInt64(seed))
      let order: ResultOrder = Bool.random(using: &random) ? .inOrder : .asCompleted
      let (limit, step) = (Int.random(in: 1...3, using: &random), Int.random(in: 0...4, using: &random))
      let heeds = Bool.random(using: &random)
      let (hand, census, given, discarded) = (Hand<Census.Token>(), Census(), Record<Int>(), Record<Int>())
      let running = Task {
        let stream = AsyncSequenceAdapter(base: 0..<9).mapConcurrently(
          limit: limit, yielding: order, discard: { discarded.add($0.number) }
        ) { number in try await hand.async(number, heeds: heeds)() }
        for try await token in stream { given.add(token.number) }
      }
      await hand.started.wait(for: limit)
      for number in 0..<step {
        hand.end(number, .success(census.token(number)))
        await given.wait(for: number + 1)
        await hand.started.wait(for: limit + number + 1)
      }
      running.cancel()
      #expect(code(of: await running.result) == .cancelled, "seed \(seed)")
      await hand.cancelled.wait(for: limit)
      for number in step..<step + limit { hand.end(number, .success(census.token(number))) }
      await hand.ended.wait(for: step + limit)
      await discarded.wait(for: heeds ? 0 : limit)
      #expect(hand.started.events.count == step + limit && given.events == Array(0..<step), "seed \(seed)")
      await census.gone.wait(for: heeds ? step : step + limit)
      #expect(heeds || census.alive == 0, "seed \(seed)")
    }
  }

  @Test("P93 P92 gathered from an asynchronous sequence, cancelled at every step: all have ended, every result is gone")
  func gatheringCancelled() async {
    for step in 0..<4 {
      let (hand, census, discarded) = (Hand<Census.Token>(), Census(), Record<Int>())
      let running = Task {
        try await AsyncSequenceAdapter(base: 0..<9).mapConcurrently(limit: 2, discard: { discarded.add($0.number) }) {
          number async throws in try await hand.async(number, heeds: false)()
        }
        .count
      }
      for number in 0..<step {
        await hand.started.wait(for: number + 1)
        hand.end(number, .success(census.token(number)))
      }
      await hand.started.wait(for: step + 2)
      running.cancel()
      await hand.cancelled.wait(for: 2)
      for number in [step, step + 1] { hand.end(number, .success(census.token(number))) }
      #expect(code(of: await running.result) == .cancelled)
      #expect(hand.ended.events.count == step + 2, "joined, whatever they ignore")
      await census.gone.wait(for: step + 2)
      #expect(census.alive == 0 && discarded.events.sorted() == Array(0..<step + 2))
    }
  }
}
