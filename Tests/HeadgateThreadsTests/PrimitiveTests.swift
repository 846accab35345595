import HeadgateThreads
import Testing

/// How a wait ended.
private enum End: Sendable, Equatable {
  case passed, cancelled
  case failed(WaitError.Code)

  init(_ wait: () throws(WaitError) -> Void) {
    do {
      try wait()
      self = .passed
    } catch {
      self = .failed(error.code)
    }
  }

  init(_ wait: @Sendable () async throws -> Void) async {
    do {
      try await wait()
      self = .passed
    } catch is CancellationError {
      self = .cancelled
    } catch {
      self = (error as? WaitError).map { .failed($0.code) } ?? .cancelled
    }
  }
}

private final class Counter: Sendable {
  private let count = Locked(0)
  var value: Int { count.withLock { $0 } }

  /// The number after it.
  @discardableResult
  func add(_ number: Int) -> Int {
    count.withLock { count in
      count += number
      return count
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct PrimitiveTests {
  typealias Semaphore = HeadgateThreads.Semaphore
  typealias Latch = HeadgateThreads.Latch

  @Test("threads and tasks together never hold more permits than there are")
  func permits() async throws {
    let semaphore = Semaphore(permits: 2)
    let inside = Record<Int>()
    let running = Counter()
    @Sendable func work() {
      inside.add(running.add(1))
      running.add(-1)
    }
    let threads = try (0..<3).map { _ in
      try Blocked { (0..<300).map { _ in Result { try semaphore.withPermit { work() } } } }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask { for _ in 0..<300 { try await semaphore.withPermit { work() } } }
      }
      try await group.waitForAll()
    }
    for thread in threads { for end in try thread.result() { try end.get() } }
    #expect(inside.events.count == 1_800)
    #expect(inside.events.allSatisfy { $0 <= 2 })
    #expect(semaphore.freePermits == 2)
  }

  @Test(
    "a permit that meets a cancellation goes to its waiter or to the next, and is never lost", arguments: [true, false])
  func neverLost(ofTasks: Bool) async throws {
    for round in 0..<400 {
      let semaphore = Semaphore(permits: 0)
      let next = Task { try await semaphore.wait() }
      if ofTasks {
        let leaver = Task { await End { try await semaphore.wait() } }
        await withTaskGroup { group in
          group.addTask { leaver.cancel() }
          group.addTask { semaphore.signal() }
        }
        if await leaver.value == .passed { semaphore.signal() }
      } else {
        let leaver = try Blocked { End { () throws(WaitError) in try semaphore.wait() } }
        try onThreads(2) { number in if number == 0 { leaver.cancel() } else { semaphore.signal() } }
        if try leaver.result() == .passed { semaphore.signal() }
      }
      try await next.value
      #expect(semaphore.freePermits == 0, "round \(round)")
      #expect(semaphore.waitingCount == 0)
    }
  }

  @Test("a wait whose task or thread is cancelled throws the corresponding error, and takes nothing")
  func cancelled() async throws {
    let semaphore = Semaphore(permits: 0)
    let task = Task { await End { try await semaphore.wait() } }
    task.cancel()
    #expect(await task.value == .cancelled)
    let thread = try Blocked { End { () throws(WaitError) in try semaphore.wait() } }
    thread.cancel()
    #expect(try thread.result() == .failed(.cancelled))
    semaphore.signal()
    #expect(semaphore.tryWait())
    #expect(!semaphore.tryWait())
  }

  @Test("a deadline ends a wait, and an available permit is taken at any deadline")
  func deadlines() async throws {
    let semaphore = Semaphore(permits: 1)
    try await semaphore.wait(until: .distantPast)
    #expect(await End { try await semaphore.wait(until: .distantPast) } == .failed(.timedOut))
    #expect(await End { try await semaphore.wait(until: .after(.milliseconds(1))) } == .failed(.timedOut))
    let late = try Blocked { End { () throws(WaitError) in try semaphore.wait(until: .after(.milliseconds(1))) } }
    #expect(try late.result() == .failed(.timedOut))
    #expect(semaphore.waitingCount == 0)
  }

  @Test("no cooperative thread is ever blocked")
  func cooperative() async {
    func block(_ wait: () throws(WaitError) -> Void) -> End { End(wait) }
    #expect(block { () throws(WaitError) in try Semaphore(permits: 0).wait() } == .failed(.onCooperativeThread))
    #expect(block { () throws(WaitError) in try Semaphore(permits: 1).wait() } == .passed)
    #expect(block { () throws(WaitError) in try Latch().wait() } == .failed(.onCooperativeThread))
    #expect(block { () throws(WaitError) in try Notify().wait() } == .failed(.onCooperativeThread))
    #expect(block { () throws(WaitError) in try Barrier(parties: 2).wait() } == .failed(.onCooperativeThread))
  }

  @Test("a permit is returned by a body that throws")
  func scoped() async throws {
    struct Failure: Error {}
    let semaphore = Semaphore(permits: 1)
    await #expect(throws: Failure.self) { try await semaphore.withPermit { throw Failure() } }
    let blocked = try Blocked { Result { try semaphore.withPermit { throw Failure() } } }
    #expect(throws: Failure.self) { try blocked.result().get() }
    #expect(semaphore.freePermits == 1)
  }

  @Test("a latch admits threads and tasks once it is counted down, later ones too")
  func latch() async throws {
    let latch = Latch(count: 3)
    let thread = try Blocked { End { () throws(WaitError) in try latch.wait() } }
    let task = Task { await End { try await latch.wait() } }
    latch.countDown()
    #expect(!latch.isOpen)
    latch.countDown(by: 5)
    #expect(try thread.result() == .passed)
    #expect(await task.value == .passed)
    #expect(await End { try await latch.wait(until: .distantPast) } == .passed)
    #expect(latch.count == 0)
  }

  @Test("a change between the check and the wait is never missed")
  func notify() async throws {
    let inbox = Locked<[Int]>([])
    let changed = Notify()
    let reader = Task {
      var sum = 0
      var number = 0
      while number < 5_000 {
        let found = inbox.withLock { inbox in
          defer { inbox = [] }
          return inbox
        }
        if found.isEmpty { try await changed.wait() }
        number += found.count
        sum += found.reduce(0, +)
      }
      return sum
    }
    try onThreads(2) { number in
      for value in 0..<2_500 {
        inbox.withLock { $0.append(value * 2 + number) }
        changed.notifyOne()
      }
    }
    #expect(try await reader.value == (0..<5_000).reduce(0, +))
  }

  @Test("one notification is kept, and no second one")
  func keptNotification() async {
    let changed = Notify()
    #expect(await End { try await changed.wait(until: .distantPast) } == .failed(.timedOut))
    changed.notifyOne()
    changed.notifyOne()
    #expect(await End { try await changed.wait(until: .distantPast) } == .passed)
    #expect(await End { try await changed.wait(until: .distantPast) } == .failed(.timedOut))
  }

  @Test("no round begins before the previous one has ended, and one party of each round is the last")
  func barrier() async throws {
    let barrier = Barrier(parties: 4)
    let rounds = 500
    let entered = (0..<rounds).map { _ in Counter() }
    let last = Counter()
    let threads = try (0..<2).map { _ in
      try Blocked {
        Result {
          for round in 0..<rounds {
            entered[round].add(1)
            if try barrier.wait() { last.add(1) }
            #expect(entered[round].value == 4)
          }
        }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          for round in 0..<rounds {
            entered[round].add(1)
            if try await barrier.wait() { last.add(1) }
            #expect(entered[round].value == 4)
          }
        }
      }
      try await group.waitForAll()
    }
    for thread in threads { try thread.result().get() }
    #expect(last.value == rounds)
  }

  @Test("a party that gives up is withdrawn, unless its round is complete; one that leaves is not awaited")
  func withdrawn() async throws {
    let barrier = Barrier(parties: 2)
    for _ in 0..<200 {
      let leaver = Task { await End { try await barrier.wait() } }
      let other = Task { try await barrier.wait() }
      leaver.cancel()
      // A round that includes the leaving one ends for both. Otherwise the other waits for a replacement.
      if await leaver.value == .cancelled {
        let isLast = try await barrier.wait()
        #expect(try await other.value != isLast, "one of two is the last")
      }
      _ = try await other.value
      #expect(barrier.waitingCount == 0)
    }
    let other = Task { try await barrier.wait() }
    barrier.leave()
    _ = try await other.value
    #expect(barrier.parties == 1)
  }
}
