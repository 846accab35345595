import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// The combinators over callback functions, from plain threads.
@Suite struct CallbackContestTests {
  typealias Form = AsyncForm<Int>
  static let forms = Form.all { $0 >= 0 }
  static let losers: [Losers] = [.join, .abandon]

  private static func number(_ number: Int) -> AsyncFunction<Int> {
    { try await awaitCallback { $0.succeed(number) } }
  }
  private static func failing(_ number: Int) -> AsyncFunction<Int> {
    { try await awaitCallback { $0.fail(Oops(number: number)) } }
  }

  /// From a thread, blocking.
  private static func block(
    _ form: Form, _ losers: Losers, _ functions: [AsyncFunction<Int>], atMost: Int = .max,
    until deadline: Deadline? = nil
  ) throws -> [Int] {
    try waitForTask(until: deadline ?? generous) { try await form.run(atMost, losers, nil, functions) }
  }

  @Test("S25 one never answers and can't be cancelled, one fails: the first failure ends it, the other is abandoned")
  func neverAnswers() async throws {
    let (kept, isKept, discarded) = (LockedBox<[Completion<Int>]>([]), Gate(), Record<Int>())
    let silent: CallbackFunction<Int> = { completion in
      kept.withLock { $0.append(completion) }
      isKept.open()
    }
    let failing: CallbackFunction<Int> = { completion in
      _ = try? ManagedThread.spawnDetached {
        _ = isKept.wait(until: generous)
        completion.fail(Oops(number: 1))
      }
    }
    let result = try await onThread {
      Result {
        try waitForTask(until: generous) {
          try await allSucceed([silent, failing]) { try await awaitCallback(discard: { discarded.add($0) }, $0) }
        }
      }
    }
    #expect(flowError(result)?.oops == Oops(number: 1) && flowError(result)?.inputs == [1], "and no deadline passed")
    for completion in kept.withLock({ $0 }) { completion.succeed(7) }
    #expect(discarded.events == [7], "what it answers late is discarded")
  }

  @Test("S25 joined on request: it waits for the answer of the cancelled one")
  func joined() async throws {
    let hand = Hand<Int>()
    let isOver = Record<Int>()
    let running = Task {
      defer { isOver.add(0) }
      return try await allSucceed([hand.awaited(0, losers: .join), hand.awaited(1)], call)
    }
    await hand.started.wait(for: 2)
    hand.fail(1)
    await hand.cancelled.wait(for: 1)
    #expect(isOver.events.isEmpty)
    hand.succeed(0, 1)
    #expect(flowError(await running.result)?.oopses == [Oops(number: 1)])
  }

  @Test("One function: its success, its failure, released", arguments: forms, losers)
  func one(_ form: Form, _ losers: Losers) async throws {
    #expect(try await onThread { try Self.block(form, losers, [Self.number(7)]) } == [7])
    let failed = try await onThread { Result { try Self.block(form, losers, [Self.failing(3)]) } }
    #expect(flowError(failed)?.oopses == [Oops(number: 3)])
    let silent: AsyncFunction<Int> = { try await awaitCallback { _ in } }
    let released = try await onThread { Result { try Self.block(form, losers, [silent]) } }
    #expect(flowError(released)?.failures.map { EndCode($0) } == [.completionReleased])
  }

  @Test("P98 a hundred thousand functions that answer inside their starts need the stack of one", arguments: forms)
  func many(_ form: Form) async throws {
    let count = 100_000
    // A stack that a recursion of this depth would overflow. Without a deadline, since a busy machine may take minutes.
    let thread = try ManagedThread.spawn(ThreadAttributes(name: "small", stackSize: 256 << 10)) {
      Result {
        try Self.block(form, .join, (0..<count).map { Self.number($0) }, atMost: 1, until: .distantFuture)
      }
    }
    #expect(try await thread.value().get() == (form.givesAll ? Array(0..<count) : [0]))
  }

  @Test("P98 a hundred thousand failures one after another, and a hundred thousand at a time")
  func manyFailures() async throws {
    for atMost in [1, Int.max] {
      let code = try await codeOnThread {
        try Self.block(
          Self.forms[0], .join, (0..<100_000).map { Self.failing($0) }, atMost: atMost, until: .distantFuture)
      }
      #expect(code == .allFailed)
    }
  }

  @Test("P92 the first success wins; the losers are told, and their late successes discarded", arguments: losers)
  func firstWins(_ losers: Losers) async throws {
    let (hand, census, discarded) = (Hand<Census.Token>(), Census(), Record<Int>())
    let waiting = try startThread {
      try waitForTask(until: generous) {
        try await firstToSucceed(0..<3, losers: losers) { number in
          try await awaitCallback(discard: { discarded.add($0.number) }, hand.function(number))
        }
      }
      .number
    }
    await hand.started.wait(for: 3)
    hand.succeed(1, census.token(1))
    #expect(try await waiting.value().get() == 1)
    await hand.cancelled.wait(for: 2)
    #expect(hand.cancelled.events.sorted() == [0, 2])
    hand.succeed(0, census.token(0))
    hand.fail(2)
    await census.gone.wait(for: 2)
    #expect(discarded.events == [0] && census.alive == 0)
  }

  @Test("P95 hooks that throw, and hooks that answer: everything still ends once", arguments: forms, losers)
  func hooks(_ form: Form, _ losers: Losers) async {
    let hand = Hand<Int>()
    let running = Task {
      try await form.run(.max, losers, nil, (0..<3).map { hand.awaited($0, heeds: $0 == 1, hookThrows: true) })
    }
    await hand.started.wait(for: 3)
    running.cancel()
    #expect(code(of: await running.result) == .cancelled)
    await hand.cancelled.wait(for: 3)
    #expect(hand.cancelled.events.sorted() == [0, 1, 2])
    for number in [0, 2] { hand.drop(number) }
  }

  @Test("The deadline: running functions are told and abandoned, and the wait ends", arguments: losers)
  func deadline(_ losers: Losers) async throws {
    let hand = Hand<Int>()
    let code = try await codeOnThread {
      try waitForTask(until: .after(.milliseconds(1))) {
        try await firstToSucceed([Self.failing(0), hand.awaited(0), hand.awaited(1)], losers: losers, call)
      }
    }
    #expect(code == .timedOut)
    for number in hand.started.events { hand.drop(number) }
  }

  @Test(
    "P93 the blocked thread is cancelled: it ends at once, and all running functions are told", arguments: forms, losers
  )
  func threadCancelled(_ form: Form, _ losers: Losers) async throws {
    let hand = Hand<Int>()
    let waiting = try startThread { try Self.block(form, losers, (0..<2).map { hand.awaited($0) }) }
    await hand.started.wait(for: 2)
    waiting.cancel()
    #expect(code(of: try await waiting.value()) == .cancelled)
    await hand.cancelled.wait(for: 2)
    for number in 0..<2 { hand.drop(number) }
  }

  @Test("P97 one of them would answer on the loop that waits: it fails at once instead of hanging", arguments: forms)
  func wouldDeadlock(_ form: Form) async throws {
    let loop = try ThreadLoop(name: "waiting")
    let hand = Hand<Int>()
    let delivering: AsyncFunction<Int> = {
      try await awaitCallback { completion in hand.function(1)(completion.answers(on: .loop(loop))) }
    }
    let result = try await loop.performAndWait { Result { try Self.block(form, .join, [delivering]) } }
    #expect(flowError(result)?.failures.map { EndCode($0) } == [.wouldDeadlock])
    #expect(hand.cancelled.events == [1])
    hand.drop(1)
    // Once the thread is free it has no special role.
    let answer = Task { try await awaitCallback { $0.answers(on: .loop(loop)).succeed(3) } }
    #expect(try await answer.value == 3)
    loop.stop()
  }

  @Test("Combinators nest; a cancellation reaches the innermost")
  func nested() async {
    let hand = Hand<Int>()
    let running = Task {
      try await allSucceed(
        { @Sendable in try await firstToSucceed(hand.awaited(0), hand.awaited(1)) },
        { @Sendable in try await race(hand.awaited(2), hand.awaited(3)) })
    }
    await hand.started.wait(for: 4)
    hand.succeed(1, 1)
    await hand.cancelled.wait(for: 1)
    #expect(hand.cancelled.events == [0])
    running.cancel()
    await hand.cancelled.wait(for: 3)
    #expect(hand.cancelled.events.sorted() == [0, 2, 3])
    let end: Result<(Int, Int), any Error> = await running.result
    #expect(code(of: end) == .cancelled)
    for number in [0, 2, 3] { hand.drop(number) }
  }

  @Test("Many threads answer at once: each contest ends once, with all results")
  func threads() async throws {
    let pool = try ThreadPool(name: "answers", size: 4)
    let functions: [AsyncFunction<Int>] = (0..<200).map { number in
      { try await awaitCallback { completion in _ = try? pool.execute { completion.succeed(number) } } }
    }
    for losers in Self.losers {
      #expect(try await onThread { try Self.block(Self.forms[1], losers, functions, atMost: 7) } == Array(0..<200))
      _ = try await onThread { try Self.block(Self.forms[0], losers, functions, atMost: 7) }
    }
    pool.dispose()
  }
}
