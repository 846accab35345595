import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// A function with a deadline, and one that is tried a second time after a while.
@Suite struct DeadlineAndHedgeTests {
  // MARK: Deadlines

  @Test("In time: the result or the failure", arguments: [Losers.join, .abandon])
  func inTime(_ losers: Losers) async throws {
    let clock = ManualClock()
    let value = try await withDeadline(clock.now + .seconds(1), losers: losers, on: clock) { () async throws(Oops) in 1
    }
    #expect(value == 1)
    let error = await #expect(throws: FlowError<Oops>.self) {
      try await withDeadline(clock.now + .seconds(1), losers: losers, on: clock) { () async throws(Oops) -> Int in
        throw Oops(number: 2)
      }
    }
    #expect(error?.failure == Oops(number: 2))
    #expect(clock.pendingCount == 0)
  }

  @Test("Too late: cancelled; join waits for the end, abandon does not; a late success is discarded, not returned")
  func tooLate() async {
    for losers in [Losers.join, .abandon] {
      let (clock, hand, discarded) = (ManualClock(), Hand<Int>(), Record<Int>())
      let running = Task {
        try await withDeadline(
          clock.now + .seconds(3), losers: losers, on: clock, discard: { discarded.add($0) },
          hand.async(0, heeds: false))
      }
      await hand.started.wait(for: 1)
      await clock.timers(1)
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

  @Test("A deadline that has passed ends it at once; none never does")
  func edges() async throws {
    let hand = Hand<Int>()
    await #expect(throws: FlowError<Oops>.self) { try await withDeadline(.distantPast, hand.async(0)) }
    #expect(try await withDeadline(.distantFuture) { () async throws(Oops) in 1 } == 1)
  }

  @Test("P93 cancelled: the function is cancelled; what it throws then is no failure of its own")
  func cancelled() async {
    let hand = Hand<Int>()
    let running = Task { try await withDeadline(.distantFuture, hand.async(0)) }
    await hand.started.wait(for: 1)
    running.cancel()
    #expect(code(of: await running.result) == .cancelled)
  }

  @Test("By callbacks: in time, too late, cancelled, let go of; no timer is left")
  func callbacks() {
    func start(_ losers: Losers = .abandon) -> (Hand<Int>, Record<String>, ManualClock, StartedCallback) {
      let (hand, heard, clock) = (Hand<Int>(), Record<String>(), ManualClock())
      let function = withDeadline(
        clock.now + .seconds(2), losers: losers, on: clock, discard: { heard.add("discarded \($0)") }, hand.function(0))
      let started = startCallback(function) { result in
        switch result {
        case .success(let value): heard.add("\(value)")
        case .failure(let error): heard.add("\(error.failure?.code ?? error.code)")
        }
      }
      return (hand, heard, clock, started)
    }
    do {
      let (hand, heard, clock, _) = start()
      hand.succeed(0, 1)
      #expect(heard.events == ["1"] && clock.pendingCount == 0)
    }
    do {
      let (hand, heard, clock, _) = start()
      clock.advance(by: .seconds(2))
      #expect(heard.events == ["timed_out"] && hand.cancelled.events == [0])
      hand.succeed(0, 1)
      #expect(heard.events == ["timed_out", "discarded 1"])
    }
    do {
      let (hand, heard, clock, _) = start(.join)
      clock.advance(by: .seconds(2))
      #expect(heard.events.isEmpty && hand.cancelled.events == [0])
      hand.succeed(0, 1)
      #expect(heard.events.sorted() == ["discarded 1", "timed_out"])
    }
    do {
      let (hand, heard, clock, started) = start()
      started.cancel()
      #expect(heard.events.isEmpty && hand.cancelled.events == [0])
      hand.fail(0)
      #expect(heard.events == ["cancelled"] && clock.pendingCount == 0)
    }
    do {
      let (hand, heard, clock, _) = start()
      hand.drop(0)
      #expect(heard.events == ["unanswered"] && clock.pendingCount == 0)
    }
  }

  // MARK: Hedges

  private static func hedge(
    _ clock: ManualClock, _ hand: Hand<Int>, attempts: Int = 3, losers: Losers = .join
  ) -> Task<Int, any Error> {
    let number = Locked(0)
    return Task {
      try await hedged(after: .seconds(1), attempts: attempts, losers: losers, on: clock, discard: nil) {
        () async throws(Oops) in
        try await hand.async(
          number.withLock {
            $0 += 1; return $0 - 1
          })()
      }
    }
  }

  @Test("A first attempt that is quick is the only one", arguments: [Losers.join, .abandon])
  func quick(_ losers: Losers) async throws {
    let (clock, hand) = (ManualClock(), Hand<Int>())
    let running = Self.hedge(clock, hand, losers: losers)
    await hand.started.wait(for: 1)
    await clock.timers(2)
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
      await clock.timers(2)
      clock.advance(by: .seconds(1))
      await hand.started.wait(for: 2)
      clock.advance(by: .seconds(1))
      await hand.started.wait(for: 3)
      hand.end(1, .success(7))
      #expect(try await running.value == 7)
      await hand.cancelled.wait(for: 2)
    }
  }

  @Test("A failure brings the next attempt on at once; all failed: each failure")
  func failures() async {
    for losers in [Losers.join, .abandon] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let running = Self.hedge(clock, hand, losers: losers)
      for number in 0..<3 {
        await hand.started.wait(for: number + 1)
        hand.end(number, .failure(Oops(number: number)))
      }
      let error = flowError(await running.result)
      #expect(error?.code == .allFailed && error?.failures.map(\.number).sorted() == [0, 1, 2])
      #expect(error?.operation == "hedged of 3")
      #expect(clock.pendingCount == 0)
    }
  }

  @Test("A failure brings the next attempt on at once, also when the one that failed was started by its time")
  func failsAfterItsTime() async throws {
    for losers in [Losers.join, .abandon] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let running = Self.hedge(clock, hand, losers: losers)
      await hand.started.wait(for: 1)
      await clock.timers(2)
      clock.advance(by: .seconds(1))
      await hand.started.wait(for: 2)
      hand.end(1, .failure(Oops(number: 1)))
      await hand.started.wait(for: 3)
      hand.end(2, .success(7))
      #expect(try await running.value == 7)
    }
  }

  @Test("P93 cancelled during the delay: at once, and no further attempt; no attempts are refused")
  func cancelledHedge() async {
    for losers in [Losers.join, .abandon] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let running = Self.hedge(clock, hand, losers: losers)
      await hand.started.wait(for: 1)
      await clock.timers(2)
      running.cancel()
      #expect(code(of: await running.result) == .cancelled)
      await hand.ended.wait(for: 1)
      #expect(hand.started.events == [0] && clock.pendingCount == 0)
      #expect(code(of: await Self.hedge(clock, hand, attempts: 0, losers: losers).result) == .invalidArgument)
    }
  }

  @Test("The blocking form: the second attempt answers")
  func blocking() async throws {
    let attempts = Record<Completion<Int, Oops>>()
    let value = try await onThread {
      try hedged(after: .milliseconds(1), losers: .abandon, until: generous) { (completion: Completion<Int, Oops>) in
        attempts.add(completion)
        if attempts.events.count == 2 { completion.succeed(2) }
      }
    }
    #expect(value == 2)
    attempts.events.first?.fail(Oops())
  }

  @Test(
    "P98 a hundred thousand attempts, each of which fails inside its start, need the stack of one; more are refused")
  func manyHedges() async throws {
    let count = 100_000
    for isFirstQuick in [true, false] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let ends = Record<FlowErrorCode?>()
      let number = Locked(0)
      let function: CallbackFunction<Int, Oops> = { completion in
        let index = number.withLock {
          $0 += 1; return $0 - 1
        }
        if index == 0, !isFirstQuick { hand.function(0)(completion) } else { completion.fail(Oops(number: index)) }
      }
      let plan = hedgePlan(count, .join, nil) as ContestPlan<Int, Oops, Int>
      let thread = try ManagedThread.spawn(ThreadAttributes(name: "small", stackSize: 256 << 10)) {
        startCallback(hedgedCallback(plan, after: .seconds(1), on: clock, function)) { result in
          if case .failure(let error) = result { ends.add(error.failure?.code) }
        }
        // Each failure brings the next attempt on, which fails.
        hand.fail(0)
      }
      try await thread.value()
      #expect(ends.events == [.allFailed])
      #expect(number.withLock { $0 } == count && clock.pendingCount == 0)
    }
    let refused = await #expect(throws: FlowError<Oops>.self) {
      try await hedged(after: .zero, attempts: .max) { () async throws(Oops) in 1 }
    }
    #expect(refused?.code == .invalidArgument)
  }

  @Test("P98 a hundred thousand attempts as tasks, each brought on by the failure before")
  func manyHedgedTasks() async throws {
    let left = Locked(100_000)
    let value = try await hedged(after: .seconds(1), attempts: 100_000, losers: .join, on: ManualClock(), discard: nil)
    {
      () async throws(Oops) in
      let isLast = left.withLock {
        $0 -= 1; return $0 == 0
      }
      guard isLast else { throw Oops() }
      return 7
    }
    #expect(value == 7)
  }

  @Test("P93 a hedge is cancelled at every step: between the attempts and with all of them under way", arguments: 1...3)
  func cancelledHedges(_ step: Int) async {
    for losers in [Losers.join, .abandon] {
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let running = Self.hedge(clock, hand, losers: losers)
      await hand.started.wait(for: 1)
      await clock.timers(2)
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

  @Test("P95 hedged by callbacks: cancelled with hooks that throw, at every step; a late success is discarded")
  func hedgedHooks() {
    for losers in [Losers.join, .abandon] {
      for step in 0..<3 {
        let (clock, hand, discarded, ends) = (ManualClock(), Hand<Int>(), Record<Int>(), Record<FlowErrorCode?>())
        let number = Locked(0)
        let plan = hedgePlan(3, losers, { discarded.add($0) }) as ContestPlan<Int, Oops, Int>
        let function: CallbackFunction<Int, Oops> = { completion in
          let index = number.withLock {
            $0 += 1; return $0 - 1
          }
          hand.function(index, hookThrows: true)(completion)
        }
        let started = startCallback(hedgedCallback(plan, after: .seconds(1), on: clock, function)) { result in
          if case .failure(let error) = result { ends.add(error.failure?.code) }
        }
        for _ in 0..<step { clock.advance(by: .seconds(1)) }
        started.cancel()
        #expect(hand.cancelled.events == Array(0...step) && clock.pendingCount == 0)
        #expect(ends.events == (losers == .abandon ? [.cancelled] : []))
        for index in 0...step { hand.succeed(index, index) }
        #expect(ends.events == [.cancelled] && discarded.events == Array(0...step))
      }
    }
  }

  @Test("P95 a deadline by callbacks whose hook throws: it ends all the same")
  func deadlineHook() {
    let (clock, hand, heard) = (ManualClock(), Hand<Int>(), Record<FlowErrorCode?>())
    let function = withDeadline(
      clock.now + .seconds(1), losers: .abandon, on: clock, discard: nil, hand.function(0, hookThrows: true))
    startCallback(function) { result in if case .failure(let error) = result { heard.add(error.failure?.code) } }
    clock.advance(by: .seconds(1))
    #expect(heard.events == [.timedOut] && hand.cancelled.events == [0])
    hand.drop(0)
  }

  @Test("P92 results that must be destroyed: of hedges that lose, of what a deadline has passed over")
  func destroyed() async throws {
    for losers in [Losers.join, .abandon] {
      let (clock, hand, census) = (ManualClock(), Hand<Census.Token>(), Census())
      let number = Locked(0)
      let running = Task {
        try await hedged(after: .seconds(1), attempts: 2, losers: losers, on: clock, discard: nil) {
          () async throws(Oops) in
          try await hand.async(
            number.withLock {
              $0 += 1; return $0 - 1
            }, heeds: false)()
        }
        .number
      }
      await hand.started.wait(for: 1)
      await clock.timers(1)
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
      await clock.timers(1)
      clock.advance(by: .seconds(1))
      await hand.cancelled.wait(for: 2)
      hand.end(9, .success(census.token(9)))
      #expect(code(of: await late.result) == .timedOut)
      await census.gone.wait(for: 3)
      #expect(census.alive == 0)
    }
  }
}
