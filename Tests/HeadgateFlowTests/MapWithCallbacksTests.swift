import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Concurrent maps by callback functions, whose results the calling thread takes one by one.
@Suite struct MapWithCallbacksTests {
  static let orders: [ResultOrder] = [.inOrder, .asCompleted]

  private static func map(
    _ elements: some Sequence<Int> & Sendable, limit: Int = 3, _ order: ResultOrder = .asCompleted,
    losers: Losers = .join, until deadline: Deadline = generous, discard: (@Sendable (Int) -> Void)? = nil,
    _ hand: Hand<Int>, taking take: @escaping @Sendable (Int) -> Void
  ) throws -> ManagedThread<Result<Void, any Error>, Never> {
    try startThread {
      try elements.mapConcurrently(limit: limit, yielding: order, losers: losers, until: deadline, discard: discard) {
        number, completion in
        hand.function(number)(completion)
      } taking: {
        take($0)
      }
    }
  }

  /// Counts on for ever, and tells how far it was read.
  private struct Endless: Sequence, IteratorProtocol, Sendable {
    let read = Record<Int>()
    private var number = 0

    mutating func next() -> Int? {
      defer { number += 1 }
      read.add(number)
      return number
    }
  }

  @Test("P94 P98 no elements, one, a hundred thousand that answer inside the call: each result once", arguments: orders)
  func counts(_ order: ResultOrder) async throws {
    for count in [0, 1, 100_000] {
      let thread = try ManagedThread.spawn(ThreadAttributes(name: "small", stackSize: 256 << 10)) {
        () throws(FlowError<Oops>) in
        var taken: [Int] = []
        try (0..<count).mapConcurrently(limit: 8, yielding: order, until: generous) {
          (number: Int, completion: Completion<Int, Oops>) in
          completion.succeed(number)
        } taking: {
          taken.append($0)
        }
        return taken
      }
      #expect(try await thread.value() == Array(0..<count))
    }
  }

  @Test(
    "As completed: whoever answers first is taken first; in order: a slow one holds back the others", arguments: orders)
  func order(_ order: ResultOrder) async throws {
    let (hand, taken) = (Hand<Int>(), Record<Int>())
    let thread = try Self.map(0..<3, order, hand) { taken.add($0) }
    await hand.started.wait(for: 3)
    hand.succeed(2, 2)
    if order == .asCompleted { await taken.wait(for: 1) }
    hand.succeed(1, 1)
    if order == .asCompleted { await taken.wait(for: 2) } else { #expect(taken.events.isEmpty) }
    hand.succeed(0, 0)
    _ = try await thread.value().get()
    #expect(taken.events == (order == .inOrder ? [0, 1, 2] : [2, 1, 0]))
  }

  @Test("Back-pressure: an endless source is read only as far as results are taken", arguments: orders)
  func backPressure(_ order: ResultOrder) async throws {
    let (hand, elements) = (Hand<Int>(), Endless())
    let (inside, go) = (Gate(), Gate())
    let thread = try startThread {
      try elements.mapConcurrently(limit: 3, yielding: order, until: generous) { number, completion in
        hand.function(number)(completion)
      } taking: { (output: Int) in
        inside.open()
        guard go.wait(until: generous), output == 0 else { throw Oops(number: output) }
      }
    }
    await hand.started.wait(for: 3)
    hand.succeed(0, 0)
    await inside.wait()
    #expect(elements.read.events == [0, 1, 2], "none more while the first is being taken")
    go.open()
    await hand.started.wait(for: 4)
    hand.succeed(1, 1)
    await hand.cancelled.wait(for: 2)
    for number in [2, 3] { hand.drop(number) }
    let error = flowError(try await thread.value())
    #expect(error?.code == .failed && error?.underlying as? Oops == Oops(number: 1), "what the taker throws ends it")
    #expect(elements.read.events == [0, 1, 2, 3])
  }

  @Test("A failure ends it: the rest is told, joined or abandoned; results that nobody takes are discarded")
  func failure() async throws {
    for losers in [Losers.join, .abandon] {
      let (hand, taken, discarded) = (Hand<Int>(), Record<Int>(), Record<Int>())
      let thread = try Self.map(0..<9, losers: losers, discard: { discarded.add($0) }, hand) { taken.add($0) }
      await hand.started.wait(for: 3)
      hand.succeed(1, 10)
      await hand.started.wait(for: 4)
      hand.fail(2, Oops(number: 5))
      await hand.cancelled.wait(for: 2)
      if losers == .join {
        #expect(thread.isRunning)
        hand.succeed(0, 0)
        hand.fail(3)
      }
      let error = flowError(try await thread.value())
      #expect(error?.code == .failed && error?.failure == Oops(number: 5) && error?.inputs == [2])
      hand.succeed(0, 0)
      hand.drop(3)
      #expect(taken.events == [10] && discarded.events == [0])
      #expect(hand.started.events == [0, 1, 2, 3])
    }
  }

  @Test("P93 P95 the thread is cancelled at every step: before it begins, after each result; hooks throw")
  func cancelled() async throws {
    for step in 0..<4 {
      for losers in [Losers.join, .abandon] {
        let (hand, taken) = (Hand<Int>(), Record<Int>())
        let thread = try startThread {
          try (0..<9).mapConcurrently(limit: 2, yielding: .inOrder, losers: losers, until: generous) {
            number, completion in
            hand.function(number, hookThrows: true)(completion)
          } taking: {
            taken.add($0)
          }
        }
        for number in 0..<step {
          await hand.started.wait(for: number + 1)
          hand.succeed(number, number)
          await taken.wait(for: number + 1)
        }
        await hand.started.wait(for: step + 2)
        thread.cancel()
        await hand.cancelled.wait(for: 2)
        for number in [step, step + 1] { hand.fail(number) }
        #expect(code(of: try await thread.value()) == .cancelled)
        #expect(taken.events == Array(0..<step) && hand.started.events.count == step + 2)
      }
    }
    let hand = Hand<Int>()
    let thread = try startThread {
      ManagedThread.current.cancel()
      try (0..<9).mapConcurrently(limit: 2, yielding: .inOrder, until: generous) { number, completion in
        hand.function(number)(completion)
      } taking: { _ in
      }
    }
    #expect(code(of: try await thread.value()) == .cancelled)
    #expect(hand.started.events.isEmpty)
  }

  @Test("The deadline: what runs is told and abandoned, though it was to be joined; one that has passed reads nothing")
  func deadline() async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let thread = try Self.map(0..<9, until: .after(.milliseconds(1)), discard: { discarded.add($0) }, hand) { _ in }
    #expect(code(of: try await thread.value()) == .timedOut)
    #expect(hand.cancelled.events.sorted() == hand.started.events)
    for number in hand.started.events { hand.succeed(number, number) }
    #expect(discarded.events == hand.started.events)
    let unread = Endless()
    let late = try startThread {
      try unread.mapConcurrently(limit: 2, yielding: .inOrder, until: .distantPast) {
        (_, completion: Completion<Int, Oops>) in
        completion.succeed(1)
      } taking: { _ in
      }
    }
    #expect(code(of: try await late.value()) == .timedOut)
    #expect(unread.read.events.isEmpty)
  }

  @Test("P97 refused where it would hang, in a task on a cooperative thread; one that lets go; a bad limit")
  func refusals() async throws {
    let loop = try ThreadLoop(name: "waiting")
    let hand = Hand<Int>()
    let told = try await loop.performAndWait {
      flowCode {
        try (0..<2).mapConcurrently(limit: 2, yielding: .inOrder, until: generous) { number, completion in
          hand.function(number)(number == 1 ? completion.deliver(on: .loop(loop)) : completion)
        } taking: { _ in
        }
      }
    }
    #expect(told == .wouldDeadlock && hand.cancelled.events.contains(0))
    hand.drop(0)
    hand.drop(1)
    loop.stop()
    let transform: @Sendable (Int, Completion<Int, Oops>) -> Void = { _, _ in }
    let cooperative = Self.blocked {
      try (0..<2).mapConcurrently(limit: 2, yielding: .inOrder, until: generous, transform) { _ in }
    }
    #expect(cooperative == .onCooperativeThread)
    let silent = try await codeOnThread {
      try (0..<2).mapConcurrently(limit: 2, yielding: .inOrder, until: generous, transform) { _ in }
    }
    #expect(silent == .unanswered)
    let bad = try await codeOnThread {
      try (0..<2).mapConcurrently(limit: 0, yielding: .inOrder, until: generous, transform) { _ in }
    }
    #expect(bad == .invalidArgument)
  }

  private static func blocked(_ body: () throws -> Void) -> FlowErrorCode? { flowCode(body) }

  @Test("P92 results that must be destroyed: none outlives its use", arguments: orders)
  func destroyed(_ order: ResultOrder) async throws {
    let (hand, census) = (Hand<Census.Token>(), Census())
    let thread = try startThread {
      try (0..<5).mapConcurrently(limit: 3, yielding: order, losers: .abandon, until: generous) { number, completion in
        hand.function(number)(completion)
      } taking: { (_: Census.Token) in
      }
    }
    await hand.started.wait(for: 3)
    for number in [0, 1] { hand.succeed(number, census.token(number)) }
    await hand.started.wait(for: 5)
    hand.succeed(3, census.token(3))
    hand.fail(2)
    #expect(flowError(try await thread.value())?.inputs == [2])
    hand.succeed(4, census.token(4))
    #expect(census.alive == 0)
  }

  @Test("Many threads answer at once: each result is taken once", arguments: orders)
  func threads(_ order: ResultOrder) async throws {
    let pool = try ThreadPool(name: "answers", size: 4)
    let taken = try await onThread {
      var taken: [Int] = []
      try (0..<2000).mapConcurrently(limit: 7, yielding: order, until: generous) {
        (number, completion: Completion<Int, Oops>) in
        _ = try? pool.execute { completion.succeed(number) }
      } taking: {
        taken.append($0)
      }
      return taken
    }
    #expect(order == .inOrder ? taken == Array(0..<2000) : taken.sorted() == Array(0..<2000))
    pool.dispose()
  }

  @Test("forEachConcurrently by callbacks: something is done with each element, and no more after the first failure")
  func forEach() async throws {
    let done = Record<Int>()
    let code = try await codeOnThread {
      try (0..<5).forEachConcurrently(limit: 2, until: generous) { (number, completion: Completion<Void, Oops>) in
        done.add(number)
        completion.succeed()
      }
      try (0..<5).forEachConcurrently(limit: 1, until: generous) { (number, completion: Completion<Void, Oops>) in
        if number == 2 { completion.fail(Oops()) } else { done.add(number + 100); completion.succeed() }
      }
    }
    #expect(code == .failed && done.events == [0, 1, 2, 3, 4, 100, 101])
  }
}
