import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

#if canImport(Glibc)
import Glibc
#endif

/// What continues after a call has returned, and what it holds while it waits: counted in separate processes, in which
/// nothing else runs.
@Suite(.timeLimit(.minutes(3))) struct TasksLeftTests {
  /// Waits until the count has this value. Functions leave the count a moment after the test has seen their end.
  private static func comesTo(_ count: Int) async -> Bool {
    let limit = Deadline.after(.seconds(60))
    while Losers.abandonedCount != count {
      if limit < .now { return false }
      await Task.yield()
    }
    return true
  }

  /// A function that is a new one for each call.
  private static func numbered(_ hand: Hand<Int>, from first: Int, heeds: Bool = true) -> AsyncFunction<Int> {
    let next = Locked(first)
    return { () async throws in
      try await hand.async(
        next.withLock {
          $0 += 1; return $0 - 1
        }, heeds: heeds)()
    }
  }

  @Test("Joined: when a task form returns all of its tasks have ended, and none is counted")
  func joined() async {
    await #expect(processExitsWith: .success) {
      for form in AsyncContestTests.forms {
        let hand = Hand<Int>()
        let running = Task { try await form.run(.max, .join, nil, hand.asyncs(3)) }
        await hand.started.wait(for: 3)
        running.cancel()
        _ = await running.result
        #expect(hand.ended.events.count == 3 && Losers.abandonedCount == 0, "\(form.name)")
      }
      let (clock, hand) = (ManualClock(), Hand<Int>())
      let timed = Task { try await withDeadline(clock.now + .seconds(1), losers: .join, on: clock, hand.async(0)) }
      await hand.started.wait(for: 1)
      try await clock.timers(1)
      clock.advance(by: .seconds(1))
      _ = await timed.result
      #expect(hand.ended.events.count == 1 && Losers.abandonedCount == 0)
      let hedge = Task {
        try await hedged(
          after: .zero, attempts: 2, losers: .join, on: clock, discard: nil, TasksLeftTests.numbered(hand, from: 20))
      }
      await hand.started.wait(for: 3)
      hedge.cancel()
      _ = await hedge.result
      #expect(hand.ended.events.count == 3 && Losers.abandonedCount == 0)
      let again = Task {
        try await retry(attempts: 2, backoff: .none, until: clock.now + .seconds(1), on: clock, hand.async(2))
      }
      await hand.started.wait(for: 4)
      try await clock.timers(1)
      clock.advance(by: .seconds(1))
      _ = await again.result
      #expect(hand.ended.events.count == 4 && Losers.abandonedCount == 0)
      let gathering = Task {
        try await AsyncSequenceAdapter(base: 0..<9).mapConcurrently(limit: 2) { number async throws in
          try await hand.async(10 + number)()
        }
      }
      await hand.started.wait(for: 6)
      gathering.cancel()
      _ = await gathering.result
      #expect(hand.ended.events.count == 6 && Losers.abandonedCount == 0)
    }
  }

  @Test("Abandoned: each running one is counted until it ends, and no other")
  func abandoned() async {
    await #expect(processExitsWith: .success) {
      for form in AsyncContestTests.forms {
        let hand = Hand<Int>()
        let running = Task { try await form.run(.max, .abandon, nil, hand.asyncs(3, heeds: false)) }
        await hand.started.wait(for: 3)
        running.cancel()
        _ = await running.result
        #expect(Losers.abandonedCount == 3, "\(form.name)")
        hand.end(0, .success(0))
        hand.end(1, .failure(Oops()))
        #expect(await TasksLeftTests.comesTo(1), "\(form.name)")
        hand.end(2, .success(2))
        #expect(await TasksLeftTests.comesTo(0), "\(form.name)")
      }
      for form in AsyncContestTests.forms {
        let hand = Hand<Int>()
        let waiting = try startThread {
          try waitForTask { try await form.run(.max, .join, nil, (0..<3).map { hand.awaited($0) }) }
        }
        await hand.started.wait(for: 3)
        waiting.cancel()
        _ = try await waiting.value()
        await hand.cancelled.wait(for: 3)
        // The task is counted until its children, which end at once, have.
        #expect(await TasksLeftTests.comesTo(3), "\(form.name)")
        for number in 0..<3 { hand.drop(number) }
        #expect(await TasksLeftTests.comesTo(0), "\(form.name)")
      }
    }
  }

  @Test("Abandoned: a call, a deadline, a hedge, a retry, a map, a task that a thread waits for: each is counted")
  func othersAbandoned() async {
    await #expect(processExitsWith: .success) {
      let hand = Hand<Int>()
      func check(_ name: String, _ count: Int = 1, _ numbers: [Int]) async {
        #expect(await TasksLeftTests.comesTo(count), "\(name)")
        for number in numbers {
          hand.end(number, .failure(Oops()))
          hand.drop(number)
        }
        #expect(await TasksLeftTests.comesTo(0), "\(name)")
      }
      let call = Task { try await awaitCallback(hand.function(0)) }
      await hand.started.wait(for: 1)
      call.cancel()
      _ = await call.result
      await check("awaitCallback", 1, [0])
      _ = await Task {
        try await withDeadline(.after(.milliseconds(1)), losers: .abandon, hand.async(1, heeds: false))
      }.result
      await hand.started.wait(for: 2)
      await check("withDeadline", 1, [1])
      let hedge = Task {
        try await hedged(after: .zero, losers: .abandon, TasksLeftTests.numbered(hand, from: 20, heeds: false))
      }
      await hand.started.wait(for: 4)
      hedge.cancel()
      _ = await hedge.result
      await check("hedged", 2, [20, 21])
      _ = try? await onThread { try waitForTask(until: .after(.milliseconds(1)), hand.async(4, heeds: false)) }
      await hand.started.wait(for: 5)
      await check("waitForTask", 1, [4])
      _ = try? await onThread { try waitForCallback(until: .distantPast, hand.function(5)) }
      await check("waitForCallback", 1, [5])
    }
  }

  #if canImport(Glibc)
  @Test("The blocking bridge holds exactly its caller's thread, for any number of functions")
  func blockingThreads() async {
    await #expect(processExitsWith: .success) {
      func threads(callers: Int, functions: Int) async throws -> Int {
        let hand = Hand<Int>()
        let waiting = try (0..<callers).map { caller in
          try startThread {
            try waitForTask {
              try await allSucceed(0..<functions) { try await hand.awaited(caller * functions + $0)() }
            }
          }
        }
        await hand.started.wait(for: callers * functions)
        let count = TasksLeftTests.threadCount
        for number in 0..<callers * functions { hand.succeed(number, number) }
        for thread in waiting { _ = try await thread.value() }
        return count
      }
      // Half of the twenty callers more. An ending thread may still be visible, and the cooperative threads start one by
      // one, also in place of those that are held up for a while.
      let slack = 10
      let few = try await threads(callers: 1, functions: 10)
      let many = try await threads(callers: 21, functions: 200)
      #expect((20 - slack...20 + slack).contains(many - few), "\(few), \(many)")
    }
  }

  @Test("Async forms that wait for a call, a deadline, a retry, a hedge or a stream hold no thread")
  func asyncThreads() async {
    await #expect(processExitsWith: .success) {
      func wait(_ count: Int) async -> Int {
        let (clock, hand) = (ManualClock(), Hand<Int>())
        let tasks = (0..<count).map { number in
          Task {
            switch number % 5 {
            case 0: _ = try? await awaitCallback(hand.function(number))
            case 1: _ = try? await withDeadline(clock.now + .seconds(9), losers: .join, on: clock, hand.async(number))
            case 2:
              _ = try? await retry(attempts: 9, backoff: .constant(.seconds(9)), on: clock) { () async throws in
                hand.started.add(number)
                throw Oops()
              }
            case 3:
              _ = try? await hedged(
                after: .seconds(9), attempts: 2, losers: .join, on: clock, discard: nil, hand.async(number))
            default:
              var iterator = [number].mapConcurrently(limit: 1, yielding: .inOrder) { number async throws in
                try await hand.async(number)()
              }
              .makeAsyncIterator()
              _ = try? await iterator.next()
            }
          }
        }
        await hand.started.wait(for: count)
        let threads = TasksLeftTests.threadCount
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        return threads
      }
      let (few, many) = (await wait(10), await wait(1000))
      // Of each form, 198 more wait. The number of cooperative threads may change by a few.
      #expect(many <= few + 20, "\(few), \(many)")
    }
  }

  static var threadCount: Int {
    guard let directory = opendir("/proc/self/task") else { return 0 }
    defer { closedir(directory) }
    var count = -2  // itself and the one above
    while readdir(directory) != nil { count += 1 }
    return count
  }
  #endif
}
