import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// The combinators over async functions.
@Suite struct AsyncContestTests {
  typealias Form = AsyncForm<Int>
  static let forms = Form.all { $0 >= 0 }

  static let losers: [Losers] = [.join, .abandon]

  private static func number(_ number: Int) -> AsyncFunction<Int> { { () async throws in number } }
  private static func failing(_ number: Int) -> AsyncFunction<Int> {
    { () async throws in throw Oops(number: number) }
  }

  @Test("P94 without functions: an empty result if that is valid, else noInput", arguments: forms)
  func empty(_ form: Form) async {
    let result = await Self.result { try await form.run(.max, .join, nil, []) }
    switch form.name {
    case "firstToSucceed", "race", "firstMatching": #expect(code(of: result) == .noInput)
    default: #expect((try? result.get()) == [])
    }
  }

  @Test("One function: its success, its failure with its type", arguments: forms, losers)
  func one(_ form: Form, _ losers: Losers) async throws {
    #expect(try await form.run(.max, losers, nil, [Self.number(7)]) == [7])
    let failed = await Self.result {
      try await form.run(.max, losers, nil, [Self.failing(3)])
    }
    #expect(flowError(failed)?.oopses == [Oops(number: 3)])
    #expect(flowError(failed)?.inputs == [0])
  }

  @Test("A limit below one is refused, and nothing is run", arguments: forms, losers)
  func badLimit(_ form: Form, _ losers: Losers) async {
    let ran = Record<Int>()
    let function: AsyncFunction<Int> = { () async throws in
      ran.add(1)
      return 1
    }
    let result = await Self.result {
      try await form.run(0, losers, nil, [function])
    }
    #expect(code(of: result) == .invalidArgument)
    #expect(ran.events.isEmpty)
  }

  @Test("P98 a hundred thousand functions", arguments: forms, losers)
  func many(_ form: Form, _ losers: Losers) async throws {
    let count = 100_000
    let functions = (0..<count).map { Self.number($0) }
    let values = try await form.run(losers == .join ? 64 : 1, losers, nil, functions)
    switch form.name {
    case "firstToSucceed", "race", "firstMatching": #expect(values == [0] || losers == .join && values.count == 1)
    default: #expect(values == Array(0..<count))
    }
  }

  @Test("P91 all fail: one error that contains each in the order of the functions, whichever failed first")
  func allFail() async {
    let hand = Hand<Int>()
    let running = Task { try await firstToSucceed(hand.asyncs(3), call) }
    await hand.started.wait(for: 3)
    for number in [2, 0, 1] { hand.end(number, .failure(Oops(number: number))) }
    let error = flowError(await running.result)
    #expect(error?.code == .allFailed)
    #expect(error?.oopses == [Oops(number: 0), Oops(number: 1), Oops(number: 2)])
    #expect(error?.inputs == [0, 1, 2])
    #expect(error?.operation == "firstToSucceed of 3")
  }

  @Test("P92 the first success wins and the rest is cancelled and awaited; each late success is discarded")
  func firstWins() async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let running = Task {
      try await firstToSucceed(hand.asyncs(3, heeds: false), discard: { discarded.add($0) }, call)
    }
    await hand.started.wait(for: 3)
    hand.end(1, .success(10))
    await hand.cancelled.wait(for: 2)
    hand.end(0, .success(0))
    hand.end(2, .failure(Oops()))
    #expect(try await running.value == 10)
    #expect(discarded.events == [0])
    #expect(hand.ended.events.count == 3, "joined: all had ended before")
  }

  @Test(
    "With abandon the result is returned while a loser ignores its cancellation; it is counted and discarded")
  func abandons() async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let running = Task {
      try await firstToSucceed(
        hand.asyncs(2, heeds: false), losers: .abandon, discard: { discarded.add($0) }, call)
    }
    await hand.started.wait(for: 2)
    hand.end(0, .success(10))
    #expect(try await running.value == 10)
    #expect(!hand.ended.events.contains(1), "the loser stands at its gate")
    #expect(Losers.abandonedCount >= 1)
    await hand.cancelled.wait(for: 1)
    hand.end(1, .success(20))
    await discarded.wait(for: 1)
    #expect(discarded.events == [20])
  }

  @Test("allSucceed: the first failure cancels the rest, and earlier successes are discarded")
  func allOrFirstFailure() async {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let running = Task { try await allSucceed(hand.asyncs(3), discard: { discarded.add($0) }, call) }
    await hand.started.wait(for: 3)
    hand.end(2, .success(20))
    await hand.ended.wait(for: 1)
    hand.end(0, .failure(Oops(number: 5)))
    let error = flowError(await running.result)
    #expect(error?.code == .failed)
    #expect(error?.oops == Oops(number: 5))
    #expect(error?.inputs == [0])
    #expect(hand.cancelled.events == [1])
    #expect(discarded.events == [20])
  }

  @Test("Functions start in the order of their inputs, one after another at a limit of one", arguments: forms, losers)
  func order(_ form: Form, _ losers: Losers) async throws {
    let started = Record<Int>()
    let functions = (0..<20).map { number -> AsyncFunction<Int> in
      {
        started.add(number)
        if number < 19, !form.givesAll, form.name != "race" { throw Oops(number: number) }
        return number
      }
    }
    _ = try await form.run(1, losers, nil, functions)
    #expect(started.events == (form.name == "race" ? [0] : Array(0..<20)))
  }

  @Test("No more run at a time than the limit, and they start in their order", arguments: losers)
  func limit(_ losers: Losers) async throws {
    let hand = Hand<Int>()
    let running = Task { try await allSucceed(hand.asyncs(4), atMost: 2, losers: losers, call) }
    await hand.started.wait(for: 2)
    #expect(hand.started.events.sorted() == [0, 1])
    hand.end(1, .success(1))
    await hand.started.wait(for: 3)
    #expect(hand.started.events.last == 2)
    hand.end(2, .success(2))
    await hand.started.wait(for: 4)
    hand.end(0, .success(0))
    hand.end(3, .success(3))
    #expect(try await running.value == [0, 1, 2, 3])
  }

  @Test("race: the first end decides, even a failure")
  func raceLost() async {
    let hand = Hand<Int>()
    let running = Task { try await race(hand.asyncs(2), call) }
    await hand.started.wait(for: 2)
    hand.end(1, .failure(Oops(number: 1)))
    let error = flowError(await running.result)
    #expect(error?.code == .failed && error?.oops == Oops(number: 1))
    #expect(error?.inputs == [1])
  }

  @Test(
    "quorum: the successes in the order of the functions; missed as soon as too few are left; invalid numbers refused")
  func quorums() async throws {
    let hand = Hand<Int>()
    let running = Task { try await quorum(2, of: hand.asyncs(3), call) }
    await hand.started.wait(for: 3)
    hand.end(2, .success(2))
    await hand.ended.wait(for: 1)
    hand.end(0, .success(0))
    #expect(try await running.value == [0, 2])

    let other = Hand<Int>()
    let missing = Task { try await quorum(2, of: other.asyncs(3), call) }
    await other.started.wait(for: 3)
    other.end(0, .failure(Oops(number: 0)))
    await other.ended.wait(for: 1)
    other.end(1, .failure(Oops(number: 1)))
    let error = flowError(await missing.result)
    #expect(error?.code == .quorumMissed && error?.failures.count == 2)
    #expect(other.cancelled.events == [2])

    #expect(try await quorum(0, of: [Self.failing(1)], call) == [])
    for needed in [-1, 2] {
      let refused = await #expect(throws: FlowError.self) {
        try await quorum(needed, of: [Self.number(1)], call)
      }
      #expect(refused?.code == .invalidArgument)
    }
  }

  @Test("firstMatching: the first match; if none matches, the last to end, success or failure")
  func matching() async throws {
    let discarded = Record<Int>()
    #expect(
      try await firstMatching(
        [Self.number(1), Self.failing(9), Self.number(4), Self.number(6)], where: { $0.isMultiple(of: 2) }, atMost: 1,
        discard: { discarded.add($0) }, call) == 4)
    #expect(discarded.events == [1])
    #expect(try await firstMatching([Self.failing(9), Self.number(3)], where: { $0 > 9 }, atMost: 1, call) == 3)
    let error = await #expect(throws: FlowError.self) {
      try await firstMatching(
        [Self.failing(8), Self.number(3), Self.failing(9)], where: { $0 > 9 }, atMost: 1, call)
    }
    #expect(error?.oops == Oops(number: 9))
    #expect(error?.inputs == [0, 2])
  }

  @Test("allSettled: each end at its index, and no failure cancels another")
  func settled() async throws {
    let results = try await allSettled([Self.number(1), Self.failing(2), Self.number(3)], call)
    #expect(results.map { try? $0.get() } == [1, nil, 3])
    #expect(error(of: results[1]) as? Oops == Oops(number: 2))
  }

  // MARK: Cancellation

  @Test("P93 cancelled in advance: nothing is run", arguments: forms, losers)
  func cancelledBefore(_ form: Form, _ losers: Losers) async {
    let (hand, start) = (Hand<Int>(), Gate())
    let running = Task {
      await start.waitRegardless()
      return try await form.run(.max, losers, nil, hand.asyncs(2))
    }
    running.cancel()
    start.open()
    #expect(code(of: await running.result) == .cancelled)
    #expect(hand.started.events.isEmpty)
  }

  @Test("P93 cancelled while all run: they are cancelled, and no other is started", arguments: forms, losers)
  func cancelledMeanwhile(_ form: Form, _ losers: Losers) async {
    let hand = Hand<Int>()
    let running = Task { try await form.run(2, losers, nil, hand.asyncs(4)) }
    await hand.started.wait(for: 2)
    running.cancel()
    #expect(code(of: await running.result) == .cancelled)
    await hand.cancelled.wait(for: 2)
    #expect(hand.started.events.sorted() == [0, 1])
  }

  @Test("Once it is decided no function is called any more, including those about to run")
  func noneAfterTheDecision() async throws {
    let started = Record<Int>()
    let loop = try ThreadLoop(name: "one at a time")
    defer { loop.stop() }
    @Sendable func function(_ number: Int) -> AsyncFunction<Int> {
      { () async throws in
        started.add(number)
        return number
      }
    }
    let functions = (0..<4).map(function)
    let form = try #require(Self.forms.first { $0.name == "firstToSucceed" })
    let first = await withTaskExecutorPreference(loop.taskExecutor) {
      try? await form.run(.max, .join, nil, functions)
    }
    #expect(first == [0] && started.events == [0])
  }

  @Test(
    "P93 cancelled after some have ended: their results are discarded", arguments: ["allSucceed", "quorum"], losers)
  func cancelledLater(_ name: String, _ losers: Losers) async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let form = try #require(Self.forms.first { $0.name == name })
    let running = Task { try await form.run(.max, losers, { discarded.add($0) }, hand.asyncs(3)) }
    await hand.started.wait(for: 3)
    hand.end(1, .success(10))
    await hand.ended.wait(for: 1)
    running.cancel()
    #expect(code(of: await running.result) == .cancelled)
    await discarded.wait(for: 1)
    #expect(discarded.events == [10])
  }

  @Test("P93 cancelled among losers that ignore it: join waits for them, abandon does not", arguments: forms)
  func ignored(_ form: Form) async throws {
    let hand = Hand<Int>()
    let abandoning = Task { try await form.run(.max, .abandon, nil, hand.asyncs(2, heeds: false)) }
    await hand.started.wait(for: 2)
    abandoning.cancel()
    #expect(code(of: await abandoning.result) == .cancelled)
    #expect(hand.ended.events.isEmpty)
    for number in 0..<2 { hand.end(number, .failure(Oops())) }
    await hand.ended.wait(for: 2)

    let other = Hand<Int>()
    let isOver = Record<Int>()
    let joining = Task {
      defer { isOver.add(other.ended.events.count) }
      return try await form.run(.max, .join, nil, other.asyncs(2, heeds: false))
    }
    await other.started.wait(for: 2)
    joining.cancel()
    await other.cancelled.wait(for: 2)
    for number in 0..<2 { other.end(number, .failure(Oops())) }
    _ = await joining.result
    #expect(isOver.events == [2])
  }

  @Test("P92 results with a deinit: none outlives its use, in whichever way it is lost", arguments: losers)
  func destroyed(_ losers: Losers) async throws {
    let (census, hand) = (Census(), Hand<Census.Token>())
    do {
      let running = Task {
        try await firstToSucceed(hand.asyncs(3, heeds: false), losers: losers, call).number
      }
      await hand.started.wait(for: 3)
      hand.end(1, .success(census.token(1)))
      await hand.cancelled.wait(for: 2)
      hand.end(0, .success(census.token(0)))
      hand.end(2, .success(census.token(2)))
      #expect(try await running.value == 1)
    }
    await census.gone.wait(for: 3)
    #expect(census.alive == 0)
  }

  /// The result of a body, untyped.
  static func result<Value>(
    _ body: () async throws -> Value
  ) async -> Result<Value, any Error> {
    do { return .success(try await body()) } catch { return .failure(error) }
  }
}
