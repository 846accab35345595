import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// A function with a deadline, and one with hedged attempts.
@Suite struct DeadlineAndHedgeTests {
  // MARK: Deadlines

  @Test("In time: the result or the failure", arguments: [Losers.join, .abandon])
  func inTime(_ losers: Losers) async throws {
    let clock = ManualClock()
    let value = try await withDeadline(clock.now + .seconds(1), losers: losers, on: clock) { () async throws in 1
    }
    #expect(value == 1)
    await #expect(throws: Oops(number: 2)) {
      try await withDeadline(clock.now + .seconds(1), losers: losers, on: clock) { () async throws -> Int in
        throw Oops(number: 2)
      }
    }
    #expect(clock.pendingCount == 0)
  }

  @Test("Too late: cancelled; join waits for the end, abandon does not; a late success is discarded, not returned")
  func tooLate() async throws {
    for losers in [Losers.join, .abandon] {
      let (clock, hand, discarded) = (ManualClock(), Hand<Int>(), Record<Int>())
      let running = Task {
        try await withDeadline(
          clock.now + .seconds(3), losers: losers, on: clock, discard: { discarded.add($0) },
          hand.async(0, heeds: false))
      }
      await hand.started.wait(for: 1)
      try await clock.timers(1)
      clock.advance(by: .seconds(3))
      await hand.cancelled.wait(for: 1)
      if losers == .join { hand.end(0, .success(5)) }
      let error = flowError(await running.result)
      #expect(error?.code == .timedOut && error?.waited == .seconds(3))
      if losers == .abandon { hand.end(0, .success(5)) }
      await discarded.wait(for: 1)
      #expect(discarded.events == [5])
    }
  }

  @Test("A past deadline ends it at once; none never does")
  func edges() async throws {
    for losers in [Losers.join, .abandon] {
      // One each: a call in a cancelled task ends at once, perhaps before the deadline is seen.
      let hand = Hand<Int>()
      let error = await #expect(throws: FlowError.self) {
        try await withDeadline(.distantPast, losers: losers, hand.async(0))
      }
      #expect(error?.code == .timedOut && error?.operation == "withDeadline")
    }
    #expect(try await withDeadline(.distantFuture) { () async throws in 1 } == 1)
  }

  @Test("P93 cancelled: the function is cancelled; the error it throws then is not its failure")
  func cancelled() async {
    let hand = Hand<Int>()
    let running = Task { try await withDeadline(.distantFuture, hand.async(0)) }
    await hand.started.wait(for: 1)
    running.cancel()
    #expect(code(of: await running.result) == .cancelled)
  }

  // MARK: Hedges

  private static func hedge(
    _ clock: ManualClock, _ hand: Hand<Int>, attempts: Int = 3, losers: Losers = .join
  ) -> Task<Int, any Error> {
    let number = Locked(0)
    return Task {
      try await hedged(after: .seconds(1), attempts: attempts, losers: losers, on: clock, discard: nil) {
        () async throws in
        try await hand.async(
          number.withLock {
            $0 += 1; return $0 - 1
          })()
      }
    }
  }

  @Test("A quick first attempt is the only one", arguments: [Losers.join, .abandon])
  func quick(_ losers: Losers) async throws {
    let (clock, hand) = (ManualClock(), Hand<Int>())
    let running = Self.hedge(clock, hand, losers: losers)
    await hand.started.wait(for: 1)
    try await clock.timers(1)
    clock.advance(by: .milliseconds(999))
    hand.end(0, .success(1))
    #expect(try await running.value == 1)
    #expect(hand.started.events == [0])
    #expect(clock.pendingCount == 0)
  }

  @Test("After the delay the second starts, after another the third; the first success wins, the rest is cancelled")
  func slow() async throws {
    for losers in [Losers.join, .abandon] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let running = Self.hedge(clock, hand, losers: losers)
      await hand.started.wait(for: 1)
      try await clock.timers(1)
      clock.advance(by: .seconds(1))
      await hand.started.wait(for: 2)
      clock.advance(by: .seconds(1))
      await hand.started.wait(for: 3)
      hand.end(1, .success(7))
      #expect(try await running.value == 7)
      await hand.cancelled.wait(for: 2)
    }
  }

  @Test("A failure starts the next attempt at once; all failed: each failure; zero attempts are refused")
  func failures() async {
    for losers in [Losers.join, .abandon] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let running = Self.hedge(clock, hand, losers: losers)
      for number in 0..<3 {
        await hand.started.wait(for: number + 1)
        hand.end(number, .failure(Oops(number: number)))
      }
      let error = flowError(await running.result)
      #expect(error?.code == .allFailed && error?.oopses.map(\.number).sorted() == [0, 1, 2])
      #expect(error?.operation == "hedged of 3")
      #expect(clock.pendingCount == 0)
      #expect(code(of: await Self.hedge(clock, hand, attempts: 0, losers: losers).result) == .invalidArgument)
    }
  }

  @Test("A failure starts the next attempt at once, also if the failed one was started by its time")
  func failsAfterItsTime() async throws {
    for losers in [Losers.join, .abandon] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let running = Self.hedge(clock, hand, losers: losers)
      await hand.started.wait(for: 1)
      try await clock.timers(1)
      clock.advance(by: .seconds(1))
      await hand.started.wait(for: 2)
      hand.end(1, .failure(Oops(number: 1)))
      await hand.started.wait(for: 3)
      hand.end(2, .success(7))
      #expect(try await running.value == 7)
    }
  }

  @Test("From a thread, over a callback function: the second attempt answers")
  func blocking() async throws {
    let attempts = Record<Completion<Int>>()
    let value = try await onThread {
      try waitForTask(until: generous) {
        try await hedged(after: .milliseconds(1)) {
          try await awaitCallback { completion in
            attempts.add(completion)
            if attempts.events.count == 2 { completion.succeed(2) }
          }
        }
      }
    }
    #expect(value == 2)
    attempts.events.first?.fail(Oops())
  }

  @Test("Random failures and times: no attempt before its time except by a failure, none after the last, each once")
  func random() {
    for seed in 0..<2000 {
      var random = SeededRandom(seed: UInt64(seed))
      let (attempts, delay) = (Int.random(in: 1...6, using: &random), Int.random(in: 0...3, using: &random))
      let start = Deadline(nanoseconds: 1_000)
      var hedge = Hedge(attempts: attempts, delay: .nanoseconds(delay), start: start)
      var (now, running, failed, started) = (start, [Int](), 0, 0)
      var lastStart = start
      // An attempt started by a failure has no time of its own.
      var brought = 1
      while !hedge.isOver {
        while let index = hedge.next(at: now) {
          #expect(index == started && (index < brought || (now - lastStart).wholeNanoseconds >= Int64(delay)))
          started += 1
          lastStart = now
          running.append(index)
        }
        #expect(started == attempts || started >= brought, "what is due is made: seed \(seed)")
        if Bool.random(using: &random), !running.isEmpty {
          failed += 1
          brought = started + 1
          hedge.fail(running.remove(at: Int.random(in: 0..<running.count, using: &random)), Oops())
        } else {
          now = now.advanced(byNanoseconds: 1)
        }
      }
      #expect(started == attempts && failed == attempts && hedge.next(at: .distantFuture) == nil, "seed \(seed)")
    }
  }

  @Test("The delay counts from the last attempt, whatever has started that one")
  func delayAfterFailures() {
    let start = Deadline(nanoseconds: 1_000)
    var hedge = Hedge(attempts: 5, delay: .nanoseconds(100), start: start)
    for index in 0..<4 {
      let now = start + .nanoseconds(index)
      #expect(hedge.next(at: now) == index)
      #expect(hedge.turn == now + .nanoseconds(100))
      if index < 3 { hedge.fail(index, Oops()) }
    }
    #expect(hedge.next(at: start + .nanoseconds(102)) == nil)
    // Noticed late, it does not move the next one.
    #expect(hedge.next(at: start + .nanoseconds(150)) == 4)
  }

  @Test("P98 a hundred thousand attempts as tasks, each started by the failure before")
  func manyHedgedTasks() async throws {
    let left = Locked(100_000)
    let value = try await hedged(after: .seconds(1), attempts: 100_000, losers: .join, on: ManualClock(), discard: nil)
    {
      () async throws in
      let isLast = left.withLock {
        $0 -= 1; return $0 == 0
      }
      guard isLast else { throw Oops() }
      return 7
    }
    #expect(value == 7)
  }

  @Test("P93 a hedge is cancelled at every step: between the attempts and while all of them run", arguments: 1...3)
  func cancelledHedges(_ step: Int) async throws {
    for losers in [Losers.join, .abandon] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let running = Self.hedge(clock, hand, losers: losers)
      await hand.started.wait(for: 1)
      try await clock.timers(1)
      for started in 1..<max(step, 1) {
        clock.advance(by: .seconds(1))
        await hand.started.wait(for: started + 1)
      }
      running.cancel()
      #expect(code(of: await running.result) == .cancelled)
      await hand.ended.wait(for: step)
      #expect(hand.started.events.count == step && hand.cancelled.events.count == step && clock.pendingCount == 0)
    }
  }

  @Test("P92 results with a deinit: of losing hedges, and of functions past their deadline")
  func destroyed() async throws {
    for losers in [Losers.join, .abandon] {
      let (clock, hand, census) = (ManualClock(), Hand<Census.Token>(), Census())
      let number = Locked(0)
      let running = Task {
        try await hedged(after: .seconds(1), attempts: 2, losers: losers, on: clock, discard: nil) {
          () async throws in
          try await hand.async(
            number.withLock {
              $0 += 1; return $0 - 1
            }, heeds: false)()
        }
        .number
      }
      await hand.started.wait(for: 1)
      try await clock.timers(1)
      clock.advance(by: .seconds(1))
      await hand.started.wait(for: 2)
      hand.end(1, .success(census.token(1)))
      await hand.cancelled.wait(for: 1)
      hand.end(0, .success(census.token(0)))
      #expect(try await running.value == 1)
      await census.gone.wait(for: 2)
      #expect(census.alive == 0)

      let late = Task {
        try await withDeadline(clock.now + .seconds(1), losers: losers, on: clock, hand.async(9, heeds: false)).number
      }
      await hand.started.wait(for: 3)
      try await clock.timers(1)
      clock.advance(by: .seconds(1))
      await hand.cancelled.wait(for: 2)
      hand.end(9, .success(census.token(9)))
      #expect(code(of: await late.result) == .timedOut)
      await census.gone.wait(for: 3)
      #expect(census.alive == 0)
    }
  }
}
