import HeadgateThreads
import Testing

/// A thread continues its wait after a spurious wake-up, for every kind of wait.
@Suite struct SpuriousWakeUpTests {
  enum Kind: CaseIterable {
    case take, put, rendezvous, priorityTake, select, join, value, call, loopEnd, poolEnd, task, park, sleep, loopRun
  }

  /// A wait, and the event that ends it.
  private struct Wait {
    let wait: @Sendable () throws -> String
    let end: @Sendable () throws -> Void
    let result: String
  }

  private func make(_ kind: Kind, _ waiter: @escaping @Sendable () -> ThreadRecord?) throws -> Wait {
    switch kind {
    case .take:
      let queue = BlockingQueue<Int>()
      return Wait(wait: { "\(try queue.take())" }, end: { try queue.put(7) }, result: "7")
    case .put:
      let queue = try BlockingQueue<Int>(capacity: 1)
      try queue.put(1)
      return Wait(
        wait: {
          try queue.put(2)
          return "put"
        }, end: { _ = try queue.take() }, result: "put")
    case .rendezvous:
      let queue = try BlockingQueue<Int>(capacity: 0)
      return Wait(wait: { "\(try queue.take())" }, end: { try queue.put(7) }, result: "7")
    case .priorityTake:
      let queue = PriorityBlockingQueue<Int, Int>()
      return Wait(wait: { "\(try queue.take())" }, end: { try queue.put(7, priority: 1) }, result: "7")
    case .select:
      let queues = [BlockingQueue<Int>(), BlockingQueue<Int>()]
      return Wait(
        wait: { "\(try BlockingQueue.select(from: queues).element)" }, end: { try queues[1].put(7) }, result: "7")
    case .join, .value:
      let gate = Latch()
      let thread = try ManagedThread.spawn { gate.wait() }
      // With and without a deadline, which are separate paths.
      let deadline = kind == .join ? Deadline.distantFuture : .after(generous)
      return Wait(wait: { "\(try thread.join(until: deadline))" }, end: { gate.countDown() }, result: "true")
    case .call, .loopEnd:
      let gate = Latch()
      let loop = try ThreadLoop(name: "test-loop")
      if kind == .call {
        loop.perform { _ = gate.wait() }
        return Wait(wait: { try loop.performAndWait { "called" } }, end: { gate.countDown() }, result: "called")
      }
      // From inside, so that it ends no sooner.
      loop.perform {
        loop.stop()
        _ = gate.wait()
      }
      return Wait(
        wait: {
          try loop.join()
          return "stopped"
        }, end: { gate.countDown() }, result: "stopped")
    case .poolEnd, .task:
      let gate = Latch()
      let pool = try ThreadPool(name: "test-pool", size: 1)
      let task = try pool.submit { gate.wait() }
      if kind == .task {
        return Wait(wait: { "\(try task.wait())" }, end: { gate.countDown() }, result: "true")
      }
      pool.dispose()
      return Wait(
        wait: {
          try pool.waitUntilDisposed()
          return "over"
        }, end: { gate.countDown() }, result: "over")
    case .park:
      return Wait(
        wait: {
          try ManagedThread.park()
          return "unparked"
        }, end: { waiter()?.leavePermit() }, result: "unparked")
    case .sleep:
      return Wait(
        wait: {
          do throws(WaitError) { try ManagedThread.sleep(until: .distantFuture) } catch { return error.codeName }
          return "slept"
        }, end: { waiter()?.cancel() }, result: "cancelled")
    case .loopRun:
      let current = LockedBox<ThreadLoop?>(nil)
      let isKnown = Latch()
      return Wait(
        wait: {
          current.withLock { $0 = ThreadLoop.current }
          isKnown.countDown()
          return "\(try ThreadLoop.current.run())"
        },
        end: {
          try #require(isKnown.wait())
          current.withLock { $0 }?.stop()
        }, result: "stopped")
    }
  }

  @Test("Spurious wake-ups end no wait", arguments: Kind.allCases)
  func spurious(kind: Kind) async throws {
    let record = LockedBox<ThreadRecord?>(nil)
    let wait = try make(kind) { record.withLock { $0 } }
    let ready = Latch()
    let results = Record<String>()
    let thread = try ManagedThread.spawn(name: "test-waiter") {
      record.withLock { $0 = .current }
      ready.countDown()
      do { results.add(try wait.wait()) } catch { results.add("\(error)") }
    }
    let early = try await onThread { () -> [String] in
      guard ready.wait(), let record = record.withLock({ $0 }) else { return ["not ready"] }
      for _ in 0..<500 {
        record.waitParker.unpark()
        // Lets it check, and go to sleep again.
        ManagedThread.yield()
      }
      let early = results.events
      try wait.end()
      return early
    }
    #expect(early.isEmpty)
    try await thread.value(until: .after(generous))
    #expect(results.events == [wait.result])
  }
}
