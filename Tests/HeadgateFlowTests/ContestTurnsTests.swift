import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Where the functions of a contest are scheduled.
@Suite struct ContestTurnsTests {
  private actor Caller {
    let loop: ThreadLoop

    init(_ loop: ThreadLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }

    func all(_ functions: [AsyncFunction<Int>]) async throws -> [Int] {
      try await allSucceed(functions, atMost: 2, call)
    }
  }

  @Test("While the caller's actor is busy, functions end and others start: only the outcome needs it")
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
    try await isBusy.wait()
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
    { () async throws in
      turns.add(number)
      if number == 0 { Task(executorPreference: loop.taskExecutor) { turns.add(-1) } }
      return number
    }
  }

  @Test("Functions that never suspend, one after another: other work for their thread runs in between")
  func turns() async throws {
    let loop = try ThreadLoop(name: "narrow")
    let turns = Record<Int>()
    let functions = (0..<20).map { Self.turn($0, turns, loop) }
    let values = try await withTaskExecutorPreference(loop.taskExecutor) {
      try await allSucceed(functions, atMost: 1, call)
    }
    #expect(values == Array(0..<20))
    #expect(turns.events == [0, -1] + Array(1..<20))
    loop.stop()
  }

  @Test(
    "No function is called after a cancellation", arguments: ["hedged", "retry", "withDeadline", "map"])
  func noneAfterACancel(_ form: String) async throws {
    let loop = try ThreadLoop(name: "narrow")
    let started = Record<Int>()
    let running = LockedBox<Task<Void, any Error>?>(nil)
    let cancel = { @Sendable in
      running.withLock { $0 }?.cancel()
      started.add(0)
    }
    let clock = CancellingClock(cancel)
    let function = { @Sendable () async throws in started.add(1) }
    let isReady = Gate()
    let task = Task(executorPreference: loop.taskExecutor) {
      await isReady.waitRegardless()
      switch form {
      // The first of those that begin one after another on the one thread.
      case "hedged":
        try await hedged(after: .zero, attempts: 3) { () async throws -> Void in
          if started.events.isEmpty { cancel() } else { started.add(1) }
          throw Oops()
        }
      case "retry":
        try await retry(backoff: .none, until: .after(.seconds(60)), on: clock, function)
      case "withDeadline":
        try await withDeadline(.after(.seconds(60)), losers: .join, on: clock, function)
      default:
        // A source that ignores the cancellation.
        try await Endless(cancel).forEachConcurrently(limit: 3) { _ in started.add(1) }
      }
    }
    running.withLock { $0 = task }
    isReady.open()
    #expect(code(of: await task.result) == .cancelled)
    #expect(started.events == [0])
    running.withLock { $0 = nil }
    loop.stop()
  }

  /// Calls a closure before each of its elements.
  private struct Endless: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private let call: @Sendable () -> Void

    init(_ call: @escaping @Sendable () -> Void) { self.call = call }

    func makeAsyncIterator() -> Endless { self }

    func next() async -> Int? {
      call()
      return 0
    }
  }

  /// A clock that cancels a task between the start of a function's child task and its first turn.
  private final class CancellingClock: TimerService {
    private let cancel: @Sendable () -> Void

    init(_ cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }

    var now: Deadline { .now }

    func schedule(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer {
      cancel()
      return TimerThread.deadlines.schedule(at: deadline, action)
    }

    func cancel(_ timer: ScheduledTimer) -> Bool { false }
  }

  @Test("A decided contest cancels functions that run at a limit, and starts none in their place", arguments: [2, 3])
  func decidedAtALimit(_ atMost: Int) async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let running = Task {
      try await firstToSucceed(
        hand.asyncs(6, heeds: false), atMost: atMost, discard: { discarded.add($0) }, call)
    }
    await hand.started.wait(for: atMost)
    hand.end(0, .failure(Oops(number: 0)))
    await hand.started.wait(for: atMost + 1)
    hand.end(1, .success(10))
    // The running ones, including the one that a child has taken after its first.
    await hand.cancelled.wait(for: atMost - 1)
    for number in 2...atMost { hand.end(number, .success(number * 10)) }
    #expect(try await running.value == 10)
    #expect(hand.started.events.count == atMost + 1)
    #expect(discarded.events.sorted() == (2...atMost).map { $0 * 10 })
  }
}
