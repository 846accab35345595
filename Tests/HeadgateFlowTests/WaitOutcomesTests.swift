import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// For every behaviour of a function there is one outcome, and nothing is left of the call.
@Suite struct WaitOutcomesTests {
  typealias Token = Census.Token

  /// How a function treats its completion.
  enum Manner: String, CaseIterable {
    case once, twice, never, onAnotherThread, afterTheDeadline, twiceAfterTheDeadline, inTheHook

    var outcome: String {
      switch self {
      case .once, .twice, .onAnotherThread: "1"
      case .never: "completion_released"
      case .afterTheDeadline, .twiceAfterTheDeadline, .inTheHook: "timed_out"
      }
    }

    var discarded: [Int] {
      switch self {
      case .once, .never, .onAnotherThread: []
      case .twice: [2]
      case .afterTheDeadline: [1]
      case .twiceAfterTheDeadline: [1, 2]
      case .inTheHook: [1]
      }
    }
  }

  /// A function with that behaviour, which holds a token, and keeps completions for late use.
  private static func function(
    _ manner: Manner, _ census: Census, _ kept: LockedBox<Completion<Token>?>
  ) -> CallbackFunction<Token> {
    let held = census.token(99)
    return { completion in
      switch manner {
      case .once: completion.succeed(census.token(1))
      case .twice:
        completion.succeed(census.token(1))
        completion.succeed(census.token(2))
      case .never: _ = held
      case .onAnotherThread: _ = try? ManagedThread.spawnDetached { completion.succeed(census.token(1)) }
      case .afterTheDeadline, .twiceAfterTheDeadline:
        completion.onCancel { _ = held }
        kept.withLock { $0 = completion }
      case .inTheHook:
        completion.onCancel { completion.succeed(census.token(1)) }
        kept.withLock { $0 = completion }
      }
    }
  }

  private static func late(_ manner: Manner, _ census: Census, _ kept: LockedBox<Completion<Token>?>) {
    let completion = kept.withLock { $0.take() }
    if manner == .afterTheDeadline || manner == .twiceAfterTheDeadline { completion?.succeed(census.token(1)) }
    if manner == .twiceAfterTheDeadline { completion?.succeed(census.token(2)) }
  }

  private static func word(_ body: () throws -> Int) -> String {
    let result = Result { try body() }
    return code(of: result)?.description ?? "\((try? result.get()) ?? 0)"
  }

  @Test("P90 blocking: one outcome, surplus successes are discarded, and nothing is left", arguments: Manner.allCases)
  func blocking(_ manner: Manner) async throws {
    let (census, discarded, kept) = (Census(), Record<Int>(), LockedBox<Completion<Token>?>(nil))
    let isLate = manner.outcome == "timed_out"
    let outcome = try await onThread {
      Self.word {
        try waitForCallback(
          until: isLate ? .distantPast : manner == .never ? .distantFuture : generous,
          discard: { discarded.add($0.number) }, Self.function(manner, census, kept)
        )
        .number
      }
    }
    #expect(outcome == manner.outcome)
    Self.late(manner, census, kept)
    #expect(discarded.events == manner.discarded)
    await census.gone.wait(for: manner.outcome == "completion_released" ? 1 : 1 + max(manner.discarded.count, 1))
    #expect(census.alive == 0)
  }

  @Test("P90 async: one outcome, surplus successes are discarded, and nothing is left", arguments: Manner.allCases)
  func async(_ manner: Manner) async {
    let (census, discarded, kept) = (Census(), Record<Int>(), LockedBox<Completion<Token>?>(nil))
    let isLate = manner.outcome == "timed_out"
    let outcome: String
    do {
      let token = try await awaitCallback(
        until: isLate ? .distantPast : .distantFuture, discard: { discarded.add($0.number) },
        Self.function(manner, census, kept))
      outcome = "\(token.number)"
    } catch {
      outcome = EndCode(error).description
    }
    #expect(outcome == manner.outcome)
    Self.late(manner, census, kept)
    #expect(discarded.events == manner.discarded)
    await census.gone.wait(for: manner.outcome == "completion_released" ? 1 : 1 + max(manner.discarded.count, 1))
    #expect(census.alive == 0)
  }

  @Test(
    "P95 hooks run at the deadline of a wait, and at its cancellation, which end even if a hook throws",
    arguments: [false, true])
  func hooks(throwing: Bool) async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let timedOut = try await codeOnThread {
      try waitForCallback(
        until: .after(.milliseconds(1)), discard: { discarded.add($0) }, hand.function(0, hookThrows: throwing))
    }
    let waiting = Task { try await awaitCallback(hand.function(1, hookThrows: throwing)) }
    await hand.started.wait(for: 2)
    waiting.cancel()
    let cancelled = code(of: await waiting.result)
    #expect(timedOut == .timedOut && cancelled == .cancelled)
    #expect(hand.cancelled.events == [0, 1])
    hand.succeed(0, 5)
    #expect(discarded.events == [5])
    hand.drop(1)
  }

  @Test("P98 a hundred thousand blocking waits one after another need the stack of one")
  func many() async throws {
    let thread = try ManagedThread.spawn(ThreadAttributes(name: "small", stackSize: 256 << 10)) {
      () in
      var sum = 0
      for number in 0..<100_000 {
        sum += try waitForCallback(until: generous) { (completion: Completion<Int>) in completion.succeed(number)
        }
      }
      return sum
    }
    #expect(try await thread.value() == 4_999_950_000)
  }

  @Test("P93 a cancelled thread: the function is called, told at once, and not awaited")
  func cancelledBefore() async throws {
    let hand = Hand<Int>()
    let waiting = try startThread {
      ManagedThread.current.cancel()
      return try waitForCallback(until: generous, hand.function(0))
    }
    #expect(code(of: try await waiting.value()) == .cancelled)
    #expect(hand.cancelled.events == hand.started.events)
    hand.drop(0)
  }

  // // MARK: The opposite direction

  @Test("P93 P97 waitForTask: a cancelled thread cancels the task, and does not wait for its end; refused in a task")
  func tasks() async throws {
    let hand = Hand<Int>()
    let discarded = Record<Int>()
    let waiting = try startThread {
      try waitForTask(until: generous, discard: { discarded.add($0) }, hand.async(0, heeds: false))
    }
    await hand.started.wait(for: 1)
    waiting.cancel()
    #expect(code(of: try await waiting.value()) == .cancelled)
    await hand.cancelled.wait(for: 1)
    #expect(hand.ended.events.isEmpty)
    hand.end(0, .success(3))
    await discarded.wait(for: 1)
    #expect(discarded.events == [3])
    let refused = Self.refused { try waitForTask(until: generous, hand.async(1)) }
    #expect(refused == .onCooperativeThread && hand.started.events == [0])
  }

  @Test("P97 retries, hedges and all others fail at once if the waiting thread itself would have to answer")
  func others() async throws {
    let hand = Hand<Int>()
    let loop = try ThreadLoop(name: "waiting")
    let answering: AsyncFunction<Int> = {
      try await awaitCallback { hand.function(1)($0.answers(on: .loop(loop))) }
    }
    let flows: [AsyncFunction<Int>] = [
      { try await retry(attempts: 1, answering) }, { try await hedged(after: .zero, attempts: 1, answering) },
      { try await withDeadline(generous, answering) },
      { try await withDeadline(generous, losers: .abandon, answering) },
      { try await step("deep") { try await answering() } },
      { try await allSucceed(answering, { @Sendable in "text" }).0 },
      { try await [1].mapConcurrently(limit: 1) { _ in try await answering() }[0] },
    ]
    let results = try await loop.performAndWait {
      flows.map { flow in Result { try waitForTask(until: generous, flow) } }
    }
    for (index, result) in results.enumerated() {
      var cause = error(of: result)
      while let next = (cause as? FlowError)?.failures.first ?? (cause as? StepError)?.cause { cause = next }
      #expect((cause as? WaitError)?.code == .wouldDeadlock, "\(index)")
    }
    hand.drop(1)
    loop.stop()
  }

  private static func refused<Value>(_ body: () throws -> Value) -> EndCode? { flowCode(body) }
}
