import Foundation
import HeadgateThreads
import Synchronization
import Testing

/// The code of docs/migrating.md for the pthread calls.
@Suite struct MigratingPthreadTests {
  private enum IndexError: Error {
    case noFiles
  }

  private enum Scratch {
    static let lines = ThreadLocal { [String]() }
    static let table = (1...3).map { $0 * $0 }
  }

  @Sendable private static func index(_ files: [String]) throws(IndexError) -> Int {
    guard !files.isEmpty else { throw IndexError.noFiles }
    return files.count
  }

  @Test("pthread_create, pthread_join: the result and the error arrive where the thread is joined")
  func createAndJoin() async throws {
    let files = ["one", "two"]
    let count = try await onThread {
      let thread = try ManagedThread.spawn(name: "indexer") { () throws(IndexError) in try Self.index(files) }
      let count = try thread.join()
      let second = #expect(throws: JoinError<IndexError>.self) { _ = try thread.join() }
      #expect(second?.code == .alreadyJoined)
      return count
    }
    #expect(count == 2)
    let thread = try ManagedThread.spawn(name: "indexer") { () throws(IndexError) in try Self.index([]) }
    let error = await #expect(throws: JoinError<IndexError>.self) { try await thread.value() }
    #expect(error?.failure == IndexError.noFiles)
  }

  @Test("pthread_tryjoin_np, pthread_timedjoin_np, pthread_detach")
  func otherJoins() async throws {
    let (gate, ended) = (Latch(), Latch())
    try await onThread {
      let thread = try ManagedThread.spawn {
        _ = gate.wait()
        ended.countDown()
      }
      let busy = #expect(throws: JoinError<Never>.self) { try thread.join(until: .distantPast) }
      #expect(busy?.code == .timedOut)
      gate.countDown()
      try thread.join(until: .after(.seconds(60)))

      let other = try ManagedThread.spawn { _ = gate.wait() }
      try other.detach()
      let detached = #expect(throws: JoinError<Never>.self) { try other.join() }
      #expect(detached?.code == .detached)
    }
    #expect(ended.wait())
  }

  @Test("pthread_attr: name, stack, policy, detached")
  func attributes() async throws {
    let told = Record<String>()
    let ended = Latch()
    try await onThread {
      var attributes = ThreadAttributes(name: "indexer")
      attributes.stackSize = 1 << 20
      attributes.priority = .policy(.standard)
      attributes.isDetached = true
      let handle = try ManagedThread.spawnDetached(attributes) {
        told.add(ManagedThread.current.name)
        if let size = ManagedThread.current.stackSize, size >= 1 << 20 { told.add("stack") }
        ended.countDown()
      }
      #expect(handle.name == "indexer")
      #expect(ended.wait())
    }
    #expect(told.events == ["indexer", "stack"])
    try await onThread {
      var attributes = ThreadAttributes(name: "sleeper")
      attributes.priority = .utility
      let sleeper = ManagedThread(attributes) { true }
      #expect(!sleeper.isRunning && !sleeper.attributes.isDetached)
      try sleeper.start()
      #expect(try sleeper.join())
    }
  }

  @Test("pthread_self, pthread_equal, gettid")
  func identity() async throws {
    try await onThread {
      let thread = try ManagedThread.spawn { ManagedThread.current }
      let handle = thread.handle
      let found = try thread.join()
      #expect(handle == found)
      #expect(handle != ManagedThread.current)
      #expect(ManagedThread.current.isCurrent)
      #expect(ManagedThread.current.systemNumber != nil)
    }
  }

  @Test("pthread_cancel, pthread_testcancel, pthread_cleanup_push")
  func cancel() async throws {
    let closed = Latch()
    try await onThread {
      let thread = try ManagedThread.spawn { () throws(WaitError) in
        defer { closed.countDown() }
        while true {
          try ManagedThread.checkCancellation()
          try ManagedThread.sleep(for: .seconds(60))
        }
      }
      thread.cancel()
      let ended = #expect(throws: JoinError<WaitError>.self) { try thread.join() }
      #expect(ended?.failure?.code == .cancelled)
      #expect(closed.wait())
    }
  }

  @Test("pthread_key_create, pthread_getspecific, pthread_setspecific, pthread_once")
  func specific() async throws {
    let counts = try await onThread {
      Scratch.lines.withValue { $0.append("one") }
      let other = try ManagedThread.spawn {
        Scratch.lines.value = ["one", "two", "three"]
        return Scratch.lines.value.count
      }
      let counts = [Scratch.lines.value.count, try other.join()]
      Scratch.lines.removeValue()
      #expect(!Scratch.lines.hasValue)
      return counts
    }
    #expect(counts == [1, 3])
    #expect(Scratch.table == [1, 4, 9])
  }

  /// It does not understand `Mutex`.
  private static let isThreadSanitized = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil

  @Test("pthread_mutex: the lock owns the value that it guards", .disabled(if: isThreadSanitized))
  func mutex() async throws {
    let total = try await onThread {
      let total = Mutex(0)
      try onThreads(3) { _ in
        for _ in 0..<100 { total.withLock { $0 += 1 } }
      }
      return total.withLock { $0 }
    }
    #expect(total == 300)
  }

  @Test("pthread_cond: waiters are notified of a change")
  func condition() async throws {
    try await onThread {
      let isReady = Condition(false)
      let consumer = try ManagedThread.spawn { () throws(WaitError) in
        try isReady.wait { $0 }
      }
      isReady.update { $0 = true }
      try consumer.join()
      isReady.update { $0 = false }
      let limit = Deadline.after(.milliseconds(1))
      let late = #expect(throws: WaitError.self) { try isReady.wait(until: limit) { $0 } }
      #expect(late?.code == .timedOut)
    }
  }

  @Test("a state behind a lock: waiters park, and changes of the state unpark them")
  func parking() async throws {
    try await onThread {
      let isReady = Locked(false)
      let consumer = try ManagedThread.spawn { () throws(WaitError) in
        while !isReady.withLock({ $0 }) { try ManagedThread.park() }
      }
      isReady.withLock { $0 = true }
      consumer.unpark()
      try consumer.join()
      let limit = Deadline.after(.milliseconds(1))
      let late = #expect(throws: WaitError.self) { try ManagedThread.park(until: limit) }
      #expect(late?.code == .timedOut)
    }
  }

  @Test("pthread_barrier_t: one thread of each round is told that it came last")
  func barrier() async throws {
    try await onThread {
      let barrier = Barrier(parties: 2)
      let other = try ManagedThread.spawn { () throws(WaitError) in try barrier.wait() }
      let isLast = try barrier.wait()
      #expect(try other.join() != isLast)
    }
  }

  @Test("sem_t: permits")
  func semaphore() async throws {
    try await onThread {
      let places = Semaphore(permits: 2)
      try places.wait()
      #expect(places.tryWait())
      #expect(!places.tryWait())
      #expect(places.freePermits == 0)
      let late = #expect(throws: WaitError.self) { try places.wait(until: .after(.milliseconds(1))) }
      #expect(late?.code == .timedOut)
      places.signal()
      func work() -> Int { places.freePermits }
      let free = try places.withPermit { work() }
      #expect(free == 0 && places.freePermits == 1)
    }
  }

  @Test("sem_t: places in a queue")
  func places() async throws {
    try await onThread {
      let places = try BlockingQueue<Void>(name: "places", capacity: 2)
      try places.put(())
      try places.put(())
      #expect(try !places.tryPut(()))
      #expect(places.remainingCapacity == 0)
      let late = #expect(throws: WaitError.self) { try places.put((), until: .after(.milliseconds(1))) }
      #expect(late?.code == .timedOut)
      try places.take()
      #expect(try places.tryPut(()))
    }
  }
}
