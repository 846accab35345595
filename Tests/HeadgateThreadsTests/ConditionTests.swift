import HeadgateThreads
import Testing

/// A value with threads and tasks that wait for it.
@Suite(.timeLimit(.minutes(2))) struct ConditionTests {
  @Test("Each waiter waits for its own condition, and an update wakes those that it concerns")
  func ownConditions() async throws {
    let count = Condition(0)
    let threads = try (1...3).map { number in
      try Blocked {
        ending { () throws(WaitError) in
          try count.wait { $0 >= number }
          return number
        }
      }
    }
    async let task: Void = count.wait { $0 >= 3 }
    #expect(await untilAsync { count.waitingCount == 4 })
    for _ in 0..<3 { count.update { $0 += 1 } }
    try await task
    for (index, thread) in threads.enumerated() { #expect(try thread.result() == .value(index + 1)) }
    #expect(count.waitingCount == 0)
    #expect(count.read { $0 } == 3)
  }

  @Test("A take is one step: what there is goes to one waiter only, and its change wakes the others")
  func takes() async throws {
    let jobs = Condition([Int](), name: "jobs")
    let sums = try (0..<3).map { _ in
      try Blocked { () -> Int in
        var sum = 0
        while let number = try? jobs.take({ $0.popLast() }), number >= 0 { sum += number }
        return sum
      }
    }
    for number in 1...500 { jobs.update { $0.append(number) } }
    // The last take wakes this wait.
    try await jobs.wait { $0.isEmpty }
    for _ in 0..<3 { jobs.update { $0.append(-1) } }
    #expect(try sums.map { try $0.result() }.reduce(0, +) == 500 * 501 / 2)
    #expect(jobs.waitingCount == 0)
  }

  @Test("A condition that is met returns whatever the deadline; otherwise the wait ends by it or a cancellation")
  func ends() async throws {
    let door = Condition(false, name: "door")
    let late = await #expect(throws: WaitError.self) { try await door.wait(until: .distantPast) { $0 } }
    #expect(late?.code == .timedOut && late?.operation == "wait for \"door\"")
    let soon = Deadline.after(.milliseconds(1))
    #expect(await ending(of: { () async throws in try await door.wait(until: soon) { $0 } }) == .error(.timedOut))
    let task = Task { await ending(of: { () async throws in try await door.wait { $0 } }) }
    let thread = try Blocked { ending(of: { () throws(WaitError) in try door.wait { $0 } }) }
    #expect(await untilAsync { door.waitingCount == 2 })
    task.cancel()
    thread.cancel()
    #expect(await task.value == .cancelledTask)
    #expect(try thread.result() == .error(.cancelled))
    let elsewhere = try inThread { ending(of: { () throws(WaitError) in try door.wait(until: .distantPast) { $0 } }) }
    #expect(elsewhere == .error(.timedOut))
    door.update { $0 = true }
    #expect(await ending(of: { () async throws in try await door.wait(until: .distantPast) { $0 } }) == .done)
    #expect(door.waitingCount == 0)
  }

  @Test("An update that throws has let the waiters look again, and its error is the caller's")
  func failedUpdate() async throws {
    let door = Condition(false)
    let waiting = Task { try await door.wait { $0 } }
    #expect(await untilAsync { door.waitingCount == 1 })
    #expect(throws: TestFailure.self) {
      try door.update { isOpen throws(TestFailure) in
        isOpen = true
        throw TestFailure(number: 1)
      }
    }
    try await waiting.value
  }

  @Test("Its value may be noncopyable")
  func noncopyable() async throws {
    let census = Census()
    let box = Condition(Parcel(1, census))
    box.update { $0 = Parcel(2, census) }
    try await box.wait { $0.number == 2 }
    #expect(box.read { $0.number } == 2 && census.alive == 1)
  }
}
