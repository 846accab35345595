import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Runs on its own loop.
@globalActor actor LoopActor {
  static let loop = Result { try ThreadLoop(name: "actor") }
  static let shared = LoopActor()

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    (try? Self.loop.get())?.serialExecutor.asUnownedSerialExecutor() ?? MainActor.sharedUnownedExecutor
  }
}

/// The opposite direction: async functions as callback functions, and as blocking calls.
@Suite struct WaitForTaskTests {
  @Test("An async function is awaited: its result, its failure")
  func ends() async throws {
    #expect(try await onThread { try waitForTask(until: generous) { () async throws in 1 } } == 1)
    let result = try await onThread {
      Result { try waitForTask(until: generous) { () async throws(Oops) -> Int in throw Oops(number: 2) } }
    }
    #expect(error(of: result) as? Oops == Oops(number: 2))
  }

  @Test("At the deadline the task is cancelled and abandoned, and its result is discarded")
  func deadline() async throws {
    let (hand, discarded) = (Hand<Int>(), Record<Int>())
    let code = try await codeOnThread {
      try waitForTask(until: .after(.milliseconds(1)), discard: { discarded.add($0) }, hand.async(0, heeds: false))
    }
    #expect(code == .timedOut)
    await hand.started.wait(for: 1)
    await hand.cancelled.wait(for: 1)
    #expect(Losers.abandonedCount >= 1)
    hand.end(0, .success(3))
    await discarded.wait(for: 1)
    #expect(discarded.events == [3])
  }

  @Test("P97 isolated to the main actor, on the main thread: refused")
  func mainActor() async {
    let code = await MainActor.run { Self.waitOnMain() }
    #expect(code == .wouldDeadlock)
  }

  @MainActor private static func waitOnMain() -> EndCode? {
    flowCode { try waitForTask { @MainActor () async throws in 1 } }
  }

  @Test("P97 isolated to an actor of a loop, on that loop: refused; on another one it is awaited")
  func actorOfLoop() async throws {
    let (loop, other) = (try LoopActor.loop.get(), try ThreadLoop(name: "other"))
    let wait: @Sendable () -> Result<Int, any Error> = {
      Result {
        try waitForTask(until: generous) { @LoopActor () async throws in 1 }
      }
    }
    let refused = try await loop.performAndWait { wait() }
    #expect(code(of: refused) == .wouldDeadlock)
    #expect(try await other.performAndWait { wait() }.get() == 1)
    other.stop()
  }

  @Test("Isolated to the main actor, on another thread: awaited")
  func mainActorElsewhere() async throws {
    let value = try await onThread { try waitForTask(until: generous) { @MainActor () async throws in 1 } }
    #expect(value == 1)
  }

  @Test("Started: its end is reported, and a cancellation reaches it")
  func started() async {
    let (hand, ends) = (Hand<Int>(), Record<Int?>())
    startTask(hand.async(0)) { ends.add(try? $0.get()) }
    await hand.started.wait(for: 1)
    hand.end(0, .success(5))
    await ends.wait(for: 1)
    let cancelled = Record<Bool>()
    let task = startTask(hand.async(1)) { cancelled.add(error(of: $0) as? Oops == .cancelled) }
    await hand.started.wait(for: 2)
    task.cancel()
    await task.value
    #expect(ends.events == [5] && cancelled.events == [true] && hand.cancelled.events == [1])
  }
}
