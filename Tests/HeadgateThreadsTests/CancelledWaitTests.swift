import HeadgateThreads
import Testing

/// Each kind of wait of a task, with a task that never gets what it waits for.
private enum EndlessWait: String, CaseIterable, Sendable {
  case take, put, rendezvous, select, takeByPriority, putByPriority, takeWhenDue, putWhenDue
  case condition, semaphore, latch, notify, barrier
  case threadEnd, poolEnd, loopEnd, poolTask, blockingCall, loopCall, sleep

  nonisolated(nonsending) func run() async throws {
    switch self {
    case .take: _ = try await BlockingQueue<Int>().take()
    case .put:
      let queue = try BlockingQueue<Int>(capacity: 1)
      try await queue.put(1)
      try await queue.put(2)
    case .rendezvous: _ = try await BlockingQueue<Int>(capacity: 0).take()
    case .select: _ = try await BlockingQueue.select(from: [BlockingQueue<Int>()]).index
    case .takeByPriority: _ = try await PriorityBlockingQueue<Int, Int>().take()
    case .putByPriority:
      let queue = try PriorityBlockingQueue<Int, Int>(capacity: 1)
      try await queue.put(1, priority: 1)
      try await queue.put(2, priority: 1)
    case .takeWhenDue: _ = try await DelayQueue<Int>().take()
    case .putWhenDue:
      let queue = try DelayQueue<Int>(capacity: 1)
      try await queue.put(1, due: .distantFuture)
      try await queue.put(2, due: .distantFuture)
    case .condition: try await Condition(false).wait { $0 }
    case .semaphore: try await Semaphore(permits: 0).wait()
    case .latch: try await HeadgateThreads.Latch().wait()
    case .notify: try await Notify().wait()
    case .barrier: try await Barrier(parties: 2).wait()
    case .threadEnd:
      let parker = Parker()
      let thread = try ManagedThread.spawn { _ = parker.park(until: .after(generous)) }
      defer { parker.unpark() }
      try await thread.value()
    case .poolEnd: try await ThreadPool(name: "test-cancelled", size: 1).waitUntilDisposed()
    case .loopEnd:
      let loop = try ThreadLoop(name: "test-cancelled")
      defer { loop.stop() }
      try await loop.join()
    case .poolTask:
      let pool = try ThreadPool(name: "test-cancelled", size: 1)
      let parker = Parker()
      defer { parker.unpark() }
      try await pool.submit { _ = parker.park(until: .after(generous)) }.value
    case .blockingCall: try await ThreadPool.blocking { _ = Issue.record("called") }
    case .loopCall:
      let loop = try ThreadLoop(name: "test-cancelled")
      let parker = Parker()
      loop.perform { _ = parker.park(until: .after(generous)) }
      defer {
        parker.unpark()
        loop.stop()
      }
      try await loop.performAndWait { _ = Issue.record("called") }
    case .sleep: try await TimerThread.shared.sleep(until: .distantFuture)
    }
  }
}

/// Counts the jobs of its tasks.
private final class Counting: TaskExecutor {
  let pieces = Count()

  func enqueue(_ job: consuming ExecutorJob) {
    pieces.add()
    UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
  }
}

/// An actor with its own executor. Other jobs run on its task's executor.
private actor Home {
  let loop: ThreadLoop

  init() throws { loop = try ThreadLoop(name: "test-home") }

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }

  func run(_ wait: EndlessWait?) async throws { try await wait?.run() }
}

@Suite(.timeLimit(.minutes(2))) struct CancelledWaitTests {
  @Test("a wait that ends because its task is cancelled throws CancellationError", arguments: EndlessWait.allCases)
  private func word(wait: EndlessWait) async throws {
    let before = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await wait.run()
    }
    await #expect(throws: CancellationError.self) { try await before.value }
    // Only before a call of `blocking` has started. Later it is up to the call.
    if wait == .blockingCall { return }
    for _ in 0..<20 {
      let task = Task { try await wait.run() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test("a wait stays on its caller's actor, before and after the suspension", arguments: EndlessWait.allCases)
  private func staysHome(wait: EndlessWait) async throws {
    let home = try Home()
    defer { home.loop.stop() }
    func pieces(_ wait: EndlessWait?) async -> Int {
      let executor = Counting()
      _ = await Task(executorPreference: executor) {
        withUnsafeCurrentTask { $0?.cancel() }
        try await home.run(wait)
      }.result
      return executor.pieces.value
    }
    let fewest = await pieces(nil)
    #expect(await pieces(wait) == fewest)
  }
}
