import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Every combinator over several functions, cancelled from outside at every step, with functions that heed it, ignore
/// it, or have hooks that throw, and with results that must be destroyed.
@Suite struct CancelledContestTests {
  typealias Token = Census.Token

  static let losers: [Losers] = [.join, .abandon]
  static let asyncForms = AsyncForm<Token>.all { $0.number.isMultiple(of: 2) }

  /// The actions on a contest, and what the rules require.
  private struct Script {
    let count: Int
    let atMost: Int
    let heeds: [Bool]
    let hookThrows: [Bool]
    private let steps: Int
    private let settles: Bool
    private let matches: Bool
    private(set) var contest: Contest<Int>
    private(set) var running: [Int] = []

    init(_ form: AsyncForm<Token>, _ random: inout SeededRandom) {
      count = Int.random(in: 1...5, using: &random)
      atMost = Int.random(in: 1...3, using: &random)
      heeds = (0..<count).map { _ in Bool.random(using: &random) }
      hookThrows = (0..<count).map { _ in Int.random(in: 0..<20, using: &random) == 0 }
      steps = Int.random(in: 0...count, using: &random)
      contest = Contest(count: count, needed: form.needed(count))
      settles = form.settles
      matches = form.name == "firstMatching"
      start()
    }

    private mutating func start() {
      while running.count < atMost, let index = contest.start() { running.append(index) }
    }

    /// The next to end before the cancellation, and whether by a success. Nil: the cancellation is due, or all is
    /// decided.
    mutating func next(_ random: inout SeededRandom) -> (index: Int, isSuccess: Bool)? {
      guard contest.started - running.count < steps, contest.verdict == nil, !running.isEmpty else { return nil }
      let index = running.remove(at: Int.random(in: 0..<running.count, using: &random))
      let isSuccess = Int.random(in: 0..<4, using: &random) > 0
      _ = contest.end(
        index, isSuccess ? .success(index) : .failure(Oops()),
        counts: settles || isSuccess && (!matches || index.isMultiple(of: 2)))
      start()
      return (index, isSuccess)
    }
  }

  @Test(
    "P93 async, cancelled at every step: no start after it, join waits for all, abandon for none; no success is lost",
    arguments: asyncForms, losers)
  func async(_ form: AsyncForm<Token>, _ losers: Losers) async {
    for seed in 0..<60 {
      var random = SeededRandom(seed: UInt64(seed))
      var script = Script(form, &random)
      let (hand, census, discarded) = (Hand<Token>(), Census(), Record<Int>())
      let comment: Comment = "seed \(seed)"
      let running = Task { [script] in
        let functions = (0..<script.count).map { hand.async($0, heeds: script.heeds[$0]) }
        return try await form.run(script.atMost, losers, { discarded.add($0.number) }, functions).map(\.number)
      }
      var made = 0
      func end(_ index: Int, _ isSuccess: Bool) {
        // A function that heeds its cancellation may have ended.
        if hand.end(index, isSuccess ? .success(census.token(index)) : .failure(Oops(number: index))), isSuccess {
          made += 1
        }
      }
      await hand.started.wait(for: script.contest.started)
      while let (index, isSuccess) = script.next(&random) {
        end(index, isSuccess)
        await hand.started.wait(for: script.contest.started)
      }
      let wasDecided = script.contest.verdict != nil
      running.cancel()
      let stubborn = script.running.filter { !script.heeds[$0] }
      if losers == .join {
        await hand.cancelled.wait(for: script.running.count)
        for index in stubborn { end(index, Bool.random(using: &random)) }
      }
      let result = await running.result
      if losers == .join {
        #expect(hand.ended.events.count == script.contest.started, "none outlives it: \(comment)")
      } else {
        #expect(stubborn.allSatisfy { !hand.ended.events.contains($0) }, "it waits for none: \(comment)")
        for index in stubborn { end(index, Bool.random(using: &random)) }
      }
      await hand.ended.wait(for: script.contest.started)
      #expect(hand.started.events.count == script.contest.started, "none starts after it: \(comment)")
      if !wasDecided, stubborn.isEmpty || losers == .abandon {
        #expect(code(of: result) == .cancelled, comment)
      }
      let kept = (try? result.get()) ?? []
      await discarded.wait(for: made - kept.count)
      #expect(discarded.events.count + kept.count == made, "each success once: \(comment)")
      #expect(Set(discarded.events).isDisjoint(with: kept), comment)
      await census.gone.wait(for: made)
      #expect(census.alive == 0, comment)
    }
  }

  @Test(
    "P93 P95 by callbacks from a thread cancelled at every step, with hooks that answer and throw: no success is lost",
    arguments: asyncForms)
  func blocking(_ form: AsyncForm<Token>) async throws {
    for seed in 0..<10 {
      var random = SeededRandom(seed: UInt64(seed))
      var script = Script(form, &random)
      let losers = Self.losers[seed % 2]
      let (hand, census, discarded) = (Hand<Token>(), Census(), Record<Int>())
      let discard: @Sendable (Token) -> Void = { discarded.add($0.number) }
      let functions = (0..<script.count).map { index -> AsyncFunction<Token> in
        let function = hand.function(index, heeds: script.heeds[index], hookThrows: script.hookThrows[index])
        return { try await awaitCallback(discard: discard, function) }
      }
      let waiting = try startThread { [script] in
        try waitForTask(until: generous, discard: { $0.forEach(discard) }) {
          try await form.run(script.atMost, losers, discard, functions)
        }
        .map(\.number)
      }
      var made = 0
      await hand.started.wait(for: script.contest.started)
      while let (index, isSuccess) = script.next(&random) {
        if isSuccess { made += hand.succeed(index, census.token(index)) ? 1 : 0 } else { hand.fail(index) }
        await hand.started.wait(for: script.contest.started)
      }
      waiting.cancel()
      await hand.cancelled.wait(for: script.running.count)
      for index in script.running where !script.heeds[index] {
        made += hand.succeed(index, census.token(index)) ? 1 : 0
      }
      let kept = (try? await waiting.value().get()) ?? []
      await discarded.wait(for: made - kept.count)
      await census.gone.wait(for: made)
      #expect(discarded.events.count + kept.count == made && census.alive == 0, "seed \(seed)")
      #expect(hand.started.events.count == script.contest.started, "seed \(seed)")
    }
  }
}
