import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Attempts, back-off, budget, deadline.
@Suite struct RetryTests {
  // MARK: Back-off

  @Test("P96 the wait grows by the factor to the maximum, and no further, even after billions of attempts")
  func longest() {
    let backoff = Backoff(first: .milliseconds(100), factor: 2, maximum: .seconds(1))
    #expect(
      (0...6).map { backoff.longest(after: $0) } == [0, 100, 200, 400, 800, 1000, 1000].map { .milliseconds($0) })
    #expect(backoff.longest(after: .max) == .seconds(1))
    #expect(backoff.longest(after: -1) == .zero)
    #expect(Backoff(first: .seconds(3), factor: 1, maximum: .seconds(9)).longest(after: .max) == .seconds(3))
    #expect(Backoff(first: .seconds(9), maximum: .seconds(3)).longest(after: 1) == .seconds(3))
    #expect(Backoff.none.longest(after: 5) == .zero)
    #expect(Backoff.constant(.seconds(2)).longest(after: 7) == .seconds(2))
  }

  @Test("P96 jitter: evenly distributed between the bounds, and never beyond them")
  func jitter() {
    var random = SeededRandom(seed: 4)
    for jitter in [0, 0.25, 1.0] {
      let backoff = Backoff(first: .milliseconds(80), factor: 3, maximum: .seconds(2), jitter: jitter)
      for attempts in 1...6 {
        let longest = backoff.longest(after: attempts)
        let waits = (0..<400).map { _ in backoff.delay(after: attempts, using: &random) }
        #expect(waits.allSatisfy { $0 <= longest && $0 >= longest * (1 - jitter) - .nanoseconds(1) })
        if jitter > 0 {
          let middle = longest * (1 - jitter / 2)
          #expect((120...280).contains(waits.count { $0 < middle }), "half of them below the middle")
        } else {
          #expect(waits.allSatisfy { $0 == longest })
        }
      }
    }
  }

  @Test("Numbers out of range are clamped")
  func outOfRange() {
    let backoff = Backoff(first: .seconds(-1), factor: .nan, maximum: .seconds(-1), jitter: 7)
    #expect(backoff.first == .zero && backoff.factor == 1 && backoff.maximum == .zero && backoff.jitter == 1)
    #expect(Backoff(jitter: .nan).jitter == 0)
    #expect(Backoff(first: .seconds(Int64.max), factor: 1e300, maximum: .seconds(Int64.max)).longest(after: 9) > .zero)
  }

  // MARK: Budget

  @Test("P96 infinite waits, and numbers set out of range later, never trap and are never negative")
  func endless() {
    // Seeded, so that a failure can be repeated. The address of a generator without a size is not valid, and the thread
    // sanitizer would look it up and crash.
    var random = SeededRandom(seed: 96)
    #expect(Backoff.constant(.seconds(10_000_000_000)).delay(after: 1, using: &random) == .nanoseconds(Int64.max))
    for jitter in [0, .leastNonzeroMagnitude, 0.5, 1, 7, -7, .nan, .infinity, -.infinity] as [Double] {
      for factor in [0, 1, 2, .infinity, .nan, -3] as [Double] {
        for limit in [.zero, .seconds(-1), .seconds(Int64.max), .nanoseconds(1), .seconds(1)] as [Duration] {
          var backoff = Backoff.constant(.seconds(10_000_000_000))
          (backoff.jitter, backoff.factor, backoff.maximum) = (jitter, factor, limit)
          for attempts in [Int.min, 0, 1, 2, .max] {
            let wait = backoff.delay(after: attempts, using: &random)
            #expect(wait >= .zero && wait <= max(limit, .zero))
          }
        }
      }
    }
  }

  @Test("A budget: a reserve at first, then a tenth of the first attempts, never more than the maximum")
  func budget() {
    let budget = RetryBudget(ratio: 0.1, reserve: 2, limit: 3)
    #expect(budget.withdraw() && budget.withdraw() && !budget.withdraw())
    for _ in 0..<9 { budget.deposit() }
    #expect(!budget.withdraw())
    budget.deposit()
    #expect(budget.withdraw() && !budget.withdraw())
    for _ in 0..<1000 { budget.deposit() }
    #expect(budget.available == 3)
    #expect(RetryBudget(ratio: -1, reserve: -5, limit: -5).available == 0)
  }

  @Test("Many threads at once take no more from a budget than it has")
  func budgetThreads() async throws {
    let budget = RetryBudget(ratio: 0.5, reserve: 100, limit: 1000)
    let taken = LockedBox(0)
    let threads = try (0..<4).map { _ in
      try ManagedThread.spawn {
        for _ in 0..<100 {
          budget.deposit()
          if budget.withdraw() { taken.withLock { $0 += 1 } }
        }
      }
    }
    for thread in threads { try await thread.value() }
    #expect(taken.withLock { $0 } + budget.available == 300)
  }

  // MARK: The rules

  private static let moment = Deadline(nanoseconds: 1_000_000_000)

  private static func plan(
    attempts: Int = 3, budget: RetryBudget? = nil, deadline: Deadline = .distantFuture
  ) -> RetryPlan {
    RetryPlan(attempts: attempts, backoff: .constant(.seconds(1)), budget: budget, deadline: deadline)
  }

  @Test("P96 after a failure: another attempt after the wait, or the end, with its reason")
  func verdicts() {
    var random = SeededRandom(seed: 1)
    func verdict(_ plan: inout RetryPlan, retryable: Bool = true, asked: Duration? = nil)
      -> RetryPlan.Verdict
    {
      plan.fail(Oops(), isRetryable: retryable, asked: asked, now: Self.moment, using: &random)
    }
    var three = Self.plan()
    #expect(verdict(&three) == .again(after: .seconds(1)))
    #expect(verdict(&three, asked: .seconds(5)) == .again(after: .seconds(5)))
    #expect(verdict(&three) == .end(.attemptsExhausted))
    var refused = Self.plan()
    #expect(verdict(&refused, retryable: false) == .end(.failed))
    var short = Self.plan(deadline: Self.moment + .seconds(1))
    #expect(verdict(&short) == .end(.timedOut), "it would wake when the time is up")
    var longer = Self.plan(deadline: Self.moment + .seconds(2))
    #expect(verdict(&longer) == .again(after: .seconds(1)))
    var asked = Self.plan(deadline: Self.moment + .seconds(2))
    #expect(verdict(&asked, asked: .seconds(-3)) == .again(after: .zero))
    #expect(verdict(&asked, asked: .seconds(3)) == .end(.timedOut))

    let budget = RetryBudget(reserve: 1)
    var limited = Self.plan(attempts: 9, budget: budget)
    #expect(verdict(&limited) == .again(after: .seconds(1)))
    #expect(verdict(&limited) == .end(.budgetExhausted))
    let kept = RetryBudget(reserve: 1)
    var last = Self.plan(attempts: 1, budget: kept)
    #expect(verdict(&last) == .end(.attemptsExhausted))
    #expect(kept.available == 1, "nothing is taken for an attempt that is not made")
  }

  @Test("Of unlimited attempts the last failures are kept, with their numbers")
  func kept() {
    var random = SeededRandom(seed: 1)
    var plan = Self.plan(attempts: .max)
    for number in 0..<100 {
      _ = plan.fail(Oops(number: number), isRetryable: true, asked: nil, now: Self.moment, using: &random)
    }
    let error = plan.error(.attemptsExhausted, since: Self.moment, now: Self.moment + .seconds(2))
    #expect(error.oopses.map(\.number) == Array(84..<100) && error.inputs == Array(84..<100))
    #expect(error.oops == Oops(number: 99) && error.waited == .seconds(2))
    #expect(plan.error(.timedOut, since: Self.moment, now: Self.moment).failure == nil)
  }

  // MARK: Async

  /// Fails a number of times, then succeeds.
  private static func failing(_ times: Int, _ ran: Record<Int>) -> AsyncFunction<Int> {
    { () async throws in
      ran.add(ran.events.count)
      guard ran.events.count > times else { throw Oops(number: ran.events.count) }
      return ran.events.count
    }
  }

  @Test("P96 it is retried until it succeeds; the attempts run out with all failures")
  func again() async throws {
    #expect(try await retry(backoff: .none, Self.failing(2, Record())) == 3)
    let ran = Record<Int>()
    let error = await #expect(throws: FlowError.self) { try await retry(backoff: .none, Self.failing(9, ran)) }
    #expect(error?.code == .attemptsExhausted && error?.oopses.map(\.number) == [1, 2, 3])
    #expect(ran.events.count == 3)
    let refused = await #expect(throws: FlowError.self) {
      try await retry(backoff: .none, while: { (error: Oops) in error.number < 2 }) { () async throws(Oops) -> Int in
        ran.add(0)
        throw Oops(number: ran.events.count - 3)
      }
    }
    #expect(refused?.code == .failed && refused?.oops == Oops(number: 2))
    let bad = await #expect(throws: FlowError.self) { try await retry(attempts: 0, Self.failing(0, ran)) }
    #expect(bad?.code == .invalidArgument && ran.events.count == 5)
  }

  @Test("P98 a hundred thousand attempts need the stack of one")
  func many() async throws {
    let count = 100_000
    let left = Locked(count)
    let value = try await retry(attempts: .max, backoff: .none) { () async throws in
      guard
        left.withLock({
          $0 -= 1; return $0 == 0
        })
      else { throw Oops() }
      return 1
    }
    #expect(value == 1)
  }

  @Test("The wait between attempts is that of the back-off, or the one that the failure requests")
  func waits() async throws {
    let (clock, ran) = (ManualClock(), Record<Int>())
    let running = Task {
      try await retry(
        backoff: .constant(.seconds(1)), on: clock, delay: { ($0 as? Oops)?.number == 2 ? .seconds(30) : nil },
        Self.failing(2, ran))
    }
    try await clock.timers(1)
    clock.advance(by: .milliseconds(999))
    #expect(ran.events.count == 1)
    clock.advance(by: .milliseconds(1))
    await ran.wait(for: 2)
    try await clock.timers(1)
    clock.advance(by: .seconds(29))
    #expect(ran.events.count == 2)
    clock.advance(by: .seconds(1))
    #expect(try await running.value == 3)
  }

  @Test("P93 cancelled during an attempt, which fails then: cancelled, and no other attempt")
  func cancelledInAttempt() async {
    let hand = Hand<Int>()
    let running = Task { try await retry(attempts: 5, backoff: .none, hand.async(0)) }
    await hand.started.wait(for: 1)
    running.cancel()
    #expect(code(of: await running.result) == .cancelled)
    #expect(hand.started.events.count == 1)
  }

  @Test("The deadline cancels the running attempt, and waits for it")
  func deadline() async throws {
    let (clock, hand) = (ManualClock(), Hand<Int>())
    let running = Task {
      try await retry(
        backoff: .constant(.seconds(1)), until: clock.now + .seconds(5), on: clock, hand.async(0))
    }
    try await clock.timers(1)
    await hand.started.wait(for: 1)
    clock.advance(by: .seconds(5))
    #expect(code(of: await running.result) == .timedOut)
    #expect(hand.ended.events == [0])
  }

  // MARK: At every step

  @Test("P93 P96 cancelled at every step: in each attempt, whether it heeds that or not, and at once in each wait")
  func cancelledAtEveryStep() async throws {
    for step in 0..<6 {
      for heeds in [true, false] {
        let (clock, hand) = (ManualClock(), Hand<Int>())
        let running = Task {
          try await retry(
            attempts: 9, backoff: .constant(.seconds(1)), on: clock, hand.async(0, heeds: heeds))
        }
        await hand.started.wait(for: 1)
        // Even steps are in an attempt, odd ones in the wait after it.
        for number in 0..<(step + 1) / 2 {
          hand.end(0, .failure(Oops(number: number)))
          try await clock.timers(1)
          if number < step / 2 {
            clock.advance(by: .seconds(1))
            await hand.started.wait(for: number + 2)
          }
        }
        running.cancel()
        if step.isMultiple(of: 2) {
          await hand.cancelled.wait(for: 1)
          hand.end(0, .failure(Oops(number: 99)))
        }
        #expect(code(of: await running.result) == .cancelled, "step \(step)")
        #expect(hand.started.events.count == step / 2 + 1 && clock.pendingCount == 0, "step \(step)")
      }
    }
  }

  @Test("P92 a success after the deadline is discarded; over a callback function also a surplus one")
  func lateSuccess() async throws {
    let (clock, hand, census, discarded) = (ManualClock(), Hand<Census.Token>(), Census(), Record<Int>())
    let running = Task {
      try await retry(
        backoff: .constant(.seconds(1)), until: clock.now + .seconds(5), on: clock,
        discard: { discarded.add($0.number) }, hand.async(0, heeds: false)
      )
      .number
    }
    await hand.started.wait(for: 1)
    try await clock.timers(1)
    clock.advance(by: .seconds(5))
    await hand.cancelled.wait(for: 1)
    hand.end(0, .success(census.token(1)))
    #expect(code(of: await running.result) == .timedOut)
    let value = try await retry {
      try await awaitCallback(discard: { discarded.add($0.number) }) { completion in
        completion.succeed(census.token(3))
        completion.succeed(census.token(4))
      }
    }
    .number
    #expect(value == 3 && discarded.events == [1, 4])
    await census.gone.wait(for: 3)
    #expect(census.alive == 0)
  }

  @Test("P94 one attempt: its result, or its failure")
  func oneAttempt() async throws {
    #expect(try await retry(attempts: 1, Self.failing(0, Record())) == 1)
    let error = await #expect(throws: FlowError.self) { try await retry(attempts: 1, Self.failing(1, Record())) }
    #expect(error?.code == .attemptsExhausted && error?.inputs == [0])
  }
}
