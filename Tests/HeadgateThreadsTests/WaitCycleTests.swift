import Testing

@testable import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Cycles of waits through threads, loops and pools: the wait that would close one is refused, and its error names the
/// cycle.
@Suite struct WaitCycleTests {
  @Test("A cycle through a loop and a pool is refused where it closes, and the error names it", arguments: 0..<5)
  func loopAndPool(round: Int) async throws {
    let loop = try ThreadLoop(name: "ui")
    let pool = try ThreadPool(name: "work", size: 1)
    let refusals = Record<String>()
    let done = Latch()
    loop.perform {
      let task = try pool.submit {
        do { try loop.performAndWait {} } catch { refusals.add("\(error)") }
      }
      do { try task.wait() } catch { refusals.add("\(error)") }
      done.countDown()
    }
    try #require(try await onThread { done.wait() }, "both hang")
    let refusal = try #require(refusals.events.first)
    #expect(refusals.events.count == 1)
    #expect(refusal.contains("waits for loop \"ui\"") && refusal.contains("waits for a task of pool \"work\""))
    loop.stop()
    pool.dispose()
  }

  @Test("A cycle of two threads through a loop and a pool is refused where it closes", arguments: 0..<5)
  func threadLoopPool(round: Int) async throws {
    let loop = try ThreadLoop(name: "ui")
    let pool = try ThreadPool(name: "work", size: 2)
    let known = Latch()
    let done = Latch(2)
    let refusals = Record<String>()
    let threads = LockedBox<[ManagedThread<Void, Never>]>([])
    @Sendable func join(_ index: Int) {
      guard known.wait() else { return }
      let thread = threads.withLock { $0[index] }
      do { try thread.join() } catch { refusals.add("\(error)") }
    }
    let one = try ManagedThread.spawn(name: "one") {
      join(1)
      done.countDown()
    }
    let two = try ManagedThread.spawn(name: "two") {
      do {
        try pool.submit {
          do { try loop.performAndWait { join(0) } } catch { refusals.add("\(error)") }
        }.wait()
      } catch { refusals.add("\(error)") }
      done.countDown()
    }
    threads.withLock { $0 = [one, two] }
    known.countDown()
    try #require(try await onThread { done.wait() }, "all hang")
    let refusal = try #require(refusals.events.first)
    #expect(refusals.events.count == 1)
    for part in ["end of thread \"one\"", "end of thread \"two\"", "loop \"ui\"", "a task of pool \"work\""] {
      #expect(refusal.contains(part))
    }
    loop.stop()
    pool.dispose()
    threads.withLock { $0 = [] }
  }

  @Test("A wait for any of several tasks is refused if all of them wait for the waiter")
  func anyOfSeveral() async throws {
    let pool = try ThreadPool(name: "work", size: 2)
    let loop = try ThreadLoop(name: "ui")
    let done = Latch()
    let ends = Record<String>()
    loop.perform {
      let calls: [@Sendable () throws -> Int] = Array(repeating: { try loop.performAndWait { 1 } }, count: 2)
      do { ends.add("\(try pool.invokeAny(calls))") } catch { ends.add("\(error)") }
      done.countDown()
    }
    try #require(try await onThread { done.wait() }, "all hang")
    loop.stop()
    #expect(ends.events.count == 1 && ends.events[0].contains("waits for loop \"ui\""))
    try pool.finish()
  }

  @Test("A thread that the library did not start is detected in a cycle too")
  func foreignThread() async throws {
    let done = Latch()
    let ends = Record<String>()
    try onForeignThread {
      let loop = ThreadLoop.current
      let thread = try? ManagedThread.spawn(name: "helper") {
        do { try loop.performAndWait {} } catch { ends.add("\(error)") }
      }
      do { try thread?.join() } catch { ends.add("\(error)") }
      // The helper's call, if the join was refused.
      loop.stop()
      done.countDown()
    }
    try #require(try await onThread { done.wait() }, "both hang")
    let refusals = ends.events.filter { $0.contains("waits for") }
    #expect(refusals.count == 1)
  }

  @Test("A stopped loop reports that, also to a waiter for whose end its thread waits")
  func stoppedLoop() async throws {
    let (stopped, known, entered, done) = (Latch(), Latch(), Latch(), Latch())
    let loops = LockedBox<ThreadLoop?>(nil)
    let caller = LockedBox<ManagedThread<Void, Never>?>(nil)
    let ends = Record<WaitError.Code>()
    let owner = try ManagedThread.spawn(name: "owner") {
      let loop = ThreadLoop.current
      loops.withLock { $0 = loop }
      loop.stop()
      stopped.countDown()
      guard known.wait(), let core = caller.withLock({ $0?.core }) else { return }
      // The test polls until it is in the graph, since there is no event for it.
      #expect(WaitGraph.enter([core]) == nil)
      entered.countDown()
      _ = done.wait()
      WaitGraph.leave()
    }
    try #require(try await onThread { stopped.wait() })
    let calling = try ManagedThread.spawn(name: "caller") {
      defer { done.countDown() }
      guard entered.wait(), let loop = loops.withLock({ $0 }) else { return }
      do throws(PerformError<Never>) {
        try loop.performAndWait {}
      } catch {
        if error.code == .notCalled, let reason = error.reason { ends.add(reason.code) }
      }
    }
    caller.withLock { $0 = calling }
    known.countDown()
    try await owner.value()
    #expect(ends.events == [.closed])
    try await caller.withLock { $0.take() }?.value()
  }

  /// Runs a body on a plain thread of the system.
  private func onForeignThread(_ body: @escaping @Sendable () -> Void) throws {
    let body = Unmanaged.passRetained(Body(body))
    #if canImport(Darwin)
    var thread: pthread_t?
    let code = pthread_create(
      &thread, nil,
      {
        Body.run($0); return nil
      }, body.toOpaque())
    #else
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      {
        Body.run($0); return nil
      }, body.toOpaque())
    #endif
    try #require(code == 0)
    #if canImport(Darwin)
    if let thread { pthread_detach(thread) }
    #else
    pthread_detach(thread)
    #endif
  }

  private final class Body: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    static func run(_ pointer: UnsafeMutableRawPointer?) {
      guard let pointer else { return }
      Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().body()
    }
  }

  @Test("A wait with a deadline closes no cycle: it ends by itself, and then the other one goes on")
  func deadlines() throws {
    let (one, two) = (try ThreadLoop(name: "test-one"), try ThreadLoop(name: "test-two"))
    let ends = Record<WaitError.Code?>()
    let done = Latch()
    one.perform {
      try two.performAndWait {
        do throws(PerformError<Never>) {
          try one.performAndWait(until: .after(.milliseconds(1))) {}
        } catch {
          ends.add(error.reason?.code)
        }
      }
      done.countDown()
    }
    #expect(done.wait() && ends.events == [.timedOut])
    one.stop()
    two.stop()
  }

  @Test("A wait for a pool's task that ended at its deadline is no longer in the graph")
  func leavesTheGraph() throws {
    let pool = try ThreadPool(name: "test-graph", size: 1)
    let plug = try Plug(pool, threads: 1)
    let task = try pool.submit {}
    let isListed = try inThread { () -> Bool in
      #expect(throws: PoolTaskError<Never>.self) { try task.wait(until: .after(.milliseconds(20))) }
      return WaitGraph.current.all.contains { $0.thread === ThreadRecord.current }
    }
    #expect(!isListed)
    plug.open()
    try pool.finish()
  }
}
