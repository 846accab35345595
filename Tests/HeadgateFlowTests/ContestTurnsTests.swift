import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Where the functions of a contest have their turns.
@Suite struct ContestTurnsTests {
  private actor Caller {
    let loop: ThreadLoop

    init(_ loop: ThreadLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }

    func all(_ functions: [AsyncFunction<Int>]) async throws -> [Int] {
      try await allSucceed(throwing: Oops.self, atMost: 2, functions)
    }
  }

  @Test("While the caller's actor is busy, functions end and others start: it is needed for the outcome only")
  func busyCaller() async throws {
    let loop = try ThreadLoop(name: "caller")
    let (hand, isBusy, mayGoOn) = (Hand<Int>(), Gate(), Gate())
    let caller = Caller(loop)
    let running = Task { try await caller.all(hand.asyncs(4)) }
    await hand.started.wait(for: 2)
    loop.perform {
      isBusy.open()
      _ = mayGoOn.wait(until: generous)
    }
    await isBusy.wait()
    for number in 0..<2 { hand.end(number, .success(number)) }
    await hand.started.wait(for: 4)
    for number in 2..<4 { hand.end(number, .success(number)) }
    await hand.ended.wait(for: 4)
    #expect(!mayGoOn.isOpen)
    mayGoOn.open()
    #expect(try await running.value == [0, 1, 2, 3])
    loop.stop()
  }

  private static func turn(_ number: Int, _ turns: Record<Int>, _ loop: ThreadLoop) -> AsyncFunction<Int> {
    { () async throws(Oops) in
      turns.add(number)
      if number == 0 { Task(executorPreference: loop.taskExecutor) { turns.add(-1) } }
      return number
    }
  }

  @Test("Functions that never suspend, one after another: what else waits for their thread has its turn in between")
  func turns() async throws {
    let loop = try ThreadLoop(name: "narrow")
    let turns = Record<Int>()
    let functions = (0..<20).map { Self.turn($0, turns, loop) }
    let values = try await withTaskExecutorPreference(loop.taskExecutor) {
      try await allSucceed(throwing: Oops.self, atMost: 1, functions)
    }
    #expect(values == Array(0..<20))
    #expect(turns.events == [0, -1] + Array(1..<20))
    loop.stop()
  }

  @Test("A decided contest cancels those that run at a limit, and starts none in their place", arguments: [2, 3])
  func decidedAtALimit(_ atMost: Int) async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let running = Task {
      try await firstToSucceed(
        throwing: Oops.self, atMost: atMost, discard: { discarded.add($0) }, hand.asyncs(6, heeds: false))
    }
    await hand.started.wait(for: atMost)
    hand.end(0, .failure(Oops(number: 0)))
    await hand.started.wait(for: atMost + 1)
    hand.end(1, .success(10))
    // Those that run, among them the one that a child has taken up after its first.
    await hand.cancelled.wait(for: atMost - 1)
    for number in 2...atMost { hand.end(number, .success(number * 10)) }
    #expect(try await running.value == 10)
    #expect(hand.started.events.count == atMost + 1)
    #expect(discarded.events.sorted() == (2...atMost).map { $0 * 10 })
  }
}
