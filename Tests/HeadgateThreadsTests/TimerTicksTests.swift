import Testing

@testable import HeadgateThreads

/// The ticks of a clock in a loop of a task.
@Suite(.timeLimit(.minutes(2))) struct TimerTicksTests {
  private static func ticks(
    _ repetition: TimerRepetition, on clock: StandingClock, from first: Deadline? = nil, taking: Duration = .zero
  ) -> (task: Task<Void, Never>, seen: Record<Int>) {
    let (start, seen) = (clock.now, Record<Int>())
    let ticks = clock.ticks(repetition, startingAt: first)
    let task = Task {
      for await due in ticks {
        seen.add(Int((due - start) / .seconds(1)))
        clock.advance(by: taking)
      }
    }
    return (task, seen)
  }

  @Test("A rate ticks without drift, and skips what passes while the loop's body runs")
  func rate() async {
    let clock = StandingClock()
    let (task, seen) = Self.ticks(.rate(.seconds(2)), on: clock, taking: .seconds(3))
    for expected in [[2], [2, 6], [2, 6, 10]] {
      #expect(await untilAsync { clock.pendingCount == 1 })
      clock.advance(by: clock.nextDeadline.map { $0 - clock.now } ?? .zero)
      #expect(await untilAsync { seen.events == expected })
    }
    task.cancel()
    await task.value
    #expect(clock.pendingCount == 0)
  }

  @Test("A delay begins when the body has ended; the first tick may be given")
  func delay() async {
    let clock = StandingClock()
    let (task, seen) = Self.ticks(.delay(.seconds(2)), on: clock, from: clock.now, taking: .seconds(3))
    #expect(await untilAsync { seen.events == [0] && clock.pendingCount == 1 })
    clock.advance(by: .seconds(2))
    #expect(await untilAsync { seen.events == [0, 5] })
    task.cancel()
    await task.value
  }

  @Test("An interval of zero or less is one nanosecond")
  func noInterval() async {
    let clock = StandingClock()
    for repetition in [TimerRepetition.rate(.zero), .rate(.seconds(-1))] {
      var ticks = clock.ticks(repetition, startingAt: clock.now).makeAsyncIterator()
      clock.advance(by: .nanoseconds(1))
      let (first, second) = (await ticks.next(), await ticks.next())
      #expect(first.flatMap { first in second.map { $0 - first } } == .nanoseconds(1))
      #expect(clock.ticks(repetition).first == clock.now + .nanoseconds(1))
    }
  }

  @Test("The loop ends with its timer thread")
  func disposal() async throws {
    let timers = TimerThread(name: "test-timer")
    let task = try startUntilSuspended {
      await timers.ticks(.rate(.seconds(1_000))).reduce(0) { count, _ in count + 1 }
    }
    timers.dispose()
    #expect(try await task.value == 0)
  }
}
